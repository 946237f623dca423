package cli

import (
	"context"
	"flag"
	"fmt"
	"strings"
)

const manHead = `oomdoc man prints the manual page, in the form that man reads.

Usage:
  oomdoc man | man -l -
  oomdoc man > /usr/local/share/man/man1/oomdoc.1

Flags:
`

// man is the subcommand.
func (s *session) man(_ context.Context, args []string) error {
	rest, ok, err := s.bare("man", args)
	if err != nil || !ok {
		return err
	}
	if len(rest) > 0 {
		return trouble("man takes no arguments: oomdoc man | man -l -")
	}
	return s.print([]byte(manual()))
}

// manual is the page in roff.
func manual() string {
	var b strings.Builder
	b.WriteString(".TH OOMDOC 1 \"\" \"oomdoc\" \"User Commands\"\n.SH NAME\noomdoc \\- explain out\\-of\\-memory crashes of AI programs\n.SH SYNOPSIS\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "%s.br\n", strong(c.called(), c.takes))
	}
	b.WriteString(".SH DESCRIPTION\n" + roff("Reads the log of a program that ran out of memory and says what happened in figures, why, and what to do about it. It works offline: there is no network code in it.") + "\n.SH COMMANDS\n")
	for _, c := range commands()[1:] {
		fmt.Fprintf(&b, ".TP\n%s%s.\n", strong(c.name, c.takes), roff(upper(c.about)))
	}
	for _, c := range commands() {
		flags := c.listed()
		if len(flags) < 2 { // --help alone
			continue
		}
		fmt.Fprintf(&b, ".SH %s\n", roff(strings.ToUpper("options of "+c.called())))
		for _, f := range flags {
			name, usage := flag.UnquoteUsage(f)
			switch {
			case isBool(f):
				name = ""
			case name != strings.ToUpper(name):
				name = "WHAT"
			}
			fmt.Fprintf(&b, ".TP\n%s%s.\n", strong(dashed(f.Name), name), roff(upper(usage)))
		}
	}
	b.WriteString(".SH EXIT STATUS\n")
	for line := range strings.Lines(exitCodes) {
		code, meaning, _ := strings.Cut(strings.TrimSpace(line), "  ")
		fmt.Fprintf(&b, ".TP\n.B %s\n%s.\n", roff(code), roff(upper(meaning)))
	}
	b.WriteString(roff("oomdoc run leaves with the exit code of the program that it ran.") + "\n")
	b.WriteString(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nNo colours.\n.TP\n.B COLORFGBG\nWhether the terminal is dark or light.\n.SH EXAMPLES\n.nf\n")
	for line := range strings.Lines(examples) {
		b.WriteString(roff(strings.TrimPrefix(strings.TrimRight(line, "\n"), "  ")) + "\n")
	}
	b.WriteString(".fi\n")
	return b.String()
}

// strong is a line of a name in bold and of what follows it.
func strong(name, rest string) string {
	if rest == "" {
		return ".B " + roff(name) + "\n"
	}
	return fmt.Sprintf(".BR \"%s\" \" %s\"\n", roff(name), strings.ReplaceAll(roff(rest), `"`, ""))
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// roff escapes a text of one line.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
