package ambient

import (
	"regexp"
	"strings"
	"sync"

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
		for _, line := range l.Lines {
			t.text, t.line = line.Text, line.Number
			t.read()
		}
		fillFromTables(f)
	},
}

// tableReader reads tables line by line: columns matter there, so it reads the
// cleaned text and not the squeezed one.
type tableReader struct {
	f      *fact.Facts
	text   string // of the line
	line   int
	device int    // the card whose rows are being read, -1 none
	name   string // its name
	avail  bool   // free has an "available" column
}

// row is the expression of a table's row, compiled at its first use.
func row(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var promptRow = row(`(?:^|@)([\w-]{1,63})[: ][^$#]{0,80}[$#] *free(?: |$)`)

var (
	// "0  NVIDIA GeForce GTX 1070        Off | 00000000:01:00.0  On |"
	cardRow = row(`^\s*(\d{1,3})\s+([^|]*\S)\s+(?:On|Off)\s*\|.*:`)
	// "531MiB /  8192MiB |".
	usageCell = row(`(\d{1,9})\s*MiB\s*/\s*(\d{1,9})\s*MiB\s*(?:\||$)`)
	// "0 N/A N/A 7541 C+G ...python3 54MiB |" and the row before driver 450, which
	// has no GI and CI columns.
	processRow = row(`^\s*(\d{1,3})\s+(?:\S+\s+\S+\s+)?(\d{1,9})\s+(?:C|G|C\+G|M\+C)\s+(?:(.*\S)\s+)?((\d{1,9})MiB)[| ]*$`)
	// "[0] Tesla P100 | 27'C,   0 % |   103 / 16384 MB | user(645M)"; its MB are
	// MiB.
	gpustatRow = row(`^\s*\[(\d{1,3})\]\s*([^|]*\S)\s*\|[^|]*\|\s*(\d{1,9})\s*/\s*(\d{1,9})\s*MB\s*(?:\||$)(.*)`)
	// What -c and -p add: "anna:python/4242(9871M)". Without a process number there
	// is nobody to end.
	gpustatOwner = row(`(\S+)/(\d{1,9})\((\d{1,9})M\)`)
	// "GPU[0] : VRAM Total Memory (B): 17163091968" and the used one.
	rocmRow = row(`\[(\d{1,3})\].*VRAM Total (Used )?.*:\s*(\d{1,15})\s*$`)
	// "4.898GiB / 5GiB     97.95%" of docker stats.
	dockerRow = row(`(\S+) / (\S+)\s+\S+%`)
	// What a batch job asked for: Snakemake's "mem_mb=14000" (powers of 1000;
	// mem_mib beside it is the other) and "#SBATCH --mem=32G", by default in M.
	snakemakeMemory = row(`mem_mb=(\d{1,12})`)
	slurmMemory     = row(`--mem=(\d{1,12})([KMGTkmgt]?)`)
)

func (t *tableReader) read() {
	s := t.text
	switch {
	case strings.Contains(s, "MiB"), strings.Contains(s, "Bus-Id"), strings.Contains(s, "00:") && strings.Contains(s, "|"):
		t.nvidia()
	case strings.Contains(s, "'C") && strings.Contains(s, " MB"):
		t.gpustat()
	case strings.Contains(s, "VRAM Total"):
		t.rocm()
	case strings.HasPrefix(s, "total ") && strings.Contains(s, "free"):
		t.avail = strings.HasSuffix(strings.TrimSpace(s), "available")
	case strings.HasPrefix(s, "Mem:"), strings.HasPrefix(s, "-/+ buffers/cache:"):
		t.free()
	case strings.HasPrefix(s, "Swap:"):
		t.swap()
	}
	if strings.Contains(s, "iB / ") {
		t.dockerStats()
	}
	if strings.Contains(s, " free") {
		t.prompt()
	}
	if strings.Contains(s, "mem") {
		t.requestedMemory()
	}
}

// prompt reads on which computer `free` was typed: "nid001310:~$ free -lm",
// "[me@node12 ~]$ free -h".
func (t *tableReader) prompt() {
	if m := promptRow().FindStringSubmatch(t.text); m != nil {
		t.f.Facts = append(t.f.Facts, fact.Fact{Name: "free_node", Text: m[1], Line: t.line})
	}
}

// size is a figure of the line with the unit that its column has.
func (t *tableReader) size(number, unit string) *fact.Size {
	bytes, ok := units.Parse(strings.TrimSpace(number + unit))
	if !ok {
		return nil
	}
	return &fact.Size{Bytes: bytes, Text: number + unit, Line: t.line}
}

func (t *tableReader) fact(name string, size *fact.Size) {
	if size != nil {
		t.f.Facts = append(t.f.Facts, fact.Fact{Name: name, Size: size, Text: t.text, Line: t.line})
	}
}

func whole(digits string) int {
	n, _ := text.WholeNumber(digits)
	return int(n)
}

// nvidia reads the two rows of a card and the rows of processes. The name is
// cut to the column ("GeForce GTX 106..."); memory can be "N/A" (Windows) or
// "Not Supported" (unified memory), and then there is no figure.
func (t *tableReader) nvidia() {
	if m := cardRow().FindStringSubmatch(t.text); m != nil {
		t.device, t.name = whole(m[1]), strings.Join(strings.Fields(m[2]), " ")
	} else if strings.Contains(t.text, "MiB /") {
		if m := usageCell().FindStringSubmatch(t.text); m != nil && t.device >= 0 {
			t.f.Devices = append(t.f.Devices, fact.Device{
				Index: t.device, Name: t.name, Backend: "cuda", Line: t.line, Total: t.size(m[2], "MiB"), Used: t.size(m[1], "MiB"),
			})
		}
		t.device = -1
	} else if p, ok := ProcessRow(t.text); ok {
		p.Line = t.line
		t.f.Processes = append(t.f.Processes, p)
	}
}

// ProcessRow reads a row of nvidia-smi's table of processes.
func ProcessRow(s string) (fact.Process, bool) {
	m := processRow().FindStringSubmatch(s)
	if m == nil {
		return fact.Process{}, false
	}
	return fact.Process{
		PID: whole(m[2]), Bytes: int64(whole(m[5])) * units.MiB, Name: strings.Join(strings.Fields(m[3]), " "), Text: m[4], Device: whole(m[1]),
	}, true
}

func (t *tableReader) gpustat() {
	m := gpustatRow().FindStringSubmatch(t.text)
	if m == nil {
		return
	}
	t.f.Devices = append(t.f.Devices, fact.Device{
		Index: whole(m[1]), Name: m[2], Backend: "cuda", Line: t.line, Total: t.size(m[4], " MB"), Used: t.size(m[3], " MB"),
	})
	for _, owner := range gpustatOwner().FindAllStringSubmatch(m[5], -1) {
		t.f.Processes = append(t.f.Processes, fact.Process{
			PID: whole(owner[2]), Bytes: int64(whole(owner[3])) * units.MiB, Name: owner[1], Text: owner[3] + "M", Line: t.line, Device: whole(m[1]),
		})
	}
}

func (t *tableReader) rocm() {
	m := rocmRow().FindStringSubmatch(t.text)
	if m == nil {
		return
	}
	index, size, last := whole(m[1]), t.size(m[3], ""), len(t.f.Devices)-1
	if m[2] == "" {
		t.f.Devices = append(t.f.Devices, fact.Device{Index: index, Backend: "rocm", Total: size, Line: t.line})
	} else if last >= 0 && t.f.Devices[last].Index == index {
		t.f.Devices[last].Used = size
	}
}

// free reads the Mem: row: "available" is what a program can have, "free" is
// not. Columns are KiB unless a unit or the command's -m says otherwise.
func (t *tableReader) free() {
	fields := strings.Fields(t.text)
	if fields[0] == "Mem:" && len(fields) >= 6 {
		t.fact("mem_total", t.column(fields[1]))
	}
	switch {
	case fields[0] == "-/+" && len(fields) == 4: // procps before 3.3.10 has no such column
		t.fact("mem_available", t.column(fields[3]))
	case t.avail && len(fields) >= 7:
		t.fact("mem_available", t.column(fields[6]))
	}
}

// swap reads whether the computer has any.
func (t *tableReader) swap() {
	fields := strings.Fields(t.text)
	if len(fields) < 4 {
		return
	}
	size := t.column(fields[1])
	if strings.Trim(fields[1], "0.BKMGib") == "" {
		size = &fact.Size{Text: fields[1], Line: t.line}
	}
	t.fact("swap_total", size)
}

// column reads one cell. Without a unit the size of the number tells KiB from
// MiB: nobody has 64 MiB or 64 TiB of RAM.
func (t *tableReader) column(cell string) *fact.Size {
	unit := ""
	if n, ok := text.WholeNumber(cell); ok {
		unit = "kb"
		if n < 4<<20 {
			unit = "mb"
		}
	}
	size := t.size(cell, unit)
	if size != nil {
		size.Text = cell
	}
	return size
}

// dockerStats notes the container nearest to its limit, the one that matters.
func (t *tableReader) dockerStats() {
	for _, m := range dockerRow().FindAllStringSubmatch(t.text, -1) {
		if used, limit := t.size(m[1], ""), t.size(m[2], ""); used != nil && limit != nil && used.Bytes*10 >= limit.Bytes*9 {
			t.fact("docker_limit", limit)
		}
	}
}

func (t *tableReader) requestedMemory() {
	if m := snakemakeMemory().FindStringSubmatch(t.text); m != nil {
		if bytes, ok := units.ParseDecimal(m[1] + "mb"); ok {
			t.fact("job_limit", &fact.Size{Bytes: bytes, Text: m[0], Line: t.line})
		}
	} else if m := slurmMemory().FindStringSubmatch(t.text); m != nil {
		unit := strings.ToUpper(m[2])
		if unit == "" {
			unit = "M"
		}
		t.fact("job_limit", t.size(m[1], unit))
	}
}

// fillFromTables completes failures of system memory with what tables beside
// them say.
func fillFromTables(f *fact.Facts) {
	for i := range f.Failures {
		x := &f.Failures[i]
		switch x.Kind {
		case fact.KernelKill:
			fill(f, &x.Figures.Limit, "docker_limit")
		case fact.SlurmKill:
			fill(f, &x.Figures.Limit, "job_limit")
		case fact.OOMD, fact.CPUAlloc, fact.NumpyAlloc, fact.BadAlloc, fact.ShellKilled:
		default:
			continue
		}
		fill(f, &x.Figures.SystemAvailable, "mem_available")
	}
}

func fill(f *fact.Facts, figure **fact.Size, name string) {
	if *figure != nil {
		return
	}
	for _, x := range f.Facts {
		if x.Name == name {
			*figure = x.Size
		}
	}
}
