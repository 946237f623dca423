package cli

import (
	"flag"
	"fmt"
	"slices"
	"strings"
)

// options are what the command line asks for.
type options struct {
	files         []string
	format        string
	outputs       []string // what --format may be
	color         string
	theme         string
	width         int
	brief, full   bool
	paste         bool
	redact        bool
	fromReport    string
	list, quiet   bool
	failOn        string
	live          bool
	json          bool
	help, version bool
}

// define declares every flag. Help and parsing come from the same list.
func (o *options) define(fs *flag.FlagSet) {
	fs.BoolVar(&o.paste, "paste", false, "read the clipboard")
	fs.StringVar(&o.fromReport, "from-report", "", "show a saved JSON report, `FILE` or - for standard input")
	fs.BoolVar(&o.live, "live", false, "ask this machine too: cards, processes, RAM, limits; it only reads")
	fs.BoolVar(&o.list, "l", false, "only list the names of inputs with a failure")
	fs.BoolVar(&o.quiet, "q", false, "print nothing: the exit code tells")
	fs.StringVar(&o.failOn, "fail-on", "", "leave with 3 where the likeliest cause is one of `CAUSE`[,CAUSE], else with 0; any is all")
	fs.BoolVar(&o.version, "version", false, "print the version")
	fs.BoolVar(&o.version, "V", false, "")
	o.definePage(fs, outputs)
}

// definePage declares the flags that say how an answer is written.
func (o *options) definePage(fs *flag.FlagSet, outputs []string) {
	fs.BoolVar(&o.brief, "brief", false, "only what happened, the cause and the first fix")
	fs.BoolVar(&o.full, "full", false, "all that is known: evidence, checks, costs, more fixes")
	fs.BoolVar(&o.redact, "redact", false, "mask keys, prompts, names of users, hosts and files, addresses in the answer")
	fs.BoolVar(&o.json, "json", false, "the same as --format json")
	o.defineLook(fs, outputs)
}

// defineLook declares the flags of all that writes a page.
func (o *options) defineLook(fs *flag.FlagSet, outputs []string) {
	o.outputs = outputs
	last := len(outputs) - 1
	fs.StringVar(&o.format, "format", "markdown", "write `"+strings.Join(outputs[:last], ", ")+" or "+outputs[last]+"`")
	fs.StringVar(&o.color, "color", "auto", "`auto, always or never`; auto means on a terminal, and heeds NO_COLOR")
	fs.StringVar(&o.theme, "theme", "auto", "colours for a `dark or light` terminal; auto asks it, then reads COLORFGBG")
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

func wrongFlag(called string, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if unknown {
		c, _ := dispatch(strings.Fields(called)[1:])
		return trouble("there is no flag %s%s; %s --help lists them", dashed(name), meant(dashed(name), dashes(c.listed())), called)
	}
	return trouble("%v; %s --help shows the use", err, called)
}

func (o *options) check() error {
	if o.json {
		if o.format != "markdown" && o.format != "json" {
			return trouble("--json and --format %s cannot go together; use one of them", o.format)
		}
		o.format = "json"
	}
	for _, f := range []struct {
		name, value string
		allowed     []string
	}{
		{"format", o.format, o.outputs},
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
	if o.list && o.quiet {
		return trouble("-l and -q cannot go together; use one of them")
	}
	if err := o.checkFailOn(); err != nil {
		return err
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
`

// examples stand in help and manual.
const examples = `  oomdoc < crash.log
  oomdoc run -- python train.py
  oomdoc vllm.log ollama.log
  oomdoc --paste                        what you copied just now
  oomdoc --live crash.log               and what this machine says
  oomdoc --json crash.log | jq '.incidents[0].causes[0]'
  oomdoc --from-report report.json      show a saved report again
  oomdoc redact crash.log > masked.log
  oomdoc explain fragmentation
  oomdoc fit llama-3.1-8b --gpu "RTX 4060"
`

const exitCodes = `  0  memory ran out, and the report says why
  1  no out-of-memory failure was found
  2  an input could not be read, or the call was wrong; the others have answers
  3  a cause that --fail-on names was found; 0 then means that none was
  130, 143, 129  ended by Ctrl-C, SIGTERM or SIGHUP; the report is of what was read so far
`

// help is the text of --help.
func help() string {
	var usage strings.Builder
	for _, c := range commands() {
		fmt.Fprintf(&usage, "  %-32s  %s\n", strings.TrimSpace(c.called()+" "+strings.TrimPrefix(c.takes, "[flags] ")), c.about)
	}
	return helpHead + strings.Replace(usage.String(), "oomdoc [FILE...]        ", "oomdoc [flags] [FILE...]", 1) +
		"\nExamples:\n" + examples + "\nFlags:\n" + flagHelp((&options{}).define) +
		"\nExit codes:\n" + exitCodes + "\noomdoc run has the exit code of the program that it ran.\n"
}

func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// dashed is a flag as it is typed: -l, --format.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
