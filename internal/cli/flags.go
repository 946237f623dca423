package cli

import (
	"flag"
	"slices"
	"strings"
)

// options are what the command line asks for.
type options struct {
	files         []string
	format        string
	color         string
	theme         string
	width         int
	brief, full   bool
	paste         bool
	redact        bool
	fromReport    string
	help, version bool
}

// define declares every flag. Help and parsing come from the same list.
func (o *options) define(fs *flag.FlagSet) {
	fs.BoolVar(&o.paste, "paste", false, "read the clipboard")
	fs.StringVar(&o.fromReport, "from-report", "", "show a saved JSON report, `FILE` or - for standard input")
	fs.BoolVar(&o.version, "version", false, "print the version")
	o.definePage(fs)
}

// definePage declares the flags that say how an answer is written.
func (o *options) definePage(fs *flag.FlagSet) {
	fs.StringVar(&o.format, "format", "markdown", "write `markdown, text, json, github, html, sarif, junit or gha`")
	fs.BoolVar(&o.brief, "brief", false, "only what happened, the cause and the first fix")
	fs.BoolVar(&o.full, "full", false, "all that is known: evidence, checks, costs, more fixes")
	fs.BoolVar(&o.redact, "redact", false, "mask tokens, prompts, names of users and hosts, addresses: to share it")
	fs.StringVar(&o.color, "color", "auto", "`auto, always or never`; auto means on a terminal, and heeds NO_COLOR")
	fs.StringVar(&o.theme, "theme", "auto", "colours for a `dark or light` terminal; auto reads COLORFGBG")
	fs.IntVar(&o.width, "width", widthAuto, "wrap at `N` columns, 0 not at all; default is the terminal's, 80 in a pipe")
	fs.BoolVar(&o.help, "help", false, "print this help")
	fs.BoolVar(&o.help, "h", false, "")
}

// parseFlags reads the arguments. Flags may stand after files; what follows
// "--" is files.
func parseFlags(args []string) (*options, error) {
	o := &options{}
	files, err := readFlags("oomdoc", o.define, args)
	if err != nil {
		return nil, err
	}
	o.files = files
	return o, o.check()
}

func wrongFlag(command string, err error) error {
	message := strings.TrimPrefix(err.Error(), "flag provided but not defined: ")
	if message != err.Error() {
		return trouble("there is no flag -%s; %s --help lists them", message, command)
	}
	return trouble("%v; %s --help shows the use", err, command)
}

func (o *options) check() error {
	for _, f := range []struct {
		name, value string
		allowed     []string
	}{
		{"format", o.format, outputs},
		{"color", o.color, []string{"auto", "always", "never"}},
		{"theme", o.theme, []string{"auto", "dark", "light"}},
	} {
		if !slices.Contains(f.allowed, f.value) {
			return trouble("--%s %q is not known; use %s", f.name, f.value, strings.Join(f.allowed, ", "))
		}
	}
	if o.width < widthAuto {
		return trouble("--width %d is less than nothing; use 0 for no wrapping, or 40 and more", o.width)
	}
	if o.brief && o.full {
		return trouble("--brief and --full cannot go together; use one of them")
	}
	return o.checkInput()
}

// checkInput: a log comes from one kind of place.
func (o *options) checkInput() error {
	places := []string{}
	if o.paste {
		places = append(places, "--paste")
	}
	if o.fromReport != "" {
		places = append(places, "--from-report")
	}
	if len(o.files) > 0 {
		places = append(places, "files")
	}
	if len(places) > 1 {
		return trouble("%s cannot go together; use one of them", strings.Join(places, " and "))
	}
	return nil
}

const helpHead = `oomdoc explains out-of-memory crashes of AI programs: what happened in
figures, why, and what to do about it. It works offline.

Usage:
  oomdoc [flags] [FILE...]   read files, or standard input
  oomdoc run -- COMMAND      start a program; the answer follows if it dies of memory
  oomdoc follow FILE...      answer failures as they happen; - is standard input
  oomdoc explain [ID]        what a cause or a fix means; without ID, list them
  oomdoc fit [MODEL]         what of a model fits a card; oomdoc fit --help
  oomdoc keywords            what large logs are searched for, one word a line

Examples:
  oomdoc < crash.log
  oomdoc run -- python train.py
  oomdoc vllm.log ollama.log
  oomdoc --paste                        what you copied just now
  oomdoc --format json crash.log | jq '.incidents[0].causes[0]'
  oomdoc --from-report report.json      show a saved report again
  oomdoc explain fragmentation
  oomdoc fit llama-3.1-8b --gpu "RTX 4060"

Flags:
`

const helpTail = `
Exit codes:
  0  memory ran out, and the report says why
  1  no out-of-memory failure was found
  2  the input could not be read, or the call was wrong
  130  interrupted (SIGTERM 143, SIGHUP 129); the report is of what was read so far
`

// help is the text of --help.
func help() string {
	return helpHead + flagHelp((&options{}).define) + helpTail
}

func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}
