package host

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Containers reads Docker, Kubernetes and YARN.
var Containers = text.Parser{
	Name:     "containers",
	Explains: map[fact.Kind]int{fact.ContainerKill: 6, fact.Evicted: 6, fact.YARNKill: 6},
}.Reading(containerWordings, nil, nil)

var containerWordings = []text.Wording{
	text.On("OOMKilled", readOOMKilled),
	text.On("OOMKilling", text.Fails(fact.Failure{Kind: fact.ContainerKill, Framework: "kubernetes", Backend: "cpu"})),
	text.On("container oom ", text.Fails(fact.Failure{Kind: fact.ContainerKill, Framework: "linux-oom-killer", Backend: "cpu"})),
	text.On("low on resource: memory", readEvicted),
	text.On("The node had condition: [MemoryPressure]", readEvicted),
	text.On("it exceeded the request memory", text.Fails(fact.Failure{Kind: fact.ContainerKill, Framework: "kubernetes", Backend: "cpu"})), // OpenPAI
	text.On("Container killed due to memory usage", text.Fails(fact.Failure{Kind: fact.ContainerKill, Framework: "other", Backend: "cpu"})),
	text.On("for exceeding memory limits", readYARN),
	text.On("running beyond physical memory limits", readYARN),
	text.On("running beyond virtual memory limits", readYARN),
}

// Kubernetes' sizes are "512Mi" (binary) and "512M" (decimal).
var (
	limitsPattern  = text.NewPattern(`limits"?:.{0,200}?memory"?:"?(?<limit>\d{1,16}(?:\.\d{1,4})?(?:[kmgt]i?)?)`)
	evictedPattern = text.NewPattern(`thresholdquantity:\d{1,14}(?:[kmg]i?)?,available:(?<available>\d{1,14}[kmg]i?)`)
)

// readYARN reads "Container killed by YARN for exceeding memory limits. 7.2 GB
// of 4.2 GB virtual memory used".
var readYARN = text.FailsWith(fact.Failure{Kind: fact.YARNKill, Framework: "other", Backend: "cpu"}, 0, 260,
	text.NewPattern(`(?<process_used>SIZE)of(?<limit>SIZE)(?:virtual|physical)memoryused`))

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
	x.Figures.Limit = m.Log.Decimal(m.Around(limitsPattern, 2000, 1600), "limit")
	return m.Fail(x, m.End)
}

// readEvicted reads a node short of memory; the same sentence with
// ephemeral-storage is the disk.
func readEvicted(m text.Message) int {
	k := m.Find(evictedPattern, 120)
	x := fact.Failure{Kind: fact.Evicted, Framework: "kubernetes", Backend: "cpu"}
	x.Figures.Free = m.Log.Decimal(k, "available")
	return m.Fail(x, m.Took(k))
}
