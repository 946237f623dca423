// Package labelled reads logs whose cause and fixes somebody has labelled.
package labelled

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Case is a log with its label.
type Case struct {
	// Name is the path of the log without its ending.
	Name string
	Log  []byte
	Label
}

// Label says what a careful reader made of a log. A log that is Arguable, or of
// which no Cause is known, is not judged by.
type Label struct {
	Source   string   `json:"source"`
	OOM      bool     `json:"oom"`
	Arguable bool     `json:"arguable"`
	Cause    string   `json:"cause"`
	Accept   []string `json:"accept_causes"`
	Good     []string `json:"fixes_good"`
	Worked   []string `json:"fixes_that_worked"`
	Bad      []string `json:"fixes_bad"`
}

// Judged reports that a diagnosis can be judged by the label.
func (l Label) Judged() bool { return l.OOM && !l.Arguable && l.Cause != "" }

// Accepts reports that a cause is the labelled one or can be defended.
func (l Label) Accepts(cause string) bool {
	return cause == l.Cause || slices.Contains(l.Accept, cause)
}

// Helps reports that a fix is one that worked or that belongs there.
func (l Label) Helps(fix string) bool {
	return slices.Contains(l.Good, fix) || slices.Contains(l.Worked, fix)
}

// Group is the repository that a log comes from, "" where its label does not
// say: what is alike because one program printed it.
func (l Label) Group() string {
	_, path, found := strings.Cut(l.Source, "://")
	parts := strings.Split(path, "/")
	if !found || len(parts) < 3 {
		return ""
	}
	return strings.ToLower(strings.Join(parts[:3], "/"))
}

// Read returns the cases of a folder at any depth, in the order of their names:
// NAME.log beside NAME.json, or beside a want.tsv that has its line.
func Read(dir fs.FS) ([]Case, error) {
	var out []Case
	err := fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == "want.tsv" {
			wanted, err := readWanted(dir, path)
			out = append(out, wanted...)
			return err
		}
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		x := Case{Name: strings.TrimSuffix(path, ".json")}
		if x.Log, err = fs.ReadFile(dir, x.Name+".log"); err != nil {
			return nil // no case
		}
		raw, err := fs.ReadFile(dir, path)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &x.Label); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, x)
		return nil
	})
	slices.SortFunc(out, func(a, b Case) int { return cmp.Compare(a.Name, b.Name) })
	return out, err
}

// readWanted reads the cases of a table: columns log, oom, cause and fix, "-"
// where a log does not say.
func readWanted(dir fs.FS, path string) ([]Case, error) {
	raw, err := fs.ReadFile(dir, path)
	if err != nil {
		return nil, err
	}
	var out []Case
	var columns []string
	for line := range strings.Lines(string(raw)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if columns == nil {
			columns = fields
			continue
		}
		value := func(column string) string {
			i := slices.Index(columns, column)
			if i < 0 || i >= len(fields) || fields[i] == "-" {
				return ""
			}
			return fields[i]
		}
		x := Case{Name: filepath.ToSlash(filepath.Join(filepath.Dir(path), value("log")))}
		x.OOM, x.Cause = value("oom") == "yes", value("cause")
		if fix := value("fix"); fix != "" {
			x.Good = strings.Split(fix, "|")
		}
		if x.Log, err = fs.ReadFile(dir, x.Name+".log"); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}
