package reader

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Known is what a program's literal says of those who run it.
type Known struct {
	Name, Script, Work, Edits, Language string
	Systems                             []string
	// App marks what people start, as against an engine or a binding below it.
	App bool
}

// host reports that it is the machine's own word: nobody's program.
func (k Known) host() bool { return k.Edits == "admin" }

// OwnScript is the program of who runs code of their own on a library that says
// nothing else of it.
const OwnScript = "own-script"

// Learn says who pasted the log of a case, by what is known of the programs that
// it shows.
func Learn(c *ledger.Case, shown []Known) {
	w := &who{c: c}
	k, found := w.program(shown)
	if found {
		w.Program, w.Edits, w.Language = k.Name, k.Edits, k.Language
		if k.Script != "" {
			w.Program = k.Script
		}
	}
	trains := c.Signal("epochs", "training", "optimizer_step") != nil // who trains may fetch pages too
	if app := c.Signal(fact.InApp); app != nil && !trains && (w.Program == "" || w.Program == OwnScript) && w.ownCode() == nil {
		w.Program, w.Edits = "", "flags"
		w.proved(app.Line)
	}
	w.OS = w.system(k)
	if w.Language == "" {
		w.Language = w.language(shown)
	}
	w.Work = w.work(k)
	w.Cards, w.Ranks = cards(c), ranks(c)
	slices.Sort(w.Lines)
	c.Reader = w.Reader
	if i := slices.IndexFunc(shown, func(k Known) bool { return len(k.Systems) > 0 }); i >= 0 {
		c.Systems = shown[i].Systems
	}
}

// who is a reader in the making.
type who struct {
	ledger.Reader
	c *ledger.Case
}

func (w *who) proved(line int) {
	if line > 0 && !slices.Contains(w.Lines, line) {
		w.Lines = append(w.Lines, line)
	}
}

// program is what the reader started: an app or engine before a library, on
// which they run something of their own, and both before the machine.
func (w *who) program(stack []Known) (Known, bool) {
	started := func(k Known) bool { return k.Script == "" && !k.host() }
	i := slices.IndexFunc(stack, func(k Known) bool { return started(k) && k.App && k.Edits == "flags" })
	if i < 0 {
		i = slices.IndexFunc(stack, started)
	}
	if i >= 0 {
		w.proved(w.lineOf(stack[i].Name))
		return stack[i], true
	}
	own := w.ownCode()
	if env := w.environment(); own == nil && env != nil {
		own = env
	}
	if trains := w.c.Signal("epochs", "training", "optimizer_step"); own == nil && trains != nil {
		own = &fact.Code{File: ".py", Line: trains.Line} // whoever trains has a script
	}
	libraries := slices.Clone(stack)
	slices.SortStableFunc(libraries, func(a, b Known) int { return cmp.Compare(len(b.Work), len(a.Work)) }) // what has a purpose says more
	for _, k := range libraries {
		if k.Script != "" && (k.Script != OwnScript || own != nil) {
			w.proved(w.lineOf(k.Name))
			if own != nil {
				w.proved(own.Line)
			}
			return k, true
		}
	}
	if own != nil {
		w.proved(own.Line)
		return Known{Name: OwnScript, Edits: "code", Language: languages[path.Ext(own.File)]}, true
	}
	for _, k := range stack {
		if k.host() {
			w.proved(w.lineOf(k.Name))
			return k, true
		}
	}
	return Known{}, false
}

// ownCode is the reader's own file that the log names, nil if it names none.
func (w *who) ownCode() *fact.Code { return w.code(func(x fact.Code) bool { return x.Own }) }

// environment is a package in an environment of its own, which somebody made for
// what they run there; nil if there is none.
func (w *who) environment() *fact.Code {
	return w.code(func(x fact.Code) bool {
		return strings.Contains(x.File, "/envs/") && !strings.Contains(x.File, "/envs/base/")
	})
}

// code is the first file that is wanted, nil if the log names none.
func (w *who) code(wanted func(fact.Code) bool) *fact.Code {
	if i := slices.IndexFunc(w.c.Facts.Code, wanted); i >= 0 {
		return &w.c.Facts.Code[i]
	}
	return nil
}

