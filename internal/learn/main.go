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

const usage = "usage: learn -cases DIR... [-unseen DIR...] -out DIR"

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
