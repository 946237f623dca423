package host

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

var (
	glutenPattern   = text.NewPattern(`acquired:(?<asked>SIZE),granted:(?<free>SIZE)(?:.{0,300}?memory\.offheap\.size\.in\.bytes=(?<limit>SIZE))?(?:.{0,20}?memory\.task\.offheap\.size\.in\.bytes=(?<share>SIZE))?`)
	consumerPattern = text.NewPattern(`memoryconsumerstats:(?<task>task\.\d{1,9}):currentusedbytes:(?<held>SIZE)`)
	goHeapPattern   = text.NewPattern(`\(0x(?<address>[0-9a-f]{9,12}),0x`)
	nextflowPattern = text.NewPattern(`process>'(?<name>[a-z0-9_:]{1,200})`)
	lsfHeldPattern  = text.NewPattern(`maxmemory:(?<most>SIZE)`)
)

// readGluten reads ThrowOnOomMemoryTarget.java: what was acquired and granted,
// the settings, and the stats of the first task, which holds most.
func readGluten(m text.Message) int {
	x, k := nativeFailure, m.Find(glutenPattern, 900)
	x.Figures.Requested, x.Figures.Limit = k.Size("asked"), k.Size("limit")
	m.Fact("gluten_pool", k.Size("limit"))
	m.Fact("gluten_task", k.Size("share"))
	if held := m.Find(consumerPattern, 2000); held.Ok() {
		size := held.Size("held")
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "gluten_held", Text: held.Text("task"), Size: size, Line: held.Line()})
	}
	return m.Fail(x, m.Took(k))
}

// goArena is where the heap of a Go program of 64 bit begins (malloc.go).
const goArena = 0xc000000000

// readGoHeap notes how far the heap had spread: the address that the system
// was asked for, less that of its beginning.
func readGoHeap(m text.Message) int {
	k := m.Find(goHeapPattern, 60)
	if address, err := strconv.ParseInt(k.Lower("address"), 16, 64); err == nil && address > goArena {
		m.Fact("go_heap", &fact.Size{Bytes: address - goArena, Text: k.Text("address"), Line: k.Line()})
	}
	return m.End
}

// readNextflow notes the process that failed, without the workflows around it.
func readNextflow(m text.Message) int {
	if name := m.Find(nextflowPattern, 240).Text("name"); name != "" {
		m.Say("nextflow_process", name[strings.LastIndexByte(name, ':')+1:])
	}
	return m.End
}

// readLSFSummary notes the most that a job held, of the summary that LSF mails.
func readLSFSummary(m text.Message) int {
	if k := m.Find(lsfHeldPattern, 60); k.Ok() && m.Mentions("resourceusagesummary") {
		m.Fact("lsf_held", k.Size("most"))
	}
	return m.End
}
