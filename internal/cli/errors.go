package cli

import (
	"errors"
	"fmt"
	"io"
)

// Exit codes.
const (
	codeDiagnosed = 0 // memory ran out, and the report says why
	codeNothing   = 1 // no out-of-memory failure was found; there is a report all the same
	codeTrouble   = 2 // an input could not be read, or the call was wrong
	codeFailOn    = 3 // a cause that --fail-on names was found

	codeInterrupted = 130 // by Ctrl-C, as shells number it (SIGHUP is 129, SIGTERM 143); there is a report of what was read
)

// exitError is an error that knows its exit code. One without a message is
// no trouble: the answer is on standard output already.
type exitError struct {
	message string
	code    int
}

func (e *exitError) Error() string { return e.message }

// ExitCode is the code to leave the process with.
func (e *exitError) ExitCode() int { return e.code }

// errNothing ends a run that found no out-of-memory failure.
var errNothing = &exitError{code: codeNothing}

// trouble makes an error of one line that says what is wrong and what to do.
func trouble(format string, args ...any) error {
	return &exitError{message: fmt.Sprintf(format, args...), code: codeTrouble}
}

// Exit writes the error's line, if it has one, and returns the exit code.
func Exit(err error, stderr io.Writer) int {
	if err == nil {
		return codeDiagnosed
	}
	if message := err.Error(); message != "" {
		fmt.Fprintf(stderr, "oomdoc: %s\n", message)
	}
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	return codeTrouble
}
