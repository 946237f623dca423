package story

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
)

// summary says what happened in figures: what was asked for, who holds the rest,
// what was lacking.
func (t teller) summary() string {
	switch f := t.F(); {
	case t.killed():
		return t.killedSummary()
	case t.refused():
	case f.KVAvailable != nil:
		return t.cacheSummary()
	case f.Desired != nil && f.Utilization != nil:
		return t.against(fmt.Sprintf("It was set to take %s%s (a fraction of %s)", f.Desired, strings.TrimSuffix(" of "+Device(t.Case), " of "), f.Utilization.Text), f.Free, "is not free", "was free")
	case f.Desired != nil:
		return t.planSummary()
	case f.SystemRequired != nil:
		return t.against(fmt.Sprintf("The model needs %s of system memory (RAM)", f.SystemRequired), f.SystemAvailable, "is not there", "is available")
	}
	if !t.Asked.Has() || t.Asked.Bytes == 0 || t.Root(fact.CUDAError) && t.F().Requested == nil {
		return t.heldSummary()
	}
	return strings.TrimSpace(strings.TrimSpace(t.refusedSentence()+" "+t.holders()) + " " + t.asides())
}

// asides are what else in the log tells or misleads: which sizes worked before,
// a figure that is none, and an exception of a program that caught this failure
// and went on.
func (t teller) asides() string {
	out := calls.PictureOf(t.Case, t.cause.Card)
	if l, ok := ledger.LadderOf(t.Case); ok {
		out = append(out, fmt.Sprintf("%s worked before (%s), %s did not.", ledger.Thousands(l.Worked), plain(l.Of), ledger.Thousands(l.Tried)))
	}
	if t.Contains("17179869184.00 gib") {
		out = append(out, "17179869184.00 GiB (2 to the 64 bytes) in the message is no real figure: the amount was not set or not reported.")
	}
	if s := t.Signal("aftermath"); s != nil && s.Line > t.Failure.EndLine && s.Line-t.Failure.EndLine <= 40 { // lines
		out = append(out, "The error on line "+strconv.Itoa(s.Line)+" is a consequence: the program caught this failure and went on without a result.")
	}
	return strings.Join(out, " ")
}

// refusedSentence: so much was asked for, and so much there was.
func (t teller) refusedSentence() string {
	if t.Root(fact.GGMLPool, fact.GGMLPlan) && t.Free.Has() {
		return fmt.Sprintf("It needed %s bytes of a pool of %s that it had planned for itself.", ledger.Thousands(t.Asked.Bytes), ledger.Thousands(t.Free.Bytes))
	}
	if t.Root(fact.SharedSegment) {
		return "It needed " + t.Asked.String() + " in /dev/shm and did not get it."
	}
	asked := "It needed " + t.Asked.String()
	if all := t.Ceiling(); all.Has() && t.Asked.Bytes > all.Bytes {
		if t.Root(fact.MLXBuffer, fact.BufferLimit, fact.WGPUBuffer) {
			return fmt.Sprintf("%s in one block%s; no single block may be larger than %s, however much is free.", asked, t.on(), all)
		}
		return fmt.Sprintf("%s in one block%s; there is only %s in all, so it would not fit even if everything else were free.", asked, t.on(), all)
	}
	asked += " more" + t.on() + t.where()
	switch {
	case t.Reader.Work == "data" && t.F().Limit != nil: // its own limit: it asked nobody
		return "It needed " + t.Asked.String() + " more" + t.where() + "."
	case t.Free.Has() && t.Free.Bytes >= t.Asked.Bytes && t.Free.String() == t.Asked.String():
		return asked + ", and no more than that was free."
	case t.Free.Has() && t.Free.Bytes >= t.Asked.Bytes:
		return fmt.Sprintf("%s and did not get it, although %s was free.", asked, t.Free)
	case t.Free.Has() && t.Free.Bytes == 0:
		return asked + ", but nothing was free."
	case t.Free.Has():
		return t.short(fmt.Sprintf("%s, but only %s was free", asked, t.Free))
	case t.Room.Has() && t.Mine.Has() && t.Mine.Bytes == 0 && t.Ceiling().Has():
		return fmt.Sprintf("%s and did not get it, although it held nothing of the %s.", asked, t.Ceiling())
	case t.Room.Has() && t.Room.Bytes >= 0 && t.Ceiling().Has():
		return t.short(fmt.Sprintf("%s, but beside what it held only %s of the %s was left", asked, t.Room, t.Ceiling()))
	}
	return asked + " and did not get it."
}

// on is the memory that was asked, " on GPU 0"; "" where the log does not say.
func (t teller) on() string {
	if device := Device(t.Case); device != devices["cpu"] {
		return strings.TrimSuffix(" on "+device, " on ")
	}
	return " of system memory (RAM)"
}

