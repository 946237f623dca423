package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oomdoc/oomdoc/diagnose"
)

// logNames are how logs are called in a folder; what a logger's rotation puts
// behind the name may follow ".log".
var logNames = []string{"*.log", "*.log.*", "*.log-*", "*.out", "*.err", "*.gz", "*.zst"}

// listing is a file to read.
type listing struct {
	name string
	// found says that it was not named, but lies in a folder that was.
	found bool
}

// files reads the files that were named, and those in folders. A bad one does
// not keep the others from their answers.
func (s *session) files(ctx context.Context, names []string) ([]*diagnose.Report, error) {
	var all []*diagnose.Report
	var broken troubles
	for _, f := range s.listed(names, &broken) {
		if ctx.Err() != nil {
			break
		}
		reports, err := s.readFile(f.name, func(in input) ([]*diagnose.Report, error) {
			in.found = f.found
			return s.read(ctx, in)
		})
		broken.add(err)
		for _, r := range reports {
			if r.OOM || !f.found {
				all = append(all, r)
			}
		}
	}
	return all, broken.err()
}

// listed are the names with folders replaced by the logs in them, the newest
// first.
func (s *session) listed(names []string, broken *troubles) []listing {
	var out []listing
	for _, name := range names {
		info, err := os.Stat(name)
		if name == "-" || err != nil || !info.IsDir() {
			out = append(out, listing{name: name})
			continue
		}
		logs, err := logsIn(name)
		if err != nil {
			broken.add(unreadable(input{called: fmt.Sprintf("%q", name)}, err))
		} else if len(logs) == 0 {
			broken.add(trouble("the folder %q holds no logs (%s); name the files in it", name, strings.Join(logNames, ", ")))
		}
		for _, log := range logs {
			out = append(out, listing{name: log, found: true})
		}
	}
	return out
}

// logsIn are the logs of a folder, not those of folders in it.
func logsIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var names []string
	changed := map[string]time.Time{}
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(folder, e.Name())) // a link is what it leads to
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || !logName(e.Name()) {
			continue
		}
		name := filepath.Join(folder, e.Name())
		names, changed[name] = append(names, name), info.ModTime()
	}
	slices.SortStableFunc(names, func(a, b string) int { return changed[b].Compare(changed[a]) })
	return names, nil
}

func logName(name string) bool {
	return slices.ContainsFunc(logNames, func(pattern string) bool {
		ok, _ := filepath.Match(pattern, strings.ToLower(name))
		return ok
	})
}

// troubles are what went wrong with single inputs, a line each.
type troubles []string

func (t *troubles) add(err error) {
	if err != nil {
		*t = append(*t, err.Error())
	}
}

func (t troubles) err() error {
	if len(t) == 0 {
		return nil
	}
	return trouble("%s", strings.Join(t, "\noomdoc: "))
}
