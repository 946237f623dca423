// Package parsers turns log text into facts: failures with their figures, and
// the lines around them that say which program, model, card and settings were
// at work. It knows no cause and no fix.
//
// [New] and [Set.Parse] are the door. Behind it:
//
//	fact      what can be said of a log: plain data
//	text      the machinery: squeezed text, patterns, wordings, frames
//	torch server ggml webui array host ambient lookalike plain
//	          the wordings of one family each, a file a program
//
// For outsiders the types of a report ([fact.Figures], [fact.Size], [fact.Count],
// [fact.Process], [fact.Lookalike]) are stable as far as its contract is. All
// else may change with any version.
//
// A Log belongs to one goroutine at a time; all else is safe for concurrent use.
package parsers

import (
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/internal/scan"
	"github.com/oomdoc/oomdoc/internal/spans"
	"github.com/oomdoc/oomdoc/parsers/ambient"
	"github.com/oomdoc/oomdoc/parsers/array"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/ggml"
	"github.com/oomdoc/oomdoc/parsers/host"
	"github.com/oomdoc/oomdoc/parsers/lookalike"
	"github.com/oomdoc/oomdoc/parsers/plain"
	"github.com/oomdoc/oomdoc/parsers/server"
	"github.com/oomdoc/oomdoc/parsers/text"
	"github.com/oomdoc/oomdoc/parsers/torch"
	"github.com/oomdoc/oomdoc/parsers/webui"
)

// Set reads logs: every parser, with the keywords that lead to them. It is safe
// for concurrent use.
type Set struct {
	all    []text.Parser
	scan   func() scan.Words
	find   func() index
	prefix prefixes
}

// New returns a set that also knows what proves programs, and looks for words.
func New(proofs []fact.Proof, words []string) *Set {
	proofs, prefix := prefixesOf(proofs)
	s := &Set{all: append([]text.Parser{proofsParser(proofs), wordsParser(words)}, families()...), prefix: prefix}
	s.scan = sync.OnceValue(s.scanWords)
	s.find = sync.OnceValue(s.index)
	return s
}

// families returns every parser that has messages to read. The order does not
// matter, but that the last ones must know what the others found: facts are
// sorted by where they stand.
func families() []text.Parser {
	return []text.Parser{
		torch.PyTorch, torch.HostPyTorch, ambient.Signals, torch.Climbing, torch.StepCounter, torch.Ladder, torch.Frames, ambient.Notebooks, ambient.System, ambient.Code, ambient.Environment, ambient.CommandLines, ambient.Models,
		server.VLLM, server.SGLang, server.TGI, server.TensorRTLLM, server.LMDeploy, server.Ray, ggml.LlamaCpp, ggml.Ollama, webui.ExLlama, torch.Transformers, torch.Trainers, torch.Options, torch.Measures, webui.ComfyUI, webui.A1111, webui.Diffusion, webui.Textgen,
		host.Kernel, host.Containers, array.NumPy, host.Native, array.JAX, array.TensorFlow, array.CuPy, array.ONNXRuntime, array.MLX, array.Rust, array.Paddle, torch.NCCL, torch.MemorySummary, torch.DeepSpeed, ambient.SMI,
		array.Own, host.Queues,
		lookalike.Parser, plain.Parser, lookalike.Setup, lookalike.Exceptions, lookalike.Healthy,
	}
}

// Keyword is a text that leads to a parser.
type Keyword struct {
	Text string // lower case
	// Failure says that it announces a failure; others lead to informative
	// lines and may stand in healthy logs.
	Failure bool
}

// Keywords returns every keyword of every parser once: what a scan of a large
// log looks for.
func (s *Set) Keywords() []Keyword {
	number := map[string]int{}
	var out []Keyword
	for _, p := range s.all {
		for i, word := range p.Words() {
			word = strings.ToLower(word)
			n, ok := number[word]
			if !ok {
				n = len(out)
				number[word] = n
				out = append(out, Keyword{Text: word})
			}
			out[n].Failure = out[n].Failure || i < len(p.Keywords)
		}
	}
	return out
}

// Shortest keywords that a scan of a large log looks for: what is shorter
// slows it down, and the head, the tail and the windows around failures are
// kept whole anyway.
const (
	shortestFailure = 9
	shortestContext = 14
)

// ScanWords prepares the keywords for a scan of a large log. A keyword that
// contains another one is left out: the other leads to the same window.
func (s *Set) ScanWords() scan.Words { return s.scan() }

