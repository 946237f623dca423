package diagnose

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/argv"
	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/redact"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/lookalike"
	"github.com/oomdoc/oomdoc/parsers/text"
	"github.com/oomdoc/oomdoc/rules/ledger"
	who "github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

// alike are the look-alikes of a log with what the reader's own lines say: where
// the traceback leads, and the command that they typed for COMMAND in what is to
// be run.
func alike(log *text.Log, facts *fact.Facts) []Lookalike {
	out := slices.Clone(facts.Lookalikes)
	if i := slices.IndexFunc(log.Lines, ofError); i >= 0 && len(out)+len(facts.Notices)+len(facts.Failures) == 0 {
		return []Lookalike{lookalike.ErrorLine(log.Lines[i].Number, strings.TrimSpace(log.Lines[i].Text))}
	}
	for i := range out {
		x := &out[i]
		c := &ledger.Case{Facts: facts, Failure: fact.Failure{Line: x.Line}}
		who.Learn(c, nil)
		frames := traceback(log, facts, x.Line)
		if place := placeOf(frames, deep[x.ID] || late[x.ID]); place != "" {
			if late[x.ID] && !blocking(log) {
				place += ", or what failed was started before it"
			}
			x.Title = strings.TrimSuffix(x.Title, ".") + ". " + place + "."
		}
		if strings.Contains(x.Advice, "COMMAND`") {
			x.Advice = withCommand(c, x.Advice, commandOf(log, c, frames))
		}
	}
	return out
}

// errs is how a line begins that is an error's own and no measure of one.
var errs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?i:(?:docker: |[\w./-]+:\d+(?::\d+)?: )?(?:fatal error|fatal|error response from daemon|[\w.]*error|[\w.]*exception|panic)(?:\[\w+\])?: *[^\d\s]|(?:failed|unable) to |could not |cannot )|(?:.{0,80}[ \[])?(?:ERROR|FATAL|CRITICAL)[\]:]? +[^\d\s=])`)
})

// errWords are what such a line has in any case: most lines are done with by them.
var errWords = []string{"rror", "RROR", "atal", "ATAL", "anic", "xception", "RITICAL", "ailed to", "nable to", "ould not", "annot "}

// ofError: a logger calls the line an error, or it begins like one.
func ofError(l clean.Line) bool {
	return l.Level == 'E' || slices.ContainsFunc(errWords, func(w string) bool { return strings.Contains(l.Text, w) }) && errs().MatchString(strings.TrimSpace(l.Text))
}

// late are errors of kernels, which run behind the program; deep are others at which
// the library that was called says more than the line that called it.
var (
	late = map[string]bool{"device_side_assert": true, "illegal_memory_access": true, "cuda_argument": true, "cudnn_kernel": true, "cublas_failed": true}
	deep = map[string]bool{"segfault": true, "gpu_setup": true, "launch_resources": true, "triton_shared_memory": true, fact.PythonException: true}
)

// blocking: every kernel was waited for.
func blocking(log *text.Log) bool {
	return slices.ContainsFunc([]string{"exportcuda_launch_blocking=1", "setcuda_launch_blocking=1", "cuda_launch_blocking=1python", "cuda_launch_blocking=1torchrun", "cuda_launch_blocking']=", `cuda_launch_blocking"]=`}, log.Mentions)
}

// Lines between a message and its traceback: the innermost frame has three, and
// ranks mix theirs. Some print it below the message, a kernel's assertions stand
// far above.
const (
	linesBelow, linesAbove = 14, 40
	longestTrace           = 120 // lines
)

// traceback are the frames of a message, the innermost last.
func traceback(log *text.Log, facts *fact.Facts, line int) []fact.Code {
	frames := slices.Clone(facts.Code)
	end := log.Lines[len(log.Lines)-1]
	if n := len(frames); n > 0 && frames[n-1].Source == "" && frames[n-1].Line == end.Number && strings.Contains(end.Text, ", in ") { // a native dump has no comma
		return nil // the paste ends within a frame: where it led is not to be seen
	}
	frames = slices.DeleteFunc(frames, func(x fact.Code) bool { return x.Function == "" })
	last := slices.IndexFunc(frames, func(x fact.Code) bool { return x.Line > line })
	if last < 0 {
		last = len(frames)
	}
	below, above := frames[:last], frames[last:]
	switch {
	case len(below) > 0 && line-below[last-1].Line <= linesBelow:
		frames = slices.DeleteFunc(below, func(x fact.Code) bool { return line-x.Line > longestTrace })
	case len(above) > 0 && above[0].Line-line <= linesAbove:
		frames = slices.DeleteFunc(above, func(x fact.Code) bool { return x.Line-line > longestTrace })
	default:
		return statementAbove(log, line)
	}
	if log.Mentions("(mostrecentcallfirst)") {
		slices.Reverse(frames)
	}
	return frames
}

