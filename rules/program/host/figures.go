package host

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/host/activity"
	"github.com/oomdoc/oomdoc/rules/program/host/kinds"
)

// after is the word of safe letters that follows a text in one of the messages,
// "" where none does: numbers of jobs, names of nodes.
func after(c *ledger.Case, text string) string {
	for _, x := range append([]fact.Failure{c.Failure}, c.Chain...) {
		if _, rest, found := strings.Cut(x.Message, text); found {
			if end := strings.IndexFunc(rest, unsafe); end >= 0 {
				rest = rest[:end]
			}
			if rest = strings.Trim(rest, "."); rest != "" {
				return rest
			}
		}
	}
	return ""
}

func unsafe(r rune) bool {
	return !(r == '-' || r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
}

// gib is an amount in whole GiB, rounded up.
func gib(bytes int64) int64 { return ledger.CeilDiv(bytes, units.GiB) }

// held is what the process held when it was ended, or the pod when it was evicted.
func held(c *ledger.Case) *fact.Size {
	if c.Kind(fact.Evicted) {
		return cmp.Or(c.F().KilledRSS, c.F().ProcessUsed)
	}
	return c.F().KilledRSS
}

// enough is what to ask for instead of a limit: twice that limit, or the peak
// and a quarter where that is more; 0 where the log shows neither. What the
// kernel says of its victim is one process of several.
func enough(c *ledger.Case) int64 {
	f := c.F()
	least := int64(0)
	if peak := held(c); peak != nil {
		least = peak.Bytes + peak.Bytes/4
		if c.Kind(fact.KernelKill) && !c.Kind(fact.Evicted) {
			least = 2 * peak.Bytes
		}
	}
	if all := withSwap(c); all > 0 {
		least = max(least, all+all/4)
	}
	limit := f.Limit
	if limit != nil && limit.Bytes > 0 && limit.Bytes < 16*units.TiB {
		return max(least, 2*limit.Bytes, smallest)
	}
	if least < units.GiB {
		return 0
	}
	return least
}

// smallest is what an interpreter with a small program needs to start.
const smallest = 128 * units.MiB

// withSwap is what the victim held in RAM and swap together, 0 where the kernel's
// table shows nothing of it in swap.
func withSwap(c *ledger.Case) int64 {
	swapped, ok := c.Fact("victim_swap")
	if rss := c.F().KilledRSS; ok && swapped.Size != nil && rss != nil && swapped.Size.Bytes > 16*units.MiB {
		return rss.Bytes + swapped.Size.Bytes
	}
	return 0
}

// wanted is enough with the unit of whoever reads it, in whole GiB, or in MiB
// where it is less than one; "" where the log shows nothing to reckon from.
func wanted(c *ledger.Case, unit string) string {
	n := enough(c)
	switch {
	case n <= 0:
		return ""
	case n < units.GiB:
		return strconv.FormatInt(ledger.CeilDiv(n, units.MiB), 10) + smaller.Replace(unit)
	}
	return strconv.FormatInt(gib(n), 10) + unit
}

var smaller = strings.NewReplacer("Gi", "Mi", "G", "M", "gb", "mb", "g", "m")

// basis says where wanted comes from.
func basis(c *ledger.Case) string {
	from, n := reckoned(c), enough(c)
	if from != "" && (n > units.GiB && n%units.GiB != 0 || n < units.GiB && n%units.MiB != 0) {
		from += ", rounded up"
	}
	return from
}

func reckoned(c *ledger.Case) string {
	f := c.F()
	switch {
	case f.Limit != nil && 2*f.Limit.Bytes >= enough(c):
		return "twice today's " + f.Limit.String()
	case enough(c) == smallest:
		return "about the least that a small Python or Node.js server needs to start"
	case withSwap(c) > 0 && enough(c) == withSwap(c)+withSwap(c)/4:
		return "the " + units.Amount(withSwap(c)) + " that it had in RAM and swap, plus a quarter"
	case f.KilledRSS != nil && c.Kind(fact.KernelKill):
		return "twice the " + f.KilledRSS.String() + " of the process that was killed"
	case held(c) != nil:
		return "the " + held(c).String() + " seen, plus a quarter"
	}
	return ""
}

// hostFigures are what the sentences of this package name.
func hostFigures(c *ledger.Case) map[string]string {
	f := c.F()
	out := map[string]string{"wanted": wanted(c, " GiB"), "basis": basis(c), "held": "", "victim": "", "pid": "", "swapped": ""}
	if withSwap(c) > 0 {
		out["swapped"] = units.Amount(withSwap(c) - f.KilledRSS.Bytes)
	}
	if x := held(c); x != nil {
		out["held"] = x.String()
	}
	if v, ok := c.Fact("victim"); ok {
		out["victim"] = plainName(v.Text)
		if v.Count != nil {
			out["pid"] = v.Count.Text
		}
	}
	bounded(out["victim"], out)
	if out["victim"] == "java" && (c.Contains("elasticsearch") || tabled(c, "elasticsearch")) { // elastic.co/docs/reference/elasticsearch/jvm-settings
		out["bound"] = "Set `ES_JAVA_OPTS=\"-Xms4g -Xmx4g\"`, at most half of the limit: Elasticsearch needs the rest for direct buffers, network and Lucene's files"
	}
	if x := cmp.Or(f.Limit, f.KilledRSS); x != nil && strings.Contains(out["bound"], kinds.Share) {
		out["bound"] = strings.Replace(out["bound"], kinds.Share, fmt.Sprintf("`%dG`, a fifth below the %s of today", max(x.Bytes*4/5/units.GiB, 1), x), 1)
		out["bounded"] = out["bound"]
	}
	if f.Limit != nil {
		out["limit"] = f.Limit.String()
	}
	if f.Allocated != nil {
		out["used"] = f.Allocated.String()
	}
	for name, key := range map[string]string{"ram_total": "kernel_ram", "swap": "kernel_swap", "mem_total": "mem_total"} {
		if x, ok := c.Fact(key); ok && x.Size != nil && x.Size.Bytes > 0 {
			out[name] = units.Amount(x.Size.Bytes)
		}
	}
	return out
}

// tabled: the kernel's table lists a process of that name.
func tabled(c *ledger.Case, name string) bool {
	return slices.ContainsFunc(c.Facts.Tasks, func(p fact.Process) bool { return p.Name == name })
}

// inPython: what was ended is Python, by its name or by what the log shows of it.
func inPython(c *ledger.Case) bool {
	victim, named := c.Fact("victim")
	name := strings.ToLower(victim.Text)
	return strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pt_") || c.In("python") || activity.Forked(c) || c.Reader.Language == "python" || !named && c.Reader.Language == "" && (c.Training() || c.Near("Traceback (most recent call last)", "Loading checkpoint shards"))
}

// bounded says how the process that was ended keeps below a limit.
func bounded(name string, out map[string]string) {
	p, _ := kinds.Of(name)
	out["bounded"], out["leak"], out["bound"] = p.Bound, p.Leak, p.Bound
	out["bound"] = kinds.Sentence(p.Bound)
}

// plainName is the name of a process without what could be markup.
func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '`' || r == '*' || r == '[' || r == ']' || r < ' ' {
			return -1
		}
		return r
	}, strings.TrimSpace(s))
}

