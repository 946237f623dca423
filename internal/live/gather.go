package live

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/oomdoc/oomdoc/diagnose"
)

// maxNamed is how many of the processes that a log names are looked up.
const maxNamed = 32

// Gather asks the machine what holds its memory now, and adds it to what is
// known of it beside a report: to the report's Live, which it makes if need be.
func (m *Machine) Gather(ctx context.Context, r *diagnose.Report) {
	if r.Live == nil {
		r.Live = &diagnose.Live{}
	}
	l := r.Live
	l.Taken = time.Now().UTC().Truncate(time.Second)
	pids := named(r)
	var all sync.WaitGroup
	all.Go(func() { l.Cards, l.Holders, l.Notes = m.cards(ctx) })
	all.Go(func() { l.RAM = m.ram(ctx) })
	all.Wait()
	if g, ok := m.own(); ok {
		l.Limits = m.limits(g)
	}
	for i := range l.Holders {
		m.describe(ctx, &l.Holders[i])
		l.Holders[i].Gone = false // the driver knows it: it is in another container
	}
	for _, pid := range pids {
		p := diagnose.LiveProcess{PID: pid, Card: -1}
		m.describe(ctx, &p)
		l.Named = append(l.Named, p)
	}
}

// named are the numbers of the processes that a report's log states.
func named(r *diagnose.Report) []int {
	var pids []int
	for _, in := range r.Incidents {
		for _, p := range in.Figures.OtherProcesses {
			if p.PID > 0 && !slices.Contains(pids, p.PID) && len(pids) < maxNamed {
				pids = append(pids, p.PID)
			}
		}
	}
	return pids
}

// cards are those of every maker whose tool or driver is there.
func (m *Machine) cards(ctx context.Context) (cards []diagnose.LiveCard, holders []diagnose.LiveProcess, notes []string) {
	for _, maker := range []func(context.Context) ([]diagnose.LiveCard, []diagnose.LiveProcess, string){m.nvidia, m.amd, m.intel} {
		c, h, note := maker(ctx)
		cards, holders = append(cards, c...), append(holders, h...)
		if note != "" {
			notes = append(notes, note)
		}
	}
	slices.SortStableFunc(holders, func(a, b diagnose.LiveProcess) int { return int(min(max(b.Bytes-a.Bytes, -1), 1)) })
	return cards, holders[:min(len(holders), maxNamed)], notes
}

// on reports the system that is asked; files of a test are a Linux machine.
func (m *Machine) on(system string) bool {
	if m.Root != "" {
		return system == "linux"
	}
	return runtime.GOOS == system
}
