package fact

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
)

// Size is an amount of memory as a log states it.
type Size struct {
	// Bytes is exact for what was printed: "2.00 GiB" is 2147483648. KB, MB and
	// GB are what the printing program means by them.
	Bytes int64 `json:"bytes"`
	// Text is the figure as written, with line breaks taken out.
	Text string `json:"text"`
	// Line counts from 1; 0 when the figure stands in no line.
	Line int `json:"line,omitempty"`
}

// Count is a figure that is no size: tokens, layers, a ratio, a device's index.
type Count struct {
	Value float64 `json:"value"`
	Text  string  `json:"text"`
	Line  int     `json:"line,omitempty"`
}

// Process is memory that a log says a process holds.
type Process struct {
	PID   int    `json:"pid"`
	Bytes int64  `json:"bytes"`
	Name  string `json:"name,omitempty"`
	Text  string `json:"text,omitempty"`
	Line  int    `json:"line,omitempty"`
	// Own marks this very process, which a container sees under its host number.
	Own bool `json:"own,omitempty"`
	// Device is the GPU's index in a process table, -1 where the log does not say.
	Device int `json:"-"`
}

// highestPID is the largest number that Linux gives to a process
// (include/linux/threads.h: PID_MAX_LIMIT). What a driver prints beyond it, as
// 4294967295 under WSL, stands for nobody.
const highestPID = 1 << 22

// Real reports a number that a process can have.
func (p Process) Real() bool { return p.PID > 0 && p.PID <= highestPID }

// Figures are what a log states about one failure. A nil figure was not
// stated: nothing here is guessed. Sizes are of one device and one process
// unless their name says otherwise.
type Figures struct {
	Device              *Count    `json:"device,omitempty"`               // index inside CUDA_VISIBLE_DEVICES, not nvidia-smi's
	Requested           *Size     `json:"requested,omitempty"`            // the allocation that failed; allocators round it up
	Total               *Size     `json:"total,omitempty"`                // all of the device
	Free                *Size     `json:"free,omitempty"`                 // after everything of everybody
	Allocated           *Size     `json:"allocated,omitempty"`            // in use by this process's tensors
	Reserved            *Size     `json:"reserved,omitempty"`             // taken from the driver, allocated included
	ReservedUnallocated *Size     `json:"reserved_unallocated,omitempty"` // taken from the driver and not in use
	ProcessUsed         *Size     `json:"process_used,omitempty"`         // this process with its context and libraries
	OtherProcesses      []Process `json:"other_processes,omitempty"`
	OtherAllocations    *Size     `json:"other_allocations,omitempty"` // MPS: this process's Metal memory outside the heap
	Limit               *Size     `json:"limit,omitempty"`             // max allowed, cgroup limit, memory fraction
	Weights             *Size     `json:"weights,omitempty"`
	KVNeeded            *Size     `json:"kv_needed,omitempty"`
	KVAvailable         *Size     `json:"kv_available,omitempty"` // may be negative
	KVBuffer            *Size     `json:"kv_buffer,omitempty"`
	ComputeBuffer       *Size     `json:"compute_buffer,omitempty"`
	ActivationPeak      *Size     `json:"activation_peak,omitempty"`
	NonTorch            *Size     `json:"non_torch,omitempty"` // may be negative
	Utilization         *Count    `json:"utilization,omitempty"`
	Desired             *Size     `json:"desired,omitempty"`
	MaxModelLen         *Count    `json:"max_model_len,omitempty"`     // tokens
	EstMaxModelLen      *Count    `json:"est_max_model_len,omitempty"` // tokens
	KVTokens            *Count    `json:"kv_tokens,omitempty"`
	Context             *Count    `json:"context,omitempty"` // tokens
	GPULayers           *Count    `json:"gpu_layers,omitempty"`
	TotalLayers         *Count    `json:"total_layers,omitempty"`
	SystemRequired      *Size     `json:"system_required,omitempty"`
	SystemAvailable     *Size     `json:"system_available,omitempty"`
	KilledRSS           *Size     `json:"killed_rss,omitempty"`
}

// Sizes calls yield for each size that is stated, in the order of the fields,
// with its key in the report.
func (f *Figures) Sizes(yield func(key string, s *Size)) {
	for _, p := range f.fields() {
		if p.size != nil && *p.size != nil {
			yield(p.key, *p.size)
		}
	}
}

// Counts is [Figures.Sizes] for the figures that are no sizes.
func (f *Figures) Counts(yield func(key string, c *Count)) {
	for _, p := range f.fields() {
		if p.count != nil && *p.count != nil {
			yield(p.key, *p.count)
		}
	}
}