// where is the innermost place in the reader's own code that was at work, with a
// blank before it; "" where that is not known.
func (t teller) where() string {
	at := ledger.OwnFrame(t.Case)
	if at == nil || leadsOn(t.Case, at) || t.Reader.Edits == "flags" || t.Reader.Edits == "settings" || strings.HasPrefix(at.Source, "raise ") || len(at.Function) > longestPlace || len(at.File) > 4*longestPlace {
		return ""
	}
	file := plain(at.File[strings.LastIndexByte(at.File, '/')+1:])
	if at.At > 0 {
		file += " line " + strconv.Itoa(at.At)
	}
	if strings.HasPrefix(file, "ipython-input") || file == "cell.py" {
		return " in a cell of the notebook"
	}
	place := " in " + file
	if function := plain(at.Function); function != "" && at.Function != "<module>" {
		place = " in `" + function + "` (" + file + ")"
	}
	if line := at.Source; line != "" && len(line) <= longestLine && strings.IndexFunc(line, unprintable) < 0 {
		place += ", at `" + line + "`"
	}
	return place
}

// leadsOn reports a frame that only starts what other code then does: a line of
// the main script far above the one that failed.
func leadsOn(c *ledger.Case, at *fact.Code) bool {
	inner := 0
	for _, f := range ledger.Trace(c) {
		if f.Line > at.Line {
			inner++
		}
	}
	return inner > farBelow
}

// unprintable: what would end the code that a line is shown as, or is not plain.
func unprintable(r rune) bool { return r == '`' || r < ' ' || r > '~' }

const longestLine, longestPlace, farBelow = 72, 60, 8 // farBelow: so many frames of libraries may lie between a line of the reader's own and the failure for the line to say something

// plain drops what would end or begin markup.
func plain(s string) string { return markup.Replace(s) }

var markup = strings.NewReplacer("`", "", "<", "", ">", "")

// short ends a sentence with what was lacking, where that is known.
func (t teller) short(told string) string {
	if !t.Shortfall.Has() || t.Shortfall.Bytes <= 0 || ledger.Overfull(t.Case) {
		return told + "."
	}
	return fmt.Sprintf("%s: %s short.", told, t.Shortfall)
}

// shares are how parts of a memory are told in a sentence.
var shares = map[string]string{
	ledger.PartWeights: "weights", ledger.PartCache: "KV cache", ledger.PartCompute: "working memory", ledger.PartTensors: "tensors in use",
	ledger.PartUnused: "reserved but unused", ledger.PartDriver: "driver and libraries", ledger.PartLibraries: "driver and other libraries of the process",
	ledger.PartBuffers: "other buffers", ledger.PartOthers: "outside this process", ledger.PartKept: "left free on purpose", ledger.PartUnknown: "driver, others or free",
}

// holders says who holds the memory, the largest share with its percentage.
func (t teller) holders() string {
	m := t.Memory
	if m == nil || len(m.Parts) < 2 || t.Ceiling().Has() && t.Asked.Bytes > t.Ceiling().Bytes {
		return ""
	}
	var told []string
	most := ledger.MemoryPart{}
	for _, p := range withoutContext(m.Parts) {
		if p.ID != ledger.PartUnknown && p.Bytes > most.Bytes {
			most = p
		}
	}
	for _, p := range withoutContext(m.Parts) {
		name := shares[p.ID]
		switch {
		case p.ID != ledger.PartUnknown:
		case m.Of == ledger.OfLimit:
			name = "not in use"
		case t.Root(fact.TorchAsync): // it does not count what it keeps
			name = "driver, what its allocator keeps unused, and other programs"
		case t.Free.Has():
			name = "driver and other programs"
		}
		if name == "" || p.Bytes*200 < m.TotalBytes {
			continue
		}
		part := t.known(p.Bytes)
		if p.Basis == "estimate" {
			part = "about " + part
		}
		if p.ID == most.ID {
			part += " (" + ledger.Percent(ledger.Entry{Bytes: p.Bytes}, ledger.Entry{Bytes: m.TotalBytes}) + ")"
		}
		told = append(told, part+" "+name)
	}
	if len(told) == 0 {
		return ""
	}
	return fmt.Sprintf("Of the %s: %s.", t.all(m), strings.Join(told, ", "))
}

// withoutContext are the parts with a process's libraries and its driver as one:
// no log says where one ends.
func withoutContext(parts []ledger.MemoryPart) []ledger.MemoryPart {
	out := slices.Clone(parts)
	libraries := slices.IndexFunc(out, func(p ledger.MemoryPart) bool { return p.ID == ledger.PartLibraries })
	driver := slices.IndexFunc(out, func(p ledger.MemoryPart) bool { return p.ID == ledger.PartDriver })
	if libraries < 0 || driver < 0 {
		return out
	}
	out[libraries].Bytes += out[driver].Bytes
	return slices.Delete(out, driver, driver+1)
}

