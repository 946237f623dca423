// Command effects counts incidents whose fixes are computed from the log's own
// figures.
//
//	go run ./internal/workshop/effects [-list] DIR
//
// DIR holds logs at any depth, NAME.log. An incident is computed when one of
// its fixes carries an effect with basis "log". A log has the lines for that
// when it states both what was wanted and what there was; -list prints the
// incidents with such lines of which none of the first three fixes is computed,
// why, as far as the figures tell, and what they state.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

// shown are the fixes that a report prints in full.
const shown = 3

// count is of the incidents of one framework.
type count struct {
	incidents int
	lines     int // the log has the lines for a prescription
	any       int // of those: computed from the log in any fix
	top       int // in the fixes shown
	estimate  int // of all: in the fixes shown, not from the log but from the model
}

func main() {
	list := flag.Bool("list", false, "list incidents that lack an effect from the log")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: effects [-list] DIR")
		os.Exit(2)
	}
	counts, err := measure(os.DirFS(flag.Arg(0)), *list)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	print(counts)
}

func measure(dir fs.FS, list bool) (map[string]*count, error) {
	counts := map[string]*count{}
	return counts, fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".log" {
			return err
		}
		log, err := fs.ReadFile(dir, path)
		if err != nil {
			return err
		}
		r := diagnose.Bytes(log)
		for i := range r.Incidents {
			in := &r.Incidents[i]
			c := counts[in.Framework]
			if c == nil {
				c = &count{}
				counts[in.Framework] = c
			}
			if line := c.add(in); line != "" && list {
				fmt.Printf("%s:%d\t%s\t%s\n", path, in.Line, in.Framework, line)
			}
		}
		return nil
	})
}

// add counts an incident. It returns what to list of one that lacks an effect
// from the log among the fixes shown.
func (c *count) add(in *diagnose.Incident) string {
	c.incidents++
	first := in.Fixes[:min(shown, len(in.Fixes))]
	top := has(first, "log")
	if !top && has(first, "estimate") {
		c.estimate++
	}
	if !stated(in) && !has(in.Fixes, "log") {
		return ""
	}
	c.lines++
	if has(in.Fixes, "log") {
		c.any++
	}
	if top {
		c.top++
		return ""
	}
	var fixes []string
	for _, f := range first {
		fixes = append(fixes, f.ID)
	}
	cause := ""
	if len(in.Causes) > 0 {
		cause = in.Causes[0].ID
	}
	return cause + "\t" + strings.Join(fixes, " ") + "\t" + reason(in) + "\t" + strings.Join(sizes(in), " ")
}

// reason says why none of the fixes shown is computed, by what is stated.
func reason(in *diagnose.Incident) string {
	f := in.Figures
	want, free := bytes(f.Requested), bytes(f.Free)
	switch {
	case has(in.Fixes, "log"):
		return "computed in a later fix"
	case has(in.Fixes, "estimate"):
		return "sized by the model's name instead"
	case f.Requested != nil && f.Total == nil && f.Device == nil && f.Free != nil && in.Framework == "llama.cpp":
		return "a pool that the program planned: nothing gives it more"
	case f.Requested != nil && f.Free != nil && free >= want:
		return "more was free than wanted: what refused it has no figure"
	case f.Requested != nil && want <= 64<<20:
		return "the last straw: so small a piece sizes nothing"
	case f.Requested != nil && f.Free != nil && free*64 < want:
		return "next to nothing was free: no part of the piece would fit"
	case len(in.Causes) > 0 && in.Causes[0].ID == "training_state_too_large":
		return "training: what states take follows from a model that is not named"
	case f.Requested != nil && f.Free == nil && f.Limit == nil:
		return "what was free is not stated"
	}
	return "no setting's part of it is stated"
}

func bytes(s *fact.Size) int64 {
	if s == nil {
		return 0
	}
	return s.Bytes
}

// stated reports both a want and what there was for it.
func stated(in *diagnose.Incident) bool {
	f := in.Figures
	room := f.Free != nil || f.Allocated != nil && (f.Total != nil || f.Limit != nil)
	switch {
	case f.KVNeeded != nil && f.KVAvailable != nil, f.SystemRequired != nil && f.SystemAvailable != nil, f.Desired != nil && f.Free != nil:
		return true
	case f.KilledRSS != nil && f.Limit != nil, f.KVTokens != nil && f.MaxModelLen != nil:
		return true
	}
	return f.Requested != nil && room
}

func has(fixes []diagnose.Fix, basis string) bool {
	return slices.ContainsFunc(fixes, func(f diagnose.Fix) bool { return f.Effect != nil && f.Effect.Basis == basis })
}

// sizes names the sizes that the log states.
func sizes(in *diagnose.Incident) []string {
	var out []string
	in.Figures.Sizes(func(key string, _ *fact.Size) { out = append(out, key) })
	return out
}

func print(counts map[string]*count) {
	fmt.Printf("%-24s %9s %9s %9s %9s %9s\n", "framework", "incidents", "lines", "computed", "first 3", "estimate")
	var sum count
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		c := counts[name]
		c.print(name)
		sum.incidents, sum.lines, sum.any, sum.top, sum.estimate = sum.incidents+c.incidents, sum.lines+c.lines, sum.any+c.any, sum.top+c.top, sum.estimate+c.estimate
	}
	sum.print("all")
}

func (c *count) print(name string) {
	fmt.Printf("%-24s %9d %9d %9d %9d %9d\n", name, c.incidents, c.lines, c.any, c.top, c.estimate)
}
