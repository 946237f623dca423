package ambient

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// SMI reads the tables that people paste beside a crash: nvidia-smi of all
// eras, rocm-smi, gpustat, free, docker stats. A table is never a failure.
var SMI = text.Parser{
	Name: "smi",
	Context: []string{
		"NVIDIA-SMI", "Process name", "GPU Memory", "Memory-Usage", "Default |", "MB |", "VRAM Total", "buff/cache", "shared buffers",
		"MEM USAGE / LIMIT", "mem_mb=", "#SBATCH --mem", "--mem=",
	},
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		t := tableReader{f: f, device: -1}
		for i := range l.Lines {
			t.line(l.Lines[i].Text, l.Lines[i].Number)
		}
		fillFromTables(f)
	},
}

// tableReader reads tables line by line: columns matter there, so it reads the
// cleaned text and not the squeezed one.
type tableReader struct {
	f      *fact.Facts
	device int    // the card whose rows are being read, -1 none
	name   string // its name
	avail  bool   // free has an "available" column
}

func (t *tableReader) line(s string, number int) {
	switch {
	case strings.Contains(s, "MiB"), strings.Contains(s, "Bus-Id"), strings.Contains(s, "00:") && strings.Contains(s, "|"):
		t.nvidia(s, number)
	case strings.Contains(s, "'C") && strings.Contains(s, " MB"):
		t.gpustat(s, number)
	case strings.Contains(s, "VRAM Total"):
		t.rocm(s, number)
	case strings.HasPrefix(s, "total ") && strings.Contains(s, "free"), strings.HasPrefix(s, "Mem:"), strings.HasPrefix(s, "-/+ buffers/cache:"):
		t.free(s, number)
	}
	if strings.Contains(s, "GiB / ") || strings.Contains(s, "MiB / ") {
		t.dockerStats(s, number)
	}
	t.requestedMemory(s, number)
}

// nvidia reads the two rows of a card and the rows of processes. The name is
// cut to the column ("GeForce GTX 106..."); memory can be "N/A" (Windows) or
// "Not Supported" (unified memory), and then there is no figure.
func (t *tableReader) nvidia(s string, number int) {
	if index, name, ok := cardRow(s); ok {
		t.device, t.name = index, name
		return
	}
	if used, total, ok := usageCell(s); ok {
		if t.device < 0 {
			return
		}
		t.f.Devices = append(t.f.Devices, fact.Device{
			Index: t.device, Name: t.name, Backend: "cuda", Line: number,
			Total: &fact.Size{Bytes: total * units.MiB, Text: strconv.FormatInt(total, 10) + "MiB", Line: number},
			Used:  &fact.Size{Bytes: used * units.MiB, Text: strconv.FormatInt(used, 10) + "MiB", Line: number},
		})
		t.device = -1
		return
	}
	if p, ok := ProcessRow(s); ok {
		p.Line = number
		t.f.Processes = append(t.f.Processes, p)
	}
}

// cardRow reads "   0  NVIDIA GeForce GTX 1070        Off | 00000000:01:00.0  On |".
func cardRow(s string) (index int, name string, ok bool) {
	head, rest, found := strings.Cut(s, "|")
	if !found || !strings.Contains(rest, ":") {
		return 0, "", false
	}
	fields := strings.Fields(head)
	if len(fields) < 3 || fields[len(fields)-1] != "On" && fields[len(fields)-1] != "Off" {
		return 0, "", false
	}
	index, err := strconv.Atoi(fields[0])
	return index, strings.Join(fields[1:len(fields)-1], " "), err == nil && index >= 0
}

// usageCell finds "531MiB /  8192MiB" between bars.
func usageCell(s string) (used, total int64, ok bool) {
	for _, cell := range strings.Split(s, "|") {
		left, right, found := strings.Cut(cell, "/")
		if !found {
			continue
		}
		used, ok := mebibytes(left)
		total, ok2 := mebibytes(right)
		if ok && ok2 {
			return used, total, true
		}
	}
	return 0, 0, false
}

func mebibytes(s string) (int64, bool) {
	s, ok := strings.CutSuffix(strings.TrimSpace(s), "MiB")
	if !ok {
		return 0, false
	}
	return text.WholeNumber(strings.TrimSpace(s))
}

