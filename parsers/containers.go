package parsers

import "strings"

// What container engines and schedulers say about memory.
const (
	// ContainerKill is a container that hit its own limit: Docker, Kubernetes,
	// OpenPAI, ECS.
	ContainerKill Kind = "container_kill"
	// Evicted is a pod that a node short of memory threw out: the node's
	// shortage, not the pod's limit.
	Evicted Kind = "evicted"
	// YARNKill is a YARN container above its limit.
	YARNKill Kind = "yarn_kill"
)

var containers = Parser{
	Name: "containers", Keywords: literals(containerWordings),
	Explains: map[Kind]int{ContainerKill: 6, Evicted: 6, YARNKill: 6},
	Parse:    func(l *Log, hits []Hit, f *Facts) { parseWordings(containerWordings, l, hits, f) },
}

var containerWordings = []wording{
	{"OOMKilled", readOOMKilled},
	{"OOMKilling", fails(Failure{Kind: ContainerKill, Framework: "kubernetes", Backend: "cpu"})},
	{"container oom ", fails(Failure{Kind: ContainerKill, Framework: "linux-oom-killer", Backend: "cpu"})},
	{"low on resource: memory", readEvicted},
	{"The node had condition: [MemoryPressure]", readEvicted},
	{"it exceeded the request memory", readOpenPAI},
	{"Container killed due to memory usage", fails(Failure{Kind: ContainerKill, Framework: "other", Backend: "cpu"})},
	{"for exceeding memory limits", readYARN}, {"running beyond physical memory limits", readYARN}, {"running beyond virtual memory limits", readYARN},
}

var (
	limitsPattern  = pattern(`limits"?:.{0,200}?memory"?:"?(?<limit>\d{1,16}(?:\.\d{1,4})?)(?<unit>[kmgt]i?)?`)
	evictedPattern = pattern(`(?:thresholdquantity:(?<threshold>\d{1,14}(?:[kmg]i?)?),available:(?<available>\d{1,14})(?<unit>[kmg]i?))`)
	yarnPattern    = pattern(`(?<used>SIZE)of(?<limit>SIZE)(?:virtual|physical)memoryused`)
)

// readOOMKilled reads Kubernetes' reason and Docker's state, the one word that
// both use: "Reason: OOMKilled", "OOMKilled":true.
func readOOMKilled(m message) int {
	s := m.l.Squeezed()
	if m.precedes("havebeen", 8) {
		return m.end // Slurm's "OOM Killed."
	}
	after := strings.TrimLeft(s[m.end:min(m.end+10, len(s))], `"':=`)
	if strings.HasPrefix(after, "false") {
		return m.end
	}
	x := Failure{Kind: ContainerKill, Framework: "kubernetes", Backend: "cpu"}
	if strings.HasPrefix(after, "true") {
		x.Framework = "linux-oom-killer" // docker inspect
	}
	k := m.l.Find(limitsPattern, max(m.at-2000, 0), m.at+1600)
	if k.Ok() {
		x.Figures.Limit = kubernetesSize(k, "limit", "unit")
	}
	return m.fail(x, m.end)
}

// kubernetesSize reads "512Mi" (binary) and "512M" (decimal).
func kubernetesSize(k Match, value, unit string) *Size {
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
func readEvicted(m message) int {
	x := Failure{Kind: Evicted, Framework: "kubernetes", Backend: "cpu"}
	k := m.find(evictedPattern, 120)
	if k.Ok() {
		x.Figures.Free = kubernetesSize(k, "available", "unit")
	}
	return m.fail(x, m.took(k))
}

func readOpenPAI(m message) int {
	return m.fail(Failure{Kind: ContainerKill, Framework: "kubernetes", Backend: "cpu"}, m.end)
}

// readYARN reads "Container killed by YARN for exceeding memory limits. 7.2 GB
// of 4.2 GB virtual memory used".
func readYARN(m message) int {
	k := m.find(yarnPattern, 260)
	x := Failure{Kind: YARNKill, Framework: "other", Backend: "cpu"}
	x.Figures.ProcessUsed, x.Figures.Limit = k.Size("used"), k.Size("limit")
	if k.Ok() && m.follows("virtual", 260) {
		m.f.Facts = append(m.f.Facts, Fact{Name: "yarn_virtual", Text: m.l.LineText(m.at), Line: m.l.Line(m.at)})
	}
	return m.fail(x, m.took(k))
}
