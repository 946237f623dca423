// Command oomdoc explains out-of-memory crashes of AI programs.
//
// Run oomdoc --help for its use.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/oomdoc/oomdoc/internal/cli"
	"github.com/oomdoc/oomdoc/internal/cli/ballast"
)

func main() {
	ballast.Release()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	err := cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	os.Exit(cli.Exit(err, os.Stderr))
}