// ProcessRow reads "0 N/A N/A 7541 C+G ...python3 54MiB |" and the row before
// driver 450, which has no GI and CI columns.
func ProcessRow(s string) (fact.Process, bool) {
	fields := strings.Fields(strings.TrimRight(s, "| "))
	for _, at := range [...]int{4, 2} {
		if len(fields) < at+2 || !processType(fields[at]) {
			continue
		}
		device, err := strconv.Atoi(fields[0])
		pid, err2 := strconv.Atoi(fields[at-1])
		last := fields[len(fields)-1]
		size, ok := mebibytes(last)
		if err != nil || err2 != nil || !ok {
			return fact.Process{}, false
		}
		return fact.Process{PID: pid, Bytes: size * units.MiB, Name: strings.Join(fields[at+1:len(fields)-1], " "), Text: last, Device: device}, true
	}
	return fact.Process{}, false
}

func processType(s string) bool { return s == "C" || s == "G" || s == "C+G" || s == "M+C" }

// gpustat reads "[0] Tesla P100 | 27'C,   0 % |   103 / 16384 MB | user(645M)";
// its MB are MiB.
func (t *tableReader) gpustat(s string, number int) {
	cells := strings.Split(s, "|")
	if len(cells) < 3 {
		return
	}
	label, name, found := strings.Cut(strings.TrimSpace(cells[0]), "]")
	index, err := strconv.Atoi(strings.TrimPrefix(label, "["))
	left, right, found2 := strings.Cut(strings.TrimSuffix(strings.TrimSpace(cells[2]), "MB"), "/")
	if !found || !found2 || err != nil {
		return
	}
	used, err := strconv.ParseInt(strings.TrimSpace(left), 10, 40)
	total, err2 := strconv.ParseInt(strings.TrimSpace(right), 10, 40)
	if err != nil || err2 != nil {
		return
	}
	t.f.Devices = append(t.f.Devices, fact.Device{
		Index: index, Name: strings.TrimSpace(name), Backend: "cuda", Line: number,
		Total: &fact.Size{Bytes: total * units.MiB, Text: strings.TrimSpace(right) + " MB", Line: number},
		Used:  &fact.Size{Bytes: used * units.MiB, Text: strings.TrimSpace(left) + " MB", Line: number},
	})
	if len(cells) > 3 {
		t.gpustatOwners(cells[3], index, number)
	}
}

// gpustatOwners reads what -c and -p add: "anna:python/4242(9871M)". Without a
// process number there is nobody to end.
func (t *tableReader) gpustatOwners(s string, device, number int) {
	for _, owner := range strings.Fields(s) {
		name, held, ok := strings.Cut(strings.TrimSuffix(owner, "M)"), "(")
		slash := strings.LastIndexByte(name, '/')
		pid, ok2 := text.WholeNumber(name[slash+1:])
		mib, ok3 := text.WholeNumber(held)
		if slash < 0 || !ok || !ok2 || !ok3 {
			continue
		}
		t.f.Processes = append(t.f.Processes, fact.Process{PID: int(pid), Bytes: mib * units.MiB, Name: name[:slash], Text: held + "M", Line: number, Device: device})
	}
}

// rocm reads "GPU[0] : VRAM Total Memory (B): 17163091968" and the used one.
func (t *tableReader) rocm(s string, number int) {
	label, rest, found := strings.Cut(s, "]")
	index, err := strconv.Atoi(label[strings.LastIndexByte(label, '[')+1:])
	i := strings.LastIndexByte(rest, ':')
	if !found || err != nil || i < 0 {
		return
	}
	n, ok := number64(rest[i+1:])
	if !ok {
		return
	}
	size := &fact.Size{Bytes: n, Text: strings.TrimSpace(rest[i+1:]), Line: number}
	if strings.Contains(rest, "Used") {
		if last := len(t.f.Devices) - 1; last >= 0 && t.f.Devices[last].Index == index {
			t.f.Devices[last].Used = size
		}
		return
	}
	t.f.Devices = append(t.f.Devices, fact.Device{Index: index, Backend: "rocm", Total: size, Line: number})
}

func number64(s string) (int64, bool) { return text.WholeNumber(strings.TrimSpace(s)) }

