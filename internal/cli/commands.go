package cli

import (
	"context"
	"flag"
	"slices"
	"strings"
)

// command is one of the words that may follow oomdoc. Dispatch, help,
// completions and the manual page are made from the list of them.
type command struct {
	name  string // "" for oomdoc without such a word
	takes string // what follows it, as usage lines show it
	about string // what it does, in half a line
	// args says what completes its arguments: files, programs, ids, shells,
	// commands; empty for nothing.
	args  string
	flags func(*flag.FlagSet)
	run   func(s *session, ctx context.Context, args []string) error
	help  func() string
}

// commands are all of them, the nameless one first.
func commands() []command {
	return []command{
		{"", "[flags] [FILE...]", "read files, the logs in folders, or standard input", "files", (&options{}).define, (*session).diagnose, help},
		{"run", "[flags] -- COMMAND...", "start a program; the answer follows if it dies of memory", "programs", (&runOptions{}).define, (*session).run, helpOf(runHead, (&runOptions{}).define, runTail)},
		{"follow", "[flags] FILE...", "answer failures as they happen; - is standard input", "files", (&followOptions{}).define, (*session).follow, helpOf(followHead, (&followOptions{}).define, followTail)},
		{"explain", "[flags] [ID]", "what a cause or a fix means; without ID, list them", "ids", (&options{}).defineExplain, (*session).explain, helpOf(explainHead, (&options{}).defineExplain, "")},
		{"fit", "[flags] [MODEL]", "what of a model fits a card", "files", (&fitOptions{}).define, (*session).fit, helpOf(fitHead, (&fitOptions{}).define, "")},
		{"redact", "[FILE]", "the log itself, masked: to attach to a bug report", "files", noFlags, (*session).redact, helpOf(redactHead, noFlags, "")},
		{"keywords", "", "what large logs are searched for, one word a line", "", noFlags, (*session).keywords, helpOf(keywordsHead, noFlags, "")},
		{"completion", "SHELL", "completions for bash, zsh, fish or powershell", "shells", noFlags, (*session).completion, helpOf(completionHead, noFlags, "")},
		{"man", "", "the manual page: oomdoc man | man -l -", "", noFlags, (*session).man, helpOf(manHead, noFlags, "")},
		{"help", "[COMMAND]", "help on oomdoc or a command", "commands", noFlags, (*session).helpOn, help},
		{"version", "", "print the version", "", noFlags, func(s *session, _ context.Context, _ []string) error { return s.printVersion() }, help},
	}
}

// dispatch finds the command that the arguments name, and what is left for it.
func dispatch(args []string) (command, []string) {
	all := commands()
	if len(args) > 0 {
		for _, c := range all[1:] {
			if c.name == args[0] {
				return c, args[1:]
			}
		}
	}
	return all[0], args
}

// commandNames are the words that may follow oomdoc.
func commandNames() []string {
	var names []string
	for _, c := range commands()[1:] {
		names = append(names, c.name)
	}
	return names
}

// called is a command as it is typed.
func (c command) called() string { return strings.TrimSpace("oomdoc " + c.name) }

// listed are a command's flags, without its short forms of others.
func (c command) listed() []*flag.Flag {
	return slices.DeleteFunc(c.all(), func(f *flag.Flag) bool { return f.Usage == "" })
}

func (c command) all() []*flag.Flag {
	var out []*flag.Flag
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	c.flags(fs)
	fs.VisitAll(func(f *flag.Flag) { out = append(out, f) })
	return out
}

// noFlags are those of commands that have none of their own.
func noFlags(fs *flag.FlagSet) {
	fs.Bool("help", false, "print this help")
	fs.Bool("h", false, "")
}

func helpOf(head string, flags func(*flag.FlagSet), tail string) func() string {
	return func() string { return head + flagHelp(flags) + tail }
}

// bare reads the arguments of a command without flags. It reports false where
// help was asked for, and was given.
func (s *session) bare(name string, args []string) (rest []string, ok bool, err error) {
	wanted := false
	rest, err = readFlags("oomdoc "+name, func(fs *flag.FlagSet) {
		fs.BoolVar(&wanted, "help", false, "")
		fs.BoolVar(&wanted, "h", false, "")
	}, args)
	if err != nil || !wanted {
		return rest, err == nil, err
	}
	return nil, false, s.helpOn(context.Background(), []string{name})
}

// helpOn prints the help of a command, or of all.
func (s *session) helpOn(_ context.Context, args []string) error {
	if len(args) > 1 {
		return trouble("help takes one command: oomdoc help run")
	}
	if len(args) == 0 {
		return s.print([]byte(help()))
	}
	c, _ := dispatch(args)
	if c.name == "" && strings.TrimLeft(args[0], "-") != "help" {
		return trouble("there is no command %q%s; oomdoc help lists them", args[0], meant(args[0], commandNames()))
	}
	return s.print([]byte(c.help()))
}

func (s *session) printVersion() error { return s.print([]byte("oomdoc " + version() + "\n")) }

const keywordsHead = `oomdoc keywords prints what large logs are searched for, one word a line: a list
for grep -i -F -f.

Usage:
  oomdoc keywords

Flags:
`

const explainHead = `oomdoc explain says what a cause, a fix or a message of a program means. Without
ID it lists causes and fixes.

Usage:
  oomdoc explain [flags] [ID]

Examples:
  oomdoc explain
  oomdoc explain fragmentation
  oomdoc explain vllm/cache-length

Flags:
`