// statement is a line of code that stands alone above a message.
var statement = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(?:return |[\w.\[\], ]+ = )?[\w.]+\(.*$`) })

// statementAbove is the line of code above a message whose frame was cut off.
func statementAbove(log *text.Log, line int) []fact.Code {
	i := slices.IndexFunc(log.Lines, func(l clean.Line) bool { return l.Number == line })
	if i > 0 && statement().MatchString(log.Lines[i-1].Text) && strings.Contains(log.Lines[i].Text, "Error") {
		return []fact.Code{{Function: "<cut>", Source: log.Lines[i-1].Text, Own: true}}
	}
	return nil
}

// placeOf says where a traceback leads: to the innermost line of the reader's
// code, and where that helps into the library below it. What a DataLoader's worker
// failed at is another line.
func placeOf(frames []fact.Code, deep bool) string {
	own, library := -1, -1
	for i, x := range frames {
		switch {
		case strings.HasSuffix(x.File, "_utils/signal_handling.py"):
			return ""
		case x.Own:
			own, library = i, -1
		case deep && packageOf(x) != "":
			library = i
		}
	}
	switch {
	case own >= 0 && frames[own].Function == "<cut>":
		return "The line above the message is " + shownLine(frames[own])
	case own >= 0 && library >= 0:
		return fmt.Sprintf("The traceback leads to %s, and from there into %s %s", shownLine(frames[own]), packageOf(frames[library]), shownFile(frames[library]))
	case own >= 0:
		return "The traceback leads to " + shownLine(frames[own])
	case library >= 0:
		return fmt.Sprintf("The traceback leads into %s: %s", packageOf(frames[library]), shownLine(frames[library]))
	}
	return ""
}

// carriers are packages whose frames only call others'.
var carriers = strings.Fields("torch threading concurrent multiprocessing tqdm starlette uvicorn fastapi gradio anyio asyncio click typer hydra pkg_resources")

// packageOf is the installed package of a frame, "" where it says nothing.
func packageOf(x fact.Code) string {
	_, name, _ := strings.Cut(x.File, "-packages/")
	name, _, found := strings.Cut(name, "/")
	if !found || slices.Contains(carriers, name) || strings.IndexFunc(name, quote.UnsafeInShell) >= 0 {
		return ""
	}
	return name
}

// longestShown is how long a line of code is that a sentence can show.
const longestShown = 100

func shownLine(x fact.Code) string {
	code, _, _ := strings.Cut(x.Source, "  #")
	code = strings.Trim(quote.Told(code), " \\")
	if call, _, found := strings.Cut(code, "("); found && len(code) > longestShown && !strings.HasSuffix(call, " ") {
		code = call + "(...)"
	}
	if code == "" && x.Function[0] != '<' {
		code = x.Function
	}
	if code == "" || len(code) > longestShown {
		return "line " + fmt.Sprint(x.At) + " of `" + path.Base(quote.Told(x.File)) + "`"
	}
	return strings.TrimSpace("`" + code + "` " + shownFile(x))
}

// fileOf names the place of a frame; a notebook's cell has none.
func shownFile(x fact.Code) string {
	if x.At == 0 {
		return ""
	}
	return fmt.Sprintf("(`%s`, line %d)", path.Base(quote.Told(x.File)), x.At)
}

var (
	// start is what a reader types behind a prompt. Of variables only the choice of
	// cards is repeated: others can make any program run a stranger's code.
	start = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:.{0,80}[$#>%] ?)?(?:[A-Z_][A-Z0-9_]*=\S+ +)*?((?:CUDA_VISIBLE_DEVICES=[\d,]+ +)?(?:python[\d.]*|torchrun|accelerate launch|deepspeed) .*)$`)
	})
	// rest is what follows a command on its line.
	rest     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\s(?:&&|\|\|?|;|&|\d?>+|#).*$`) })
	variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Z_][A-Z0-9_]*)=(.*)$`) })
	script   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w./-]+\.py$`) })
	// toRun is what a text has to be run, with variables to set for it.
	toRun = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("`(?:([A-Z][A-Z0-9_]*)=(\\S+) )?([^`]*)COMMAND`")
	})
)

