package cli

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers"
	"github.com/oomdoc/oomdoc/rules"
)

// keywords prints what a large log is searched for, one word a line: a list
// for grep -i -F -f, and for fair comparisons of speed.
func (s *session) keywords(args []string) error {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	if o.help {
		return s.print([]byte(help()))
	}
	if len(o.files) > 0 {
		return trouble("keywords takes no arguments; it prints what large logs are searched for")
	}
	return s.print([]byte(strings.Join(parsers.New(rules.Proofs(), rules.Words()).ScanWords().Search.Words(), "\n") + "\n"))
}
