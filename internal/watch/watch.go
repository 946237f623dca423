// Package watch samples the memory of a program while it runs, and says how it
// went: a climb, a jump, a spike at the end.
package watch

import (
	"bufio"
	"context"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oomdoc/oomdoc/diagnose"
)

// every is how often is looked.
const every = time.Second

// Watcher samples a program and all that it started.
type Watcher struct {
	began time.Time
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu    sync.Mutex
	ram   series
	cards []*series // by index; nil for one that was not seen
}

// Start begins to watch a process and its children.
func Start(pid int) *Watcher {
	ctx, stop := context.WithCancel(context.Background())
	w := &Watcher{began: time.Now(), stop: stop}
	w.done.Go(func() { w.sampleTree(ctx, pid) })
	w.done.Go(func() { w.sampleCards(ctx) })
	return w
}

// Stop ends watching and tells how memory went. peak is the most that one
// process held, as the system counted it, or 0.
func (w *Watcher) Stop(peak int64) *diagnose.Growth {
	w.stop()
	w.done.Wait()
	g := &diagnose.Growth{Seconds: time.Since(w.began).Round(100 * time.Millisecond).Seconds()}
	g.RAM = w.ram.told("RAM", peak)
	for i, s := range w.cards {
		if s != nil {
			g.Cards = append(g.Cards, s.told("GPU "+strconv.Itoa(i), 0))
		}
	}
	return g
}

func (w *Watcher) sampleTree(ctx context.Context, pid int) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if n := treeBytes(pid); n > 0 {
			w.mu.Lock()
			w.ram.add(n)
			w.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sampleCards reads what nvidia-smi prints every second; where there is none,
// no card is watched.
func (w *Watcher) sampleCards(ctx context.Context) {
	cmd := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=index,memory.used", "--format=csv,noheader,nounits", "-l", "1")
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return
	}
	for in := bufio.NewScanner(out); in.Scan(); {
		if card, used, ok := usedOf(in.Text()); ok {
			w.card(card, used)
		}
	}
	cmd.Wait()
}

// maxCards is more than one machine has.
const maxCards = 64

// usedOf reads a line such as "0, 18432": a card and its MiB.
func usedOf(line string) (card int, used int64, ok bool) {
	index, mib, found := strings.Cut(line, ",")
	card, err := strconv.Atoi(strings.TrimSpace(index))
	n, err2 := strconv.ParseInt(strings.TrimSpace(mib), 10, 32)
	if !found || err != nil || err2 != nil || card < 0 || card >= maxCards || n < 0 {
		return 0, 0, false
	}
	return card, n << 20, true
}

func (w *Watcher) card(card int, used int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.cards) <= card {
		w.cards = append(w.cards, nil)
	}
	if w.cards[card] == nil {
		w.cards[card] = &series{}
	}
	w.cards[card].add(used)
}