// all is the memory of which holders tell the shares.
func (t teller) all(m *ledger.Memory) string {
	of := map[string]string{ledger.OfFree: " that was free before loading", ledger.OfLimit: " that it may have"}[m.Of]
	return t.known(m.TotalBytes) + of
}

// known writes bytes as the page writes that number elsewhere.
func (t teller) known(bytes int64) string {
	for _, e := range [...]ledger.Entry{t.Total, t.Limit, t.Free, t.Asked, t.Room, t.Shortfall, t.Mine, t.Slack, t.Others} {
		if e.Has() && e.Bytes == bytes {
			return e.String()
		}
	}
	text := ledger.Entry{Bytes: bytes, From: []string{}}.String()
	t.F().Sizes(func(_ string, s *fact.Size) {
		if s.Bytes == bytes {
			text = s.String()
		}
	})
	return text
}

func (t teller) killedSummary() string {
	f := t.F()
	switch {
	case t.Root(fact.RayKilled) && f.Allocated != nil && f.Total != nil:
		return fmt.Sprintf("%s of the node's %s of system memory (RAM) were in use.", f.Allocated, f.Total)
	case f.KilledRSS != nil && f.Limit != nil:
		return fmt.Sprintf("It held %s of system memory (RAM) when it was killed; its limit was %s.", f.KilledRSS, f.Limit)
	case f.KilledRSS != nil:
		return fmt.Sprintf("It held %s of system memory (RAM) when it was killed.", f.KilledRSS)
	case f.Limit != nil:
		return fmt.Sprintf("It went over its limit of %s of system memory (RAM).", f.Limit)
	}
	if t.told != nil {
		return ""
	}
	return "The log does not say how much memory it held."
}

func (t teller) cacheSummary() string {
	subject := t.shown + " needs memory for the KV cache"
	f := t.F()
	if t.Asked.Has() {
		subject = fmt.Sprintf("The KV cache needs %s", t.Asked)
		if f.MaxModelLen != nil {
			subject = fmt.Sprintf("One request of %s tokens needs %s of KV cache", thousands(f.MaxModelLen), t.Asked)
		}
	}
	if f.KVAvailable.Bytes <= 0 {
		return subject + ", but after the weights and the working memory nothing is left for it."
	}
	left := fmt.Sprintf("but after the weights and the working memory only %s is left", f.KVAvailable)
	if _, byHand := t.Setting("kv_cache_memory_bytes"); byHand {
		left = fmt.Sprintf("but it was fixed at %s", f.KVAvailable)
	}
	told := t.short(subject + ", " + left)
	if f.EstMaxModelLen != nil && t.told == nil { // else its first fix says it
		told += fmt.Sprintf(" %s tokens would fit.", thousands(f.EstMaxModelLen))
	}
	return told
}

// against ends a sentence of what was wanted with what there was, and how much
// was missing.
func (t teller) against(told string, have *fact.Size, unsaid, said string) string {
	if have == nil {
		return told + ", but that much " + unsaid + "."
	}
	return t.short(fmt.Sprintf("%s, but only %s %s", told, have, said))
}

// planSummary is for compilers that know before they start (XLA).
func (t teller) planSummary() string {
	told := fmt.Sprintf("Its compiled program needs %s%s", t.Asked, t.on())
	if all := t.Ceiling(); all.Has() && t.Asked.Bytes > all.Bytes {
		return t.short(fmt.Sprintf("%s, but there is only %s", told, all))
	}
	return told + ", but that much is not available."
}

// heldSummary is for messages that do not say how much was wanted.
func (t teller) heldSummary() string {
	f := t.F()
	switch {
	case f.Requested != nil && f.Requested.Bytes > 0, t.Root(fact.VLLMProfileMoved, fact.SGLangTokens), t.told != nil && f.Limit != nil:
		return "" // the card says the figures
	case f.KVTokens != nil && f.MaxModelLen != nil:
		return fmt.Sprintf("One request may have %s tokens, but the KV cache has room for only %s.", thousands(f.MaxModelLen), thousands(f.KVTokens))
	case f.Free != nil && f.Total != nil:
		return fmt.Sprintf("Only %s of %s was free.", f.Free, f.Total)
	case f.Total != nil:
		return fmt.Sprintf("There is %s in all.", f.Total)
	case t.Root(fact.KernelKill, fact.OOMD, fact.ShellKilled):
		if x, ok := t.Fact("unit_memory_peak"); ok && x.Size != nil {
			return "Its service had " + units.Amount(x.Size.Bytes) + " of system memory (RAM) at its peak."
		}
		return t.killedSummary()
	case t.told != nil:
		return "" // the card says what is known
	case t.Root(fact.CUDAError):
		return "The driver's message has no figures."
	case f.Empty():
		return "The error does not say how much was needed or how much was free."
	}
	return "The message does not say how much was needed."
}
