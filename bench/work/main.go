// Command work reads logs as a program that imports the library does, for
// measuring: every log as often as -n says.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/render"
)

func main() {
	n := flag.Int("n", 1, "how often to read each log")
	page := flag.Bool("page", false, "redact the report and write it as Markdown, too")
	flag.Parse()
	for _, name := range flag.Args() {
		if err := read(name, *n, *page); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func read(name string, n int, page bool) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	for range n {
		r, err := diagnose.Read(context.Background(), bytes.NewReader(raw))
		if err != nil {
			return err
		}
		if page {
			render.Markdown(r.Redacted(), render.Options{})
		}
	}
	return nil
}
