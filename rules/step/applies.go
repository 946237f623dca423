package step

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// What a step takes before it can be used.
const (
	AsIs   = "as_is"
	FillIn = "fill_in"
	Adapt  = "adapt"
)

// placeholders stand in steps for what the log does not say.
var placeholders = []Fill{
	{"MODEL", "the folder or repository that you load"},
	{"MODELNAME", "your model's name, as `ollama list` shows it"},
	{"model.gguf", "your model file"},
	{"IMAGE", "the image that you run"}, {"VIDEO", "your video file"},
	{"SERVICE", "the service in your compose file"},
	{"POD", "the pod's name (`kubectl get pods`)"},
	{"PROMPT", "what you asked, in quotes"},
	{"PID", "the process number that the list shows"},
	{"NAME", "the name that `ollama ps` shows"},
	{"YOU", "your user name"},
	{"YOURS", "the password or key that stands there now"},
	{"SCRIPT", "your script"},
	{"JOB", "the job's number"},
	{quote.Value, "what your own command has there: it holds characters that a command for Windows cannot repeat safely"},
}

// Marked returns steps with what each of them takes: a command or a line of
// configuration is used as it is unless a placeholder stands in it; code, words
// and what is clicked have to be adapted.
func Marked(steps []Step, windows bool) []Step {
	out := slices.Clone(steps)
	for i := range out {
		s := &out[i]
		s.Target = cmp.Or(s.Target, target(*s, windows))
		s.Fill = fillsOf(*s)
		switch {
		case s.Kind == "text", s.Kind == "python", s.Kind == "ui":
			s.Applies = Adapt
		case len(s.Fill) > 0:
			s.Applies = FillIn
		default:
			s.Applies = AsIs
		}
	}
	return out
}

// target is what a step is written for, where it does not say itself.
func target(s Step, windows bool) string {
	switch s.Kind {
	case "shell", "env":
		return shell(windows)
	case "config":
		return configured(s.Text)
	}
	return s.Kind
}

// configured tells YAML by its first line, a key or an item of a list, from
// options, variables and all else.
func configured(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if strings.Contains(line, "{ key:") { // a protocol buffer's text
			return "text"
		}
		item, listed := strings.CutPrefix(line, "- ")
		key, rest, found := strings.Cut(item, ":")
		key = strings.Trim(key, `"`)
		if listed || found && (rest == "" || rest[0] == ' ') && key != "" && strings.IndexFunc(key, quote.UnsafeInShell) < 0 {
			return "yaml"
		}
		break
	}
	return "text"
}

// shell is what takes the commands of steps.
func shell(windows bool) string {
	if windows {
		return "cmd"
	}
	return "sh"
}

// Word is a word of the log as it may stand in a command of a step, a told one
// included: quoted for the shell of the reader.
func Word(c *ledger.Case, s string) string { return quote.For(shell(c.Windows()))(s) }

// fillsOf are the placeholders of what is pasted.
func fillsOf(s Step) []Fill {
	if s.Kind == "text" || s.Kind == "ui" {
		return nil
	}
	var out []Fill
	text := remark.ReplaceAllString(s.Text, "")
	for _, f := range placeholders {
		if after, stands := AfterWord(text, f.Name); stands && !strings.HasPrefix(after, ":.") { // kubectl's NAME:.metadata.name
			out = append(out, f)
		}
	}
	return out
}

// remark is what stands behind a command.
var remark = regexp.MustCompile(` # [^\n]*`)

// AfterWord returns what follows the first place where a name is a word of its
// own.
func AfterWord(text, name string) (after string, found bool) {
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return "", false
		}
		start, end := from+i, from+i+len(name)
		dotted := start > 0 && text[start-1] == '.' && end < len(text) && text[end] == '.' // cfg.MODEL.WEIGHTS
		if !dotted && (start == 0 || !letter(text[start-1])) && (end == len(text) || !letter(text[end])) {
			return text[end:], true
		}
		from = end
	}
}

// Own reports that an option with what follows it has the reader's own value.
func Own(c *ledger.Case, option, after string) bool {
	set, ok := c.Setting(settingName(option))
	value := strings.Fields(strings.TrimLeft(after, "= "))
	return ok && len(value) > 0 && value[0] == set.Value
}

func letter(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}
