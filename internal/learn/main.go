// Command learn fits what rules/odds adds to clues and cards: what general facts
// of a log say of its cause, and which fix is right in which situation.
//
//	go run ./internal/learn -cases DIR... [-own DIR...] [-unseen DIR...] -out rules/odds
//
// The folders hold labelled logs, see package labelled: those of -own are this
// project's, and those of -unseen nobody had seen who wrote the rules, so that
// they count for most where settings are chosen. The command writes causes.tsv
// and fixes.tsv, the same for the same logs, and prints how good they are on
// cases whose repository was left out. docs/confidence.md says what it does.
//
// ridge.go minimises, learn.go and fixes.go make the two models, choose.go
// crosses them over, table.go writes.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/oomdoc/oomdoc/internal/workshop/labelled"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

const usage = "usage: learn -cases DIR... [-own DIR...] [-unseen DIR...] -out DIR"

func run(args []string) error {
	lists := map[string][]string{}
	name := ""
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			name = a
			continue
		}
		lists[name] = append(lists[name], a)
	}
	var cases []observed
	for _, list := range []string{"-cases", "-own", "-unseen"} {
		for _, dir := range lists[list] {
			read, err := labelled.Read(os.DirFS(dir))
			if err != nil {
				return err
			}
			cases = append(cases, observe(dir, list, read)...)
		}
	}
	if len(cases) == 0 || len(lists["-out"]) != 1 {
		return fmt.Errorf("%s", usage)
	}
	names, index := vocabulary(cases)
	s, said := choose(cases, index)
	report(os.Stdout, "cross-validated", cases, said)
	fmt.Printf("lambda %g, beside %g of the evidence; hand %g, temperature %g\n", s.lambda, s.beside, s.hand, s.cool)
	out := lists["-out"][0]
	if err := os.WriteFile(filepath.Join(out, "causes.tsv"), []byte(table(s, names, fitOn(cases, index, s))), 0o644); err != nil {
		return err
	}
	traitNames, traitIndex := traits(cases)
	byHand := make([][]string, len(cases))
	for i := range cases {
		byHand[i] = ranks(&cases[i], traitIndex, nil, 1)
	}
	reportFixes(os.Stdout, "fixes by hand", cases, byHand)
	lambda, worth, ranked := chooseFixes(cases, traitIndex)
	reportFixes(os.Stdout, "fixes, cross-validated", cases, ranked)
	fmt.Printf("lambda %g, worth %g, %d traits\n", lambda, worth, len(traitNames))
	return os.WriteFile(filepath.Join(out, "fixes.tsv"), []byte(fixTable(worth, traitNames, fitFixes(cases, traitIndex, lambda, worth))), 0o644)
}