// noSwap: a table says that the machine has none.
func noSwap(c *ledger.Case) bool {
	for _, name := range [...]string{"kernel_swap", "swap_total"} {
		if x, ok := c.Fact(name); ok && x.Size != nil {
			return x.Size.Bytes == 0
		}
	}
	return false
}

// team are the processes of one name that hold most of the memory together in
// the kernel's table, where they are several.
type team struct {
	name  string
	count int
	bytes int64
	all   int64 // of all processes of the table
}

func biggestTeam(c *ledger.Case) team {
	sums, all := map[string]*team{}, int64(0)
	var most team
	for _, p := range c.Facts.Tasks {
		all += p.Bytes
		t := sums[p.Name]
		if t == nil {
			t = &team{name: p.Name}
			sums[p.Name] = t
		}
		if p.Bytes >= 64*units.MiB {
			t.count++
			t.bytes += p.Bytes
		}
		if t.bytes > most.bytes {
			most = *t
		}
	}
	most.all = all
	return most
}

// manyAlike: several processes of one name hold most of what the table lists,
// none of them half of it.
func manyAlike(c *ledger.Case) bool {
	t := biggestTeam(c)
	if t.count < 3 || t.bytes*2 < t.all {
		return false
	}
	for _, p := range c.Facts.Tasks {
		if p.Name == t.name && p.Bytes*2 > t.bytes {
			return false
		}
	}
	return true
}

