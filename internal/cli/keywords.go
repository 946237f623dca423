package cli

import (
	"context"
	"strings"

	"github.com/oomdoc/oomdoc/parsers"
	"github.com/oomdoc/oomdoc/rules"
)

// keywords prints what a large log is searched for, one word a line: a list
// for grep -i -F -f, and for fair comparisons of speed.
func (s *session) keywords(_ context.Context, args []string) error {
	rest, ok, err := s.bare("keywords", args)
	if err != nil || !ok {
		return err
	}
	if len(rest) > 0 {
		return trouble("keywords takes no arguments; it prints what large logs are searched for")
	}
	return s.print([]byte(strings.Join(parsers.New(rules.Proofs(), rules.Words()).ScanWords().Search.Words(), "\n") + "\n"))
}
