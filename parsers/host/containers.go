package host

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Containers reads Docker, Kubernetes and YARN.
var Containers = text.Parser{
	Name: "containers", Keywords: text.Literals(containerWordings),
	Explains: map[fact.Kind]int{fact.ContainerKill: 6, fact.Evicted: 6, fact.YARNKill: 6},
	Parse:    func(l *text.Log, hits []text.Hit, f *fact.Facts) { text.ParseWordings(containerWordings, l, hits, f) },
}

var containerWordings = []text.Wording{
	text.On("OOMKilled", readOOMKilled),
	text.On("OOMKilling", text.Fails(fact.Failure{Kind: fact.ContainerKill, Framework: "kubernetes", Backend: "cpu"})),
	text.On("container oom ", text.Fails(fact.Failure{Kind: fact.ContainerKill, Framework: "linux-oom-killer", Backend: "cpu"})),
	text.On("low on resource: memory", readEvicted),
	text.On("The node had condition: [MemoryPressure]", readEvicted),
	text.On("it exceeded the request memory", readOpenPAI),
	text.On("Container killed due to memory usage", text.Fails(fact.Failure{Kind: fact.ContainerKill, Framework: "other", Backend: "cpu"})),
	text.On("for exceeding memory limits", readYARN), text.On("running beyond physical memory limits", readYARN), text.On("running beyond virtual memory limits", readYARN),
}

var (
	limitsPattern  = text.NewPattern(`limits"?:.{0,200}?memory"?:"?(?<limit>\d{1,16}(?:\.\d{1,4})?)(?<unit>[kmgt]i?)?`)
	evictedPattern = text.NewPattern(`(?:thresholdquantity:(?<threshold>\d{1,14}(?:[kmg]i?)?),available:(?<available>\d{1,14})(?<unit>[kmg]i?))`)
	yarnPattern    = text.NewPattern(`(?<used>SIZE)of(?<limit>SIZE)(?:virtual|physical)memoryused`)
)

// readOOMKilled reads Kubernetes' reason and Docker's state, the one word that
// both use: "Reason: OOMKilled", "OOMKilled":true.
func readOOMKilled(m text.Message) int {
	s := m.Log.Squeezed()
	if m.Precedes("havebeen", 8) {
		return m.End // Slurm's "OOM Killed."
	}
	after := strings.TrimLeft(s[m.End:min(m.End+10, len(s))], `"':=`)
	if strings.HasPrefix(after, "false") {
		return m.End
	}
	x := fact.Failure{Kind: fact.ContainerKill, Framework: "kubernetes", Backend: "cpu"}
	if strings.HasPrefix(after, "true") {
		x.Framework = "linux-oom-killer" // docker inspect
	}
	k := m.Log.Find(limitsPattern, max(m.At-2000, 0), m.At+1600)
	if k.Ok() {
		x.Figures.Limit = kubernetesSize(k, "limit", "unit")
	}
	return m.Fail(x, m.End)
}

// kubernetesSize reads "512Mi" (binary) and "512M" (decimal).
func kubernetesSize(k text.Match, value, unit string) *fact.Size {
	u := k.Lower(unit)
	size := k.SizeIn(value, u)
	if size == nil {
		return nil
	}
	if u != "" && !strings.HasSuffix(u, "i") {
		for range strings.IndexByte("kmgt", u[0]) + 1 {
			size.Bytes = size.Bytes / 1024 * 1000
		}
	}
	size.Text = k.Text(value) + k.Text(unit)
	return size
}

// readEvicted reads a node short of memory; the same sentence with
// ephemeral-storage is the disk.
func readEvicted(m text.Message) int {
	x := fact.Failure{Kind: fact.Evicted, Framework: "kubernetes", Backend: "cpu"}
	k := m.Find(evictedPattern, 120)
	if k.Ok() {
		x.Figures.Free = kubernetesSize(k, "available", "unit")
	}
	return m.Fail(x, m.Took(k))
}

func readOpenPAI(m text.Message) int {
	return m.Fail(fact.Failure{Kind: fact.ContainerKill, Framework: "kubernetes", Backend: "cpu"}, m.End)
}

// readYARN reads "Container killed by YARN for exceeding memory limits. 7.2 GB
// of 4.2 GB virtual memory used".
func readYARN(m text.Message) int {
	k := m.Find(yarnPattern, 260)
	x := fact.Failure{Kind: fact.YARNKill, Framework: "other", Backend: "cpu"}
	x.Figures.ProcessUsed, x.Figures.Limit = k.Size("used"), k.Size("limit")
	if k.Ok() && m.Follows("virtual", 260) {
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "yarn_virtual", Text: m.Log.LineText(m.At), Line: m.Log.Line(m.At)})
	}
	return m.Fail(x, m.Took(k))
}