func teamFigures(c *ledger.Case) map[string]string {
	out, t := hostFigures(c), biggestTeam(c)
	out["team"], out["count"], out["together"] = plainName(t.name), strconv.Itoa(t.count), units.Amount(t.bytes)
	out["shared"], out["team_bound"] = "", "Its own option for workers, processes or connections sets the number."
	if p, ok := kinds.Of(t.name); ok {
		out["team_bound"] = kinds.Sentence(p.Bound) + "."
	} else if strings.HasPrefix(t.name, "python") || strings.HasPrefix(t.name, "pt_") {
		out["team_bound"] = "Data loader: `num_workers=2`. Pool or joblib: half of today's `Pool(processes=...)` or `n_jobs=...`."
	}
	if limit := c.F().Limit; limit != nil && t.bytes > limit.Bytes {
		out["shared"] = "more than the limit, because shared pages count in each process"
	}
	if t.count > 0 {
		out["each"] = units.Amount(t.bytes / int64(t.count))
	}
	return out
}

// otherFigures name the process that held most when another was killed.
func otherFigures(c *ledger.Case) map[string]string {
	out := hostFigures(c)
	out["adjusted"] = adjusted(c)
	if p, ok := ledger.BiggestOther(c); ok {
		out["other"], out["other_held"] = plainName(p.Name), units.Amount(p.Bytes)
		out["other_pid"], out["other_more"] = strconv.Itoa(p.PID), "held a lot as well"
		if rss := c.F().KilledRSS; rss != nil && p.Bytes > rss.Bytes {
			out["other_more"] = "held more"
		}
	}
	return out
}

// swapOf is the size of a swap file: half of what was held, in steps of 8 GB, and
// on a small machine no more than its RAM.
func swapOf(c *ledger.Case) int64 {
	n := int64(8)
	if rss := c.F().KilledRSS; rss != nil {
		n = min(max(ledger.CeilDiv(gib(rss.Bytes/2), 8)*8, 8), 64)
	} else if ledger.RunsModels(c) || c.Training() {
		n = 16
	}
	if ram := max(ledger.Sized(c, "kernel_ram"), ledger.Sized(c, "mem_total")); ram > 0 {
		n = min(n, max(2*ledger.CeilDiv(gib(ram), 2), 2))
	}
	return n
}

// swapCommand adds a swap file; one that is in use has the usual name already.
func swapCommand(c *ledger.Case) string {
	file := "/swapfile"
	if ledger.Sized(c, "kernel_swap") > 0 || ledger.Sized(c, "swap_total") > 0 {
		file = "/swapfile2"
	}
	return fmt.Sprintf("sudo fallocate -l %dG %[2]s && sudo chmod 600 %[2]s\nsudo mkswap %[2]s && sudo swapon %[2]s", swapOf(c), file)
}

// adjusted says that the kernel did not choose its victim by size alone, "" where
// the log does not show that.
func adjusted(c *ledger.Case) string {
	at, _ := c.Fact("victim_score_adj")
	n, err := strconv.Atoi(at.Text)
	if err != nil || n < 100 {
		return ""
	}
	return fmt.Sprintf("Its oom_score_adj of %d (browsers and desktops set it) makes the kernel kill it before larger processes.", n)
}
