package diagnose

import (
	"slices"
	"sort"
	"strings"

	"github.com/oomdoc/oomdoc/parsers"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

// failureGroup is one incident in the making: the statements that tell of one
// failure.
type failureGroup struct {
	root  fact.Failure
	chain []fact.Failure // the first of them, up to maxChain
	last  int            // the line of the last one
	count int
	ranks []string
}

// nearby is how many lines may lie between two statements of one crash: a
// traceback with the load log of a restart does not fit in between.
const nearby = 150

// maxGroups bounds the incidents that are told apart, maxIncidents those that
// are reported: a log in which every request fails with other figures. maxChain
// bounds the statements that one of them keeps; those beyond are counted.
const (
	maxGroups    = 256
	maxIncidents = 32
	maxChain     = 128
)

// group makes incidents out of statements: layers of one crash become one,
// ranks and repeats are folded, wrappers never stand alone beside a cause. It
// returns how many statements were left out.
func group(facts *fact.Facts) (groups []failureGroup, left int) {
	starts := startLines(facts)
	for _, x := range facts.Failures {
		if g := home(groups, x, starts); g != nil {
			join(g, x)
			continue
		}
		if len(groups) == maxGroups {
			left++
			continue
		}
		g := failureGroup{root: x, chain: []fact.Failure{x}, last: x.Line, count: 1}
		if rank := rankOf(x.Source); rank != "" {
			g.ranks = []string{rank}
		}
		groups = append(groups, g)
	}
	groups = dropWrappers(groups)
	sort.SliceStable(groups, func(i, j int) bool { return rootness(groups[i].root) > rootness(groups[j].root) })
	return groups, left
}

// startLines are the lines at which a server started, in order.
func startLines(facts *fact.Facts) []int {
	var lines []int
	for _, f := range facts.Facts {
		if f.Name == fact.Start {
			lines = append(lines, f.Line)
		}
	}
	slices.Sort(lines)
	return lines
}

// home finds the incident that a statement belongs to, the latest first.
func home(groups []failureGroup, x fact.Failure, starts []int) *failureGroup {
	for i := len(groups) - 1; i >= 0; i-- {
		if belongs(&groups[i], x, starts) {
			return &groups[i]
		}
	}
	return nil
}

func belongs(g *failureGroup, x fact.Failure, starts []int) bool {
	for i := range g.chain {
		y := &g.chain[i]
		if y.Kind != x.Kind {
			continue
		}
		if sameFigures(y, &x) || otherRank(*y, x) && x.Line-g.last <= nearby {
			return true
		}
		if y.Source == x.Source && !y.Figures.Empty() && !x.Figures.Empty() {
			return false // the same process failed again, otherwise
		}
	}
	if x.Line-g.last > nearby || startedBetween(g, x, starts) {
		return false
	}
	return x.Wrapper || g.root.Wrapper || layered(g.root, x)
}

// startedBetween: a server started anew since the last cause of this incident.
func startedBetween(g *failureGroup, x fact.Failure, starts []int) bool {
	last := g.root.Line
	for _, y := range g.chain {
		if !y.Wrapper {
			last = max(last, y.Line)
		}
	}
	next, _ := slices.BinarySearch(starts, last+1)
	return next < len(starts) && starts[next] <= x.Line
}

// otherRank: the same failure in another process, told by the prefixes or,
// where the paste lost them, by the device.
func otherRank(a, b fact.Failure) bool {
	if a.Source != b.Source {
		return a.Source != "" && b.Source != ""
	}
	ra, rb := a.Figures.Requested, b.Figures.Requested
	return otherDevice(a, b) && ra != nil && rb != nil && ra.Bytes == rb.Bytes
}

// sameFigures: a repeat, a re-raise, or a copy that lost its figures.
func sameFigures(a, b *fact.Failure) bool {
	return a.Figures.Empty() || b.Figures.Empty() || a.Figures.Agrees(&b.Figures)
}

// layered: statements of different programs about one crash.
func layered(a, b fact.Failure) bool {
	if a.Kind == b.Kind {
		return false
	}
	ra, rb := a.Figures.Requested, b.Figures.Requested
	return ra == nil || rb == nil || near(ra.Bytes, rb.Bytes) || a.Framework != b.Framework
}

func near(a, b int64) bool { return a-b < 16<<20 && b-a < 16<<20 }

func join(g *failureGroup, x fact.Failure) {
	if x.Kind == g.root.Kind && !x.Wrapper && !g.root.Wrapper {
		g.count++
	}
	if rank := rankOf(x.Source); rank != "" && !slices.Contains(g.ranks, rank) {
		g.ranks = append(g.ranks, rank)
	}
	g.last = x.Line
	if len(g.chain) < maxChain {
		g.chain = append(g.chain, x)
	}
	if better(x, g.root) {
		g.root = x
	}
}

// better says which of two statements leads: a cause before a wrapper, sure
// before weak, then the wording that says most.
func better(x, root fact.Failure) bool {
	if x.Wrapper != root.Wrapper {
		return root.Wrapper
	}
	if x.Kind == root.Kind {
		return worse(x, root)
	}
	if x.Echo != root.Echo {
		return root.Echo
	}
	if x.Weak != root.Weak {
		return root.Weak
	}
	return rootness(x) > rootness(root)
}

// worse: of two ranks the one with less free memory, or the one with figures.
func worse(x, root fact.Failure) bool {
	if root.Figures.Empty() != x.Figures.Empty() {
		return root.Figures.Empty()
	}
	if x.Source == root.Source && !otherDevice(x, root) || x.Figures.Free == nil || root.Figures.Free == nil {
		return false
	}
	free, least := x.Figures.Free.Bytes, root.Figures.Free.Bytes
	return free < least && !near(free, least)
}

// otherDevice tells ranks apart where the paste lost their prefixes.
func otherDevice(x, root fact.Failure) bool {
	a, b := x.Figures.Device, root.Figures.Device
	return a != nil && b != nil && a.Value != b.Value
}

// rootness orders kinds: the kernel explains what user space saw, an engine's
// own check names the setting, an allocator gives the figures.
func rootness(x fact.Failure) int {
	switch {
	case x.Wrapper:
		return 0
	case x.Weak:
		return 1
	}
	return 2 + parsers.Specificity(x.Kind)
}

func dropWrappers(groups []failureGroup) []failureGroup {
	causes := 0
	for _, g := range groups {
		if !g.root.Wrapper {
			causes++
		}
	}
	if causes == 0 {
		groups = slices.DeleteFunc(groups, func(g failureGroup) bool { return g.root.Echo })
		return groups[:min(len(groups), 1)]
	}
	kept := groups[:0]
	for _, g := range groups {
		if !g.root.Wrapper {
			kept = append(kept, g)
		}
	}
	return kept
}

// rankOf shortens a prefix to the rank it names.
func rankOf(source string) string {
	source = strings.TrimPrefix(source, "TRT-LLM ")
	switch {
	case strings.HasPrefix(source, "rank"):
		return source
	case strings.HasPrefix(source, "VllmWorker rank="):
		rank, _, _ := strings.Cut(strings.TrimPrefix(source, "VllmWorker "), " ")
		return strings.ReplaceAll(rank, "=", "")
	case strings.HasPrefix(source, "Worker_"), strings.HasPrefix(source, "TP"):
		name, _, _ := strings.Cut(source, " ")
		return name
	}
	return ""
}
