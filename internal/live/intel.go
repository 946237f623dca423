package live

import (
	"context"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
)

// intel asks xpu-smi: what a card has, and what of it is used (metric 18).
func (m *Machine) intel(ctx context.Context) ([]diagnose.LiveCard, []diagnose.LiveProcess, string) {
	if m.Root != "" || !there("xpu-smi") {
		return nil, nil, ""
	}
	found, ok := ask(ctx, "xpu-smi", "discovery", "--dump", "1,2,16")
	if !ok {
		return nil, nil, "xpu-smi is there and does not answer"
	}
	used, _ := ask(ctx, "xpu-smi", "dump", "-d", "-1", "-m", "18", "-n", "1")
	return intelCards(found, used), nil, ""
}

// intelCards reads `0,"Intel(R) Data Center GPU Flex 170",14248.00 MiB` and
// `06:14:46.000,    0, 25.71`.
func intelCards(found, used string) []diagnose.LiveCard {
	held := map[string]int64{}
	for line := range strings.Lines(used) {
		if f := fields(line); len(f) == 3 {
			held[f[1]] = mebibytes(f[2])
		}
	}
	var cards []diagnose.LiveCard
	for line := range strings.Lines(found) {
		f := fields(line)
		if len(f) < 3 {
			continue
		}
		index, err := strconv.Atoi(f[0])
		total := mebibytes(f[len(f)-1])
		if err != nil || index < 0 || total == 0 {
			continue
		}
		name := strings.Trim(strings.Join(f[1:len(f)-1], ", "), `"`)
		cards = append(cards, diagnose.LiveCard{Index: index, Name: text(name), Backend: "xpu", Total: total, Used: held[f[0]], Source: "xpu-smi"})
	}
	return cards
}

// mebibytes reads "14248.00 MiB" and "25.71".
func mebibytes(s string) int64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(s, "MiB")), 64)
	if err != nil || !(n >= 0 && n < 1<<30) {
		return 0
	}
	return int64(n * mib)
}
