// Command oomdoc explains out-of-memory crashes of AI programs.
//
// Run oomdoc --help for its use.
package main

import (
	"context"
	"os"

	"github.com/oomdoc/oomdoc/internal/cli"
)

func main() {
	err := cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	os.Exit(cli.Exit(err, os.Stderr))
}