// Fill takes over the figures of from that f lacks.
func (f *Figures) Fill(from Figures) {
	theirs := from.fields()
	for i, p := range f.fields() {
		switch {
		case p.stated():
		case p.size != nil:
			*p.size = *theirs[i].size
		default:
			*p.count = *theirs[i].count
		}
	}
	if f.OtherProcesses == nil {
		f.OtherProcesses = from.OtherProcesses
	}
}

// Set sets the figure that has a key of the report and reports that there is
// one; a nil figure sets nothing.
func (f *Figures) Set(key string, size *Size, count *Count) bool {
	for _, p := range f.fields() {
		switch {
		case p.key != key:
			continue
		case p.size != nil && size != nil:
			*p.size = size
		case p.count != nil && count != nil:
			*p.count = count
		}
		return true
	}
	return false
}

// mayBeNegative are figures that programs compute and print with their sign:
// what vLLM has left for the cache, and what it counts outside of PyTorch.
var mayBeNegative = []string{"kv_available", "non_torch"}

// DropNegative takes out what is below zero and cannot be: no program has less
// than nothing, so a sign stands there that belongs to something else.
func (f *Figures) DropNegative() {
	for _, p := range f.fields() {
		if p.size != nil && *p.size != nil && (*p.size).Bytes < 0 && !slices.Contains(mayBeNegative, p.key) {
			*p.size = nil
		}
	}
	f.OtherProcesses = slices.DeleteFunc(f.OtherProcesses, func(p Process) bool { return p.Bytes < 0 })
}

// Agrees reports that f and other have figures in common, and that all of those
// are equal.
func (f *Figures) Agrees(other *Figures) bool {
	common := false
	theirs := other.fields()
	for i, p := range f.fields() {
		if !p.stated() || !theirs[i].stated() {
			continue
		}
		if p.value() != theirs[i].value() {
			return false
		}
		common = true
	}
	return common
}

// Empty reports that no figure is stated.
func (f *Figures) Empty() bool {
	fields := f.fields()
	return len(f.OtherProcesses) == 0 && !slices.ContainsFunc(fields[:], field.stated)
}

// field is one figure under its key of the report: a size or a count.
type field struct {
	key   string
	size  **Size
	count **Count
}

func (p field) stated() bool {
	return p.size != nil && *p.size != nil || p.count != nil && *p.count != nil
}

// value is a stated figure; sizes of machines are exact in a float64.
func (p field) value() float64 {
	if p.size != nil {
		return float64((*p.size).Bytes)
	}
	return (*p.count).Value
}

func (f *Figures) fields() [28]field {
	return [...]field{
		{"requested", &f.Requested, nil}, {"total", &f.Total, nil}, {"free", &f.Free, nil}, {"allocated", &f.Allocated, nil},
		{"reserved", &f.Reserved, nil}, {"reserved_unallocated", &f.ReservedUnallocated, nil}, {"process_used", &f.ProcessUsed, nil},
		{"other_allocations", &f.OtherAllocations, nil}, {"limit", &f.Limit, nil}, {"weights", &f.Weights, nil},
		{"kv_needed", &f.KVNeeded, nil}, {"kv_available", &f.KVAvailable, nil}, {"kv_buffer", &f.KVBuffer, nil},
		{"compute_buffer", &f.ComputeBuffer, nil}, {"activation_peak", &f.ActivationPeak, nil}, {"non_torch", &f.NonTorch, nil},
		{"desired", &f.Desired, nil}, {"system_required", &f.SystemRequired, nil}, {"system_available", &f.SystemAvailable, nil},
		{"killed_rss", &f.KilledRSS, nil},
		{"device", nil, &f.Device}, {"utilization", nil, &f.Utilization}, {"max_model_len", nil, &f.MaxModelLen},
		{"est_max_model_len", nil, &f.EstMaxModelLen}, {"kv_tokens", nil, &f.KVTokens}, {"context", nil, &f.Context},
		{"gpu_layers", nil, &f.GPULayers}, {"total_layers", nil, &f.TotalLayers},
	}
}

// String writes the size in the unit that a reader expects, no finer than it
// was printed. All of a report writes it so.
func (s *Size) String() string {
	if s.Bytes == 0 && s.Text != "" {
		return s.Text // what could not be read
	}
	return units.AmountWithin(s.Bytes, s.Within())
}

// Within is how far rounding can put the size off: half of its last digit.
func (s *Size) Within() int64 {
	if s.Text == "" || s.Text[0] == '[' || s.Text[0] == '(' {
		return 0 // a shape, which is exact
	}
	number := strings.TrimRightFunc(s.Text, func(r rune) bool { return strings.ContainsRune("bBikKmMgGtTyYeEsS ", r) })
	one, ok := units.Of(strings.TrimSpace(s.Text[len(number):]))
	if !ok || one <= 1 {
		return 0
	}
	_, decimals, _ := strings.Cut(number, ".")
	for range decimals {
		one /= 10
	}
	return one / 2
}