func (s *Set) scanWords() scan.Words {
	var far []Keyword
	var texts []string
	for _, k := range s.Keywords() {
		if len(k.Text) >= shortestContext || k.Failure && len(k.Text) >= shortestFailure {
			far, texts = append(far, k), append(texts, k.Text)
		}
	}
	all := scan.NewSearch(texts)
	texts = nil
	w := scan.Words{Foreign: spans.Within, Spread: spans.Spread()}
	for i, k := range far {
		if !slices.ContainsFunc(all.All(k.Text), func(h scan.Hit) bool {
			return h.Word != i && (far[h.Word].Failure || !k.Failure)
		}) {
			texts, w.Failure = append(texts, k.Text), append(w.Failure, k.Failure)
		}
	}
	w.Search = scan.NewSearch(texts)
	return w
}

// index leads from the squeezed keywords to the parsers that have them. A
// keyword of several parsers is in it several times.
type index struct {
	search *scan.Search
	owners []text.Hit // by word of search: the parser in At, its own word number in Word
}

// index is built at the first log: every start of the command pays for it.
func (s *Set) index() index {
	owners, words := make([]text.Hit, 0, manyWords), make([]string, 0, manyWords)
	for at, p := range s.all {
		words = append(append(words, p.Keywords...), p.Context...)
		for w := 0; len(owners) < len(words); w++ {
			owners = append(owners, text.Hit{Word: w, At: at})
		}
	}
	return index{scan.NewSearch(clean.SqueezeWords(words)), owners}
}

// manyWords is about how many keywords there are.
const manyWords = 1500

// Parse runs every parser whose keywords occur in the log. Of a log that is told
// to stop it may return anything.
func (s *Set) Parse(l *text.Log) *fact.Facts {
	f := &fact.Facts{}
	found := s.find().search.All(l.Squeezed())
	for p, own := range s.hitsByParser(l, found, f) {
		if l.Stopped() {
			return f
		}
		if len(own) > 0 || s.all[p].Name == ambient.System.Name { // prefixes tell the system too
			s.all[p].Parse(l, own, f)
		}
	}
	s.prefix.read(l, f)
	s.dropQuoted(f, l, found)
	distrust(f, l)
	dropNegative(f)
	dropProcesses(f)
	sortFacts(f)
	talk(l, f)
	if l.Timeouts > 0 {
		f.Notes = append(f.Notes, "a pattern took too long on this log and was skipped: a figure may be missing")
	}
	return f
}

// dropNegative does [Figures.dropNegative] to all that is a figure, or
// completes the figures of a failure.
func dropNegative(f *fact.Facts) {
	for i := range f.Failures {
		f.Failures[i].Figures.DropNegative()
	}
	f.Facts = slices.DeleteFunc(f.Facts, func(x fact.Fact) bool {
		var g fact.Figures
		g.Set(x.Name, x.Size, nil)
		figure := !g.Empty()
		g.DropNegative()
		return figure && g.Empty()
	})
}

// dropProcesses takes out rows whose number no process has, and those of a
// process that was named before on the same card: commands end processes by
// these numbers.
func dropProcesses(f *fact.Facts) {
	for i := range f.Failures {
		g := &f.Failures[i].Figures
		g.OtherProcesses = realProcesses(g.OtherProcesses)
	}
	f.Processes = realProcesses(f.Processes)
	f.Tasks = slices.DeleteFunc(f.Tasks, func(p fact.Process) bool { return !p.Real() })
}

func realProcesses(list []fact.Process) []fact.Process {
	type place struct{ pid, device int }
	seen := map[place]bool{}
	return slices.DeleteFunc(list, func(p fact.Process) bool {
		at := place{p.PID, p.Device}
		again := seen[at]
		seen[at] = true
		return again || !p.Real()
	})
}

func sortFacts(f *fact.Facts) {
	sort.SliceStable(f.Failures, func(i, j int) bool { return f.Failures[i].At < f.Failures[j].At })
	sort.SliceStable(f.Settings, func(i, j int) bool { return f.Settings[i].Line < f.Settings[j].Line })
	sort.SliceStable(f.Models, func(i, j int) bool { return f.Models[i].Line < f.Models[j].Line })
	sort.SliceStable(f.Signals, func(i, j int) bool { return f.Signals[i].Line < f.Signals[j].Line })
	sort.SliceStable(f.Programs, func(i, j int) bool { return f.Programs[i].Line < f.Programs[j].Line })
	sort.SliceStable(f.Lookalikes, func(i, j int) bool { return f.Lookalikes[i].Line < f.Lookalikes[j].Line })
	sort.SliceStable(f.Notices, func(i, j int) bool { return f.Notices[i].Line < f.Notices[j].Line })
}
