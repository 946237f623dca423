// Command oomdoc explains out-of-memory crashes of AI programs.
//
// Run oomdoc --help for its use.
package main

import (
	"os"

	"github.com/oomdoc/oomdoc/internal/cli"
	"github.com/oomdoc/oomdoc/internal/cli/ballast"
)

func main() {
	ballast.Release()
	err := cli.Run(cli.Signals(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	os.Exit(cli.Exit(err, os.Stderr))
}
