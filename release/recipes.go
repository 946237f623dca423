package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

// sums is the name of the list of checksums.
const sums = "SHA256SUMS"

//go:embed oomdoc.rb.tmpl
var formula string

//go:embed scoop.json.tmpl
var manifest string

// recipes writes those of Homebrew and Scoop, where all that they name was
// made. They hold for a release that lies at the project under its tag.
func (r *release) recipes() error {
	known := map[string]string{}
	for _, m := range r.made {
		if m.name == r.archiveName(m.target) {
			sum, err := r.sum(m.name)
			if err != nil {
				return err
			}
			known[m.target.String()] = sum
		}
	}
	for name, text := range map[string]string{"oomdoc.rb": formula, "scoop.json": manifest} {
		made, err := recipe(text, r.version, known)
		if err != nil {
			fmt.Fprintf(r.log, "left out: %s: %v\n", name, err)
			continue
		}
		if err := os.WriteFile(filepath.Join(r.out, name), made, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(r.log, filepath.Join(r.out, name))
	}
	return nil
}

// recipe fills one in: {{sum "linux/amd64"}} is an archive's checksum.
func recipe(text, version string, known map[string]string) ([]byte, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"version": func() string { return version },
		"sum": func(target string) (string, error) {
			if known[target] == "" {
				return "", fmt.Errorf("there is no archive for %s", target)
			}
			return known[target], nil
		},
	}).Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, nil)
	return b.Bytes(), err
}

func (r *release) sum(name string) (string, error) {
	content, err := os.ReadFile(filepath.Join(r.out, name))
	return fmt.Sprintf("%x", sha256.Sum256(content)), err
}

// checksums lists every file, as sha256sum --check reads it.
func (r *release) checksums() error {
	var lines []string
	for _, m := range r.made {
		sum, err := r.sum(m.name)
		if err != nil {
			return err
		}
		lines = append(lines, sum+"  "+m.name+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return os.WriteFile(filepath.Join(r.out, sums), []byte(strings.Join(lines, "")), 0o644)
}