// free reads the Mem: row: "available" is what a program can have, "free" is
// not. Columns are KiB unless a unit or the command's -m says otherwise.
func (t *tableReader) free(s string, line int) {
	if strings.HasPrefix(s, "total") {
		t.avail = strings.HasSuffix(strings.TrimSpace(s), "available")
		return
	}
	fields := strings.Fields(s)
	if strings.HasPrefix(s, "-/+") && len(fields) == 4 { // procps before 3.3.10 has no such column
		t.f.Facts = append(t.f.Facts, fact.Fact{Name: "mem_available", Size: t.column(fields[3], line), Text: s, Line: line})
		return
	}
	if !t.avail || len(fields) < 7 {
		return
	}
	t.f.Facts = append(t.f.Facts,
		fact.Fact{Name: "mem_total", Size: t.column(fields[1], line), Text: s, Line: line},
		fact.Fact{Name: "mem_available", Size: t.column(fields[6], line), Text: s, Line: line})
}

// column reads one cell. Without a unit the size of the number tells KiB from
// MiB: nobody has 64 MiB or 64 TiB of RAM.
func (t *tableReader) column(cell string, line int) *fact.Size {
	unit := ""
	if n, ok := text.WholeNumber(cell); ok {
		unit = "kb"
		if n < 4<<20 {
			unit = "mb"
		}
	}
	bytes, ok := units.Parse(cell + unit)
	if !ok {
		return nil
	}
	return &fact.Size{Bytes: bytes, Text: cell, Line: line}
}

// dockerStats reads "4.898GiB / 5GiB     97.95%": the container nearest to its
// limit is the one that matters.
func (t *tableReader) dockerStats(s string, number int) {
	fields := strings.Fields(s)
	for i := 1; i+2 < len(fields); i++ {
		if fields[i] != "/" || !strings.HasSuffix(fields[i+2], "%") {
			continue
		}
		used, ok := units.Parse(fields[i-1])
		limit, ok2 := units.Parse(fields[i+1])
		if !ok || !ok2 || limit == 0 || used*10 < limit*9 {
			continue
		}
		t.f.Facts = append(t.f.Facts, fact.Fact{Name: "docker_limit", Size: &fact.Size{Bytes: limit, Text: fields[i+1], Line: number}, Text: s, Line: number})
	}
}

// requestedMemory reads what a batch job asked for: Snakemake's "mem_mb=14000"
// (powers of 1000; mem_mib beside it is the other) and "#SBATCH --mem=32G".
func (t *tableReader) requestedMemory(s string, line int) {
	if _, rest, ok := strings.Cut(s, "mem_mb="); ok {
		if n, ok := text.WholeNumber(leadingDigits(rest)); ok {
			t.f.Facts = append(t.f.Facts, fact.Fact{Name: "job_limit", Size: &fact.Size{Bytes: n * 1000 * 1000, Text: "mem_mb=" + leadingDigits(rest), Line: line}, Text: s, Line: line})
		}
		return
	}
	_, rest, ok := strings.Cut(s, "--mem=")
	digits := leadingDigits(rest)
	n, ok2 := text.WholeNumber(digits)
	if !ok || !ok2 {
		return
	}
	unit := "m" // Slurm's default
	if after := rest[len(digits):]; after != "" && strings.ContainsRune("KMGTkmgt", rune(after[0])) {
		unit = strings.ToLower(after[:1])
	}
	bytes, ok := units.Parse(strconv.FormatInt(n, 10) + unit)
	if ok {
		t.f.Facts = append(t.f.Facts, fact.Fact{Name: "job_limit", Size: &fact.Size{Bytes: bytes, Text: digits + strings.ToUpper(unit), Line: line}, Text: s, Line: line})
		t.f.Settings = append(t.f.Settings, fact.Setting{Name: "slurm_mem", Value: digits + strings.ToUpper(unit), Line: line, Flag: "--mem"})
	}
}

func leadingDigits(s string) string {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i]
}

// fillFromTables completes failures of system memory with what tables beside
// them say.
func fillFromTables(f *fact.Facts) {
	for i := range f.Failures {
		x := &f.Failures[i]
		switch x.Kind {
		case fact.KernelKill:
			fill(f, &x.Figures.Limit, "docker_limit")
			fill(f, &x.Figures.SystemAvailable, "mem_available")
		case fact.SlurmKill:
			fill(f, &x.Figures.Limit, "job_limit")
			fill(f, &x.Figures.SystemAvailable, "mem_available")
		case fact.OOMD, fact.CPUAlloc, fact.NumpyAlloc, fact.BadAlloc, fact.ShellKilled:
			fill(f, &x.Figures.SystemAvailable, "mem_available")
		}
	}
}

func fill(f *fact.Facts, figure **fact.Size, fact string) {
	if *figure != nil {
		return
	}
	for _, x := range f.Facts {
		if x.Name == fact {
			*figure = x.Size
		}
	}
}