// lineOf is where a program shows first.
func (w *who) lineOf(name string) int {
	for _, p := range w.c.Facts.Programs {
		if p.Name == name {
			return p.Line
		}
	}
	for _, x := range w.c.Chain {
		if x.Framework == name {
			return x.Line
		}
	}
	return 0
}

// system is what the log was made on. A Windows path says so whatever else the
// text has; WSL has the paths of Linux, and so has a Mac.
func (w *who) system(k Known) string {
	for _, s := range []struct{ signal, os string }{
		{fact.OnWSL, "wsl"}, {fact.OnWindows, "windows"}, {fact.OnMac, "mac"}, {fact.OnLinux, "linux"},
	} {
		if x := w.c.Signal(s.signal); x != nil {
			w.proved(x.Line)
			return s.os
		}
	}
	switch {
	case w.c.Kind(fact.CommitLimit):
		return "windows"
	case w.c.Backend == "mps" || w.c.Backend == "metal":
		return "mac"
	case len(k.Systems) == 1:
		return k.Systems[0]
	case w.c.Backend == "tpu" || w.c.Backend == "npu" || w.c.Kind(fact.KernelKill, fact.OOMD, fact.SlurmKill, fact.ShellKilled):
		return "linux"
	}
	if x := w.code(func(x fact.Code) bool { return strings.HasPrefix(x.File, "/") }); x != nil {
		w.proved(x.Line)
		return "linux"
	}
	return ""
}

// languages by the ending of a file.
var languages = map[string]string{
	".py": "python", ".pyx": "python", ".js": "js", ".mjs": "js", ".ts": "js", ".go": "go", ".rs": "rust", ".java": "java", ".cs": "csharp",
	".jl": "other", ".swift": "other", ".cpp": "cpp", ".cc": "cpp", ".cu": "cpp", ".hpp": "cpp", ".c": "cpp",
}

// runtimes are the languages whose programs the system knows by the name of what
// runs them.
var runtimes = map[string]string{"python": "python", "ray::": "python", "node": "js", "java": "java", "julia": "other", "R": "other"}

// language is that of the reader's own files, else of the programs, else of any
// file that the log names: the first but for C++, in which all others' engines
// are written.
func (w *who) language(stack []Known) string {
	if own := w.ownCode(); own != nil && languages[path.Ext(own.File)] != "" {
		return languages[path.Ext(own.File)]
	}
	for _, k := range stack {
		if k.Language != "" {
			return k.Language
		}
	}
	if victim, _ := w.c.Fact("victim"); runtimes[strings.TrimRight(victim.Text, "0123456789.")] != "" {
		return runtimes[strings.TrimRight(victim.Text, "0123456789.")]
	}
	found := ""
	for _, x := range w.c.Facts.Code {
		if l := languages[path.Ext(x.File)]; l != "" && (found == "" || found == "cpp") {
			found = l
		}
	}
	return found
}

// cards is how many cards the log shows at least.
func cards(c *ledger.Case) int {
	n := 0
	for _, d := range c.Facts.Devices {
		n = max(n, d.Index+1, 1)
	}
	for _, x := range c.Facts.Failures {
		if d := x.Figures.Device; d != nil && d.Value < manyCards {
			n = max(n, int(d.Value)+1)
		}
	}
	return max(n, parallel(c))
}

// ranks is how many processes work together at least.
func ranks(c *ledger.Case) int {
	seen := map[string]bool{}
	for _, x := range c.Facts.Failures {
		if x.Source != "" {
			seen[x.Source] = true
		}
	}
	return max(len(seen), parallel(c))
}

const manyCards = 64 // more than a machine has

// parallel is how many parts the model was split into, or processes started, as
// the command says.
func parallel(c *ledger.Case) int {
	n := ledger.IntSetting(c, "tensor_parallel_size", "tp_size", "tp", "nproc_per_node", "num_gpus", "num_processes")
	if n > manyCards {
		return 0
	}
	return n
}
