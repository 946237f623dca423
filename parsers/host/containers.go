package host

import (
	"strconv"
	"strings"
	"time"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Containers reads Docker, Kubernetes and YARN.
var Containers = text.Parser{
	Name:     "containers",
	Explains: map[fact.Kind]int{fact.ContainerKill: 6, fact.Evicted: 6, fact.YARNKill: 6},
}.Reading(containerWordings, nil, nil)

var containerWordings = []text.Wording{
	text.On("OOMKilled", readOOMKilled), text.On("OOMKilling", text.Fails(fact.Failure{Kind: fact.ContainerKill, Framework: "kubernetes", Backend: "cpu"})), text.On("container init was OOM-killed", func(m text.Message) int { // runc's, at the start
		return text.Fails(fact.Failure{Kind: fact.ContainerKill, Framework: map[bool]string{true: "kubernetes", false: "linux-oom-killer"}[m.Mentions("containerdtask", "kubelet", "pod")], Backend: "cpu"})(m)
	}),
	text.On("container oom ", text.Fails(fact.Failure{Kind: fact.ContainerKill, Framework: "linux-oom-killer", Backend: "cpu"})), text.On("low on resource: memory", readEvicted), text.On("The node had condition: [MemoryPressure]", readEvicted), text.On("NodeHasInsufficientMemory", readEvicted), text.On("KubeletHasInsufficientMemory", readEvicted),
	text.On("it exceeded the request memory", text.Fails(fact.Failure{Kind: fact.ContainerKill, Framework: "kubernetes", Backend: "cpu"})), // OpenPAI
	text.On("Container killed due to memory usage", text.Fails(fact.Failure{Kind: fact.ContainerKill, Framework: "other", Backend: "cpu"})), text.On("kubectl ", readKubectl), text.On("Namespace:", readNamespace), text.On("Finished:", readFinished),
	text.On("for exceeding memory limits", readYARN), text.On("for exceeding physical memory limits", readYARN), // the latter: Spark's YarnAllocator since 3.0
	text.On("running beyond physical memory limits", text.Unless(readYARN, text.Before(`"is`, 3))), text.On("running beyond virtual memory limits", text.Unless(readYARN, text.Before(`"is`, 3))),
}

// Kubernetes' sizes are "512Mi" (binary) and "512M" (decimal).
var (
	limitsPattern   = text.NewPattern(`limits"?:.{0,200}?memory"?:"?(?<limit>\d{1,16}(?:\.\d{1,4})?(?:[kmgt]i?)?)`)
	restartsPattern = text.NewPattern(`restartcount:(?<restarts>\d{1,6})`)
	evictedPattern  = text.NewPattern(`thresholdquantity:\d{1,14}(?:[kmg]i?)?,available:(?<available>\d{1,14}[kmg]i?)`)
	// "which exceeds its request of 0", later "request is 0, has larger consumption of memory".
	evictedUsing = text.NewPattern(`wasusing(?<used>\d{1,14}[kmg]i?),(?:whichexceedsitsrequestof|requestis)(?<request>\d{1,14}(?:[kmg]i?)?)`)
)

// exitedPattern: kubectl describe has the code behind the reason, JSON before it.
var exitedPattern = text.NewPattern(`exitcode"?:(?<code>\d{1,3})(?!\d)`)

// readYARN reads "for exceeding memory limits. 7.2 GB of 4.2 GB virtual memory used".
var readYARN = text.FailsWith(fact.Failure{Kind: fact.YARNKill, Framework: "other", Backend: "cpu"}, 0, 260,
	text.NewPattern(`(?<process_used>SIZE)of(?<limit>SIZE)(?:virtual|physical)memoryused`))

// readOOMKilled reads Kubernetes' reason and Docker's state, the one word that
// both use: "Reason: OOMKilled", "OOMKilled":true.
func readOOMKilled(m text.Message) int {
	s := m.Log.Squeezed()
	before, word, _, ok := m.Log.Around(m.At, m.End)
	inAWord := ok && before != "" && text.Letter(before[len(before)-1]|0x20) && strings.Contains(word, " ") // "Dr. Doom killed"
	if inAWord || m.Precedes("havebeen", 8) {                                                               // Slurm's "OOM Killed."
		return m.End
	}
	after := strings.TrimLeft(s[m.End:min(m.End+10, len(s))], `"':=`)
	template := m.Precedes(".state.", 7) // docker inspect --format '{{.State.OOMKilled}}', with its answer below
	if strings.HasPrefix(after, "false") || template && m.Follows("false", 160) && !m.Follows("true", 160) {
		return m.End
	}
	x := fact.Failure{Kind: fact.ContainerKill, Framework: "kubernetes", Backend: "cpu"}
	if template || strings.HasPrefix(after, "true") {
		x.Framework = "linux-oom-killer" // docker inspect
	}
	x.Figures.Limit = m.Log.Decimal(m.Around(limitsPattern, 2000, 1600), "limit")
	m.Count("restarts", m.Find(restartsPattern, 300).Count("restarts"))
	if code := m.Around(exitedPattern, 60, 40); code.Ok() {
		m.Say("exit_code", code.Text("code"))
	}
	describedContainer(m)
	return m.Fail(x, m.End)
}

// describedContainer notes the container's name: kubectl describe's line before its ID.
func describedContainer(m text.Message) {
	for at := m.Log.LineIndex(m.At); at > 0 && at > m.Log.LineIndex(m.At)-40; at-- {
		if strings.HasPrefix(strings.TrimSpace(m.Log.Lines[at].Text), "Container ID:") {
			if name := strings.TrimSuffix(strings.TrimSpace(m.Log.Lines[at-1].Text), ":"); kubernetesName(name) {
				m.Say("container", name)
			}
			return
		}
	}
}

// readEvicted reads a node short of memory; with ephemeral-storage it is the disk.
func readEvicted(m text.Message) int {
	k := m.Find(evictedPattern, 120)
	x := fact.Failure{Kind: fact.Evicted, Framework: "kubernetes", Backend: "cpu"}
	x.Figures.Free = m.Log.Decimal(k, "available")
	if u := m.Find(evictedUsing, 300); u.Ok() {
		x.Figures.ProcessUsed = m.Log.Decimal(u, "used")
		m.Say("memory_request", u.Text("request"))
	}
	return m.Fail(x, m.Took(k))
}

// readKubectl notes whose pods a command is about: "kubectl describe pod -n rl x".
func readKubectl(m text.Message) int {
	fields := strings.Fields(m.Log.LineText(m.At))
	for i, word := range fields {
		if (word == "pod" || word == "pods") && i+1 < len(fields) && kubernetesName(fields[i+1]) {
			m.Say("pod", fields[i+1])
		}
		name, joined := strings.CutPrefix(word, "--namespace=")
		if (word == "-n" || word == "--namespace") && i+1 < len(fields) {
			name, joined = fields[i+1], true
		}
		if joined && kubernetesName(name) {
			m.Say("namespace", name)
		}
	}
	return m.End
}

// readNamespace reads the line of kubectl describe.
func readNamespace(m text.Message) int {
	name, ok := strings.CutPrefix(strings.TrimSpace(m.Log.LineText(m.At)), "Namespace:")
	if name = strings.TrimSpace(name); ok && kubernetesName(name) {
		m.Say("namespace", name)
	}
	return m.End
}

// readFinished reckons how long a container ran from the two lines of kubectl
// describe: "Started:  Fri, 15 Sep 2023 09:56:14 +0200".
func readFinished(m text.Message) int {
	at := m.Log.LineIndex(m.At)
	if at < 1 {
		return m.End
	}
	started, ok := describedTime(m.Log.Lines[at-1].Text, "Started:")
	finished, ok2 := describedTime(m.Log.Lines[at].Text, "Finished:")
	if seconds := int(finished.Sub(started).Seconds()); ok && ok2 && seconds >= 0 {
		m.Count("ran_seconds", &fact.Count{Value: float64(seconds), Text: strconv.Itoa(seconds), Line: m.Log.Line(m.At)})
	}
	return m.End
}

func describedTime(line, name string) (time.Time, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), name)
	t, err := time.Parse(time.RFC1123Z, strings.TrimSpace(rest))
	return t, ok && err == nil
}

// kubernetesName: lower case letters, digits and dashes, so that it can stand in a command.
func kubernetesName(s string) bool {
	return s != "" && len(s) <= 63 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && s[0] != '-'
}
