// Command oomdoc explains out-of-memory crashes of AI programs.
package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/oomdoc/oomdoc/diagnose"
)

func main() {
	r, err := diagnose.Read(context.Background(), os.Stdin)
	if err != nil {
		os.Exit(2)
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	e.Encode(r)
	if !r.OOM {
		os.Exit(1)
	}
}