// longestCommand is how much of a command is repeated; a longer one is cut behind
// its script.
const longestCommand = 160

// commandOf is what the reader typed to start the program, or what the traceback
// says of it; "" where the log shows neither.
func commandOf(log *text.Log, c *ledger.Case, frames []fact.Code) string {
	for _, x := range slices.Backward(c.Facts.Code) {
		if x.Function != "" || x.At != 0 || x.Line > c.Failure.Line {
			continue
		}
		i := slices.IndexFunc(log.Lines, func(l clean.Line) bool { return l.Number == x.Line })
		if m := start().FindStringSubmatch(log.Lines[i].Text); m != nil {
			return quoted(c, redact.CommandLine(rest().ReplaceAllString(m[1], ""), "MY"))
		}
	}
	if len(frames) == 0 || byLauncher(log) {
		return ""
	}
	file := frames[0].File
	if strings.HasPrefix(file, "/") || strings.Contains(file, ":") {
		file = path.Base(file)
	}
	if !frames[0].Own || frames[0].Function != "<module>" || !script().MatchString(file) || c.Signal("notebook") != nil {
		return ""
	}
	return "python " + step.Word(c, file) + " ..."
}

// byLauncher: several processes run, which another program started.
func byLauncher(log *text.Log) bool {
	return slices.ContainsFunc([]string{"torchrun", "torch.distributed", "acceleratelaunch", "deepspeed"}, log.Mentions) ||
		slices.ContainsFunc(log.Lines, func(l clean.Line) bool { return strings.Contains(l.Source, "rank") })
}

// quoted is a command for the reader's shell that starts a script, "" for another
// one. What stands in quotes or goes on over several lines is left to the reader,
// and so is what opens the machine or runs foreign code.
func quoted(c *ledger.Case, command string) string {
	words, _ := argv.Closed(strings.Fields(command), func(string) bool { return false })
	if file := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, ".py") }); file < 0 || slices.Contains(words[:file], "-c") {
		return ""
	}
	if len(command) > longestCommand || strings.ContainsAny(command, "'\"`") || strings.HasSuffix(command, `\`) {
		end := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, ".py") })
		words = words[:end+1]
		if len(words) == 0 {
			return ""
		}
		words = append(words, "...")
	}
	for i, w := range words {
		name, value, joined := strings.Cut(w, "=")
		switch m := variable().FindStringSubmatch(w); {
		case m != nil:
			words[i] = m[1] + "=" + step.Word(c, m[2])
		case strings.HasPrefix(w, "-") && joined:
			words[i] = step.SafeFlag(name) + "=" + step.Word(c, value)
		case strings.HasPrefix(w, "-"):
			words[i] = step.SafeFlag(w)
		case w != "...":
			words[i] = step.Word(c, w)
		}
	}
	return strings.Join(words, " ")
}

// withCommand puts a command in for COMMAND, as the reader's system sets variables.
func withCommand(c *ledger.Case, advice, command string) string {
	return toRun().ReplaceAllStringFunc(advice, func(s string) string {
		m := toRun().FindStringSubmatch(s)
		set, run := m[1]+"="+m[2], m[3]+cmp.Or(command, "COMMAND")
		switch {
		case m[1] == "":
			return "`" + run + "`"
		case c.Signal("notebook") != nil:
			return fmt.Sprintf("`os.environ[%q] = %q` in the first cell, after a restart of the kernel", m[1], m[2])
		case c.Windows() && command != "":
			return "`set " + set + "` and then `" + run + "`"
		case c.Windows():
			return "`set " + set + "` before your command"
		case command == "":
			return "`" + set + "` before your command"
		}
		return "`" + set + " " + run + "`"
	})
}
