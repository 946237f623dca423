package ledger

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Ledger are the numbers of one incident, each computed once, by [Derive].
type Ledger struct {
	// Total is all of the memory that ran out, Limit the most that this program
	// may have of it where that is less, Free what nobody held.
	Total, Limit, Free Entry
	// Asked is what was wanted, Room what there was for it, and Shortfall what
	// was lacking: below zero where there was more than enough.
	Asked, Room, Shortfall Entry
	// Mine is what this process holds, Slack what of it its allocator holds and
	// does not use.
	Mine, Slack Entry
	// Others is what is neither free nor this process's, contexts and the driver
	// included; OthersAtMost is how much of it other programs can hold.
	Others, OthersAtMost Entry
	// Weights, Cache and Work are what fills the memory, as far as the log or
	// the model's shape tells.
	Weights, Cache, Work Entry
	// RAM is what was left of the computer's own memory.
	RAM Entry
	// Memory draws them all up against the total, nil where too little is known.
	Memory *Memory
	// OurPID is the process of the list that is this very process under its
	// host number (containers), 0 if none is.
	OurPID int
}

// names are those of the numbers in reports.
var names = [...]string{"total", "limit", "free", "asked", "room", "short", "mine", "slack", "others", "others_at_most", "weights", "cache", "work", "ram"}

func (l *Ledger) numbers() [len(names)]*Entry {
	return [...]*Entry{&l.Total, &l.Limit, &l.Free, &l.Asked, &l.Room, &l.Shortfall, &l.Mine, &l.Slack, &l.Others, &l.OthersAtMost, &l.Weights, &l.Cache, &l.Work, &l.RAM}
}

// Entries returns the numbers that are known, by their names in reports.
func (l *Ledger) Entries() map[string]Entry {
	out := make(map[string]Entry, len(names))
	for i, e := range l.numbers() {
		if e.Has() {
			out[names[i]] = *e
		}
	}
	return out
}

// Entry returns the number of a name, one that is not known where it is none.
func (l *Ledger) Entry(name string) Entry {
	if i := slices.Index(names[:], name); i >= 0 {
		return *l.numbers()[i]
	}
	return Entry{}
}

// Derive computes the numbers of a case from its figures. Books draws up what
// filled the memory; nil: nothing does.
func Derive(c *Case, books func(*Case) *Books) {
	f := c.F()
	c.Ledger = Ledger{Total: stated("total", f.Total), Free: stated("free", f.Free), RAM: stated("system_available", f.SystemAvailable)}
	if c.Total.Has() && c.Free.Bytes > c.Total.Bytes+Roundings && c.Root(fact.TorchAlloc) {
		c.Free = Entry{} // of another pool: RAM that graphics share
	}
	if f.Limit != nil && (f.Total == nil || f.Limit.Bytes < f.Total.Bytes) {
		c.Limit = stated("limit", f.Limit)
	}
	switch {
	case f.ReservedUnallocated != nil:
		c.Slack = stated("reserved_unallocated", f.ReservedUnallocated)
	case f.Reserved != nil && f.Allocated != nil && f.Reserved.Bytes >= f.Allocated.Bytes:
		c.Slack = stated("reserved", f.Reserved).minus(stated("allocated", f.Allocated))
	}
	deriveMine(c)
	deriveOthers(c)
	deriveAsked(c)
	c.fill(books)
	switch {
	case c.Asked.Has() && c.Room.Has():
		c.Shortfall = c.Asked.minus(c.Room)
	case f.Requested == nil && f.KVAvailable != nil && f.KVAvailable.Bytes <= 0: // nothing is left for a cache, and less than that
		c.Shortfall = Entry{}.minus(c.Room)
	}
}

// deriveAsked books what was wanted and what there was for it, by the kind of
// failure: an allocation, a cache, a share of the card, system memory, a
// compiler's plan.
func deriveAsked(c *Case) {
	f := c.F()
	switch {
	case f.Requested != nil:
		c.Asked, c.Room = stated("requested", f.Requested), c.roomOfRequest()
	case f.KVAvailable != nil:
		c.Asked, c.Room = stated("kv_needed", f.KVNeeded), stated("kv_available", f.KVAvailable)
		if t, n := f.KVTokens, f.MaxModelLen; f.KVNeeded == nil && c.Root(fact.VLLMTokens) && t != nil && n != nil && t.Value > 0 && n.Value/t.Value < 1<<16 {
			c.Asked = Entry{Bytes: int64(float64(f.KVAvailable.Bytes) * n.Value / t.Value), From: []string{"max_model_len", "kv_tokens"}, Within: c.Room.Within}
		}
	case f.Desired != nil && f.Utilization != nil:
		c.Asked, c.Room = stated("desired", f.Desired), c.Free
	case f.Desired != nil:
		c.Asked, c.Room = stated("desired", f.Desired), c.Ceiling()
	case f.SystemRequired != nil:
		c.Asked, c.Room = stated("system_required", f.SystemRequired), c.RAM
	}
}

// roomOfRequest is what an allocation found: what was free, else what a limit
// or the card leaves beside what is allocated, else the card.
func (c *Case) roomOfRequest() Entry {
	f := c.F()
	allocated := stated("allocated", f.Allocated)
	switch {
	case f.Free != nil:
		return c.Free
	case f.Limit != nil && f.Allocated != nil:
		room := stated("limit", f.Limit).minus(allocated)
		if f.OtherAllocations != nil {
			room = room.minus(stated("other_allocations", f.OtherAllocations))
		}
		if kv := f.KVBuffer; kv != nil && kv.Line > f.Allocated.Line && kv.Line > 0 { // taken since
			if room = room.minus(stated("kv_buffer", kv)); room.Bytes < 0 {
				return Entry{}
			}
		}
		return room
	case f.Total != nil && f.Allocated != nil:
		return c.Total.minus(allocated)
	case f.Total != nil && f.Requested.Bytes > f.Total.Bytes:
		return c.Total
	}
	return Entry{}
}

// Ceiling is all that there is to have: the card, or a limit below it.
func (c *Case) Ceiling() Entry {
	if c.Limit.Has() {
		return c.Limit
	}
	return c.Total
}

// fill draws up what filled the memory: nothing where the log does not say more
// than who held it, and where its figures contradict each other.
func (c *Case) fill(books func(*Case) *Books) {
	if c.Memory = nil; books == nil || c.Backend == "cpu" || InHost(c) {
		return
	}
	if c.Memory = books(c).close(); c.Memory == nil {
		return
	}
	for _, p := range c.Memory.Parts {
		e := Entry{Bytes: p.Bytes, From: []string{"memory"}}
		switch p.ID {
		case PartWeights:
			c.Weights = e
		case PartCache:
			c.Cache = e
		case PartCompute:
			c.Work = e
		case PartFree:
			if !c.Room.Has() && c.F().Requested != nil {
				c.Room = e
			}
		}
	}
}
