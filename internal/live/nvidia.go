package live

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
)

const mib = 1 << 20

// nvidia asks nvidia-smi. Its queries are the same since drivers of 2013; the
// MIG instances of newer ones stand in its table only.
func (m *Machine) nvidia(ctx context.Context) (cards []diagnose.LiveCard, holders []diagnose.LiveProcess, note string) {
	if !there("nvidia-smi") {
		return nil, nil, ""
	}
	out, ok := ask(ctx, "nvidia-smi", "--query-gpu=index,uuid,name,memory.total,memory.used", "--format=csv,noheader,nounits")
	cards, uuids := nvidiaCards(out)
	if !ok && len(cards) == 0 {
		return nil, nil, "nvidia-smi is there and does not answer: " + firstLine(out)
	}
	if table, ok := ask(ctx, "nvidia-smi"); ok {
		cards = append(cards, nvidiaParts(table)...)
	}
	apps, _ := ask(ctx, "nvidia-smi", "--query-compute-apps=gpu_uuid,pid,process_name,used_memory", "--format=csv,noheader,nounits")
	holders = nvidiaHolders(apps, uuids)
	if len(holders) == 0 && len(cards) > 0 && cards[0].Used > 1<<30 {
		note = "nvidia-smi names no process that holds the card: inside a container it sees none of the others"
	}
	return cards, holders, note
}

// nvidiaCards reads "0, GPU-5b1..., NVIDIA GeForce RTX 3090, 24576, 1234". What
// a card does not tell is "[N/A]" or "[Not Supported]".
func nvidiaCards(out string) (cards []diagnose.LiveCard, byUUID map[string]int) {
	byUUID = map[string]int{}
	for line := range strings.Lines(out) {
		f := fields(line)
		if len(f) != 5 {
			continue
		}
		index, err := strconv.Atoi(f[0])
		if err != nil || index < 0 {
			continue
		}
		total, _ := number(f[3])
		used, _ := number(f[4])
		byUUID[f[1]] = index
		cards = append(cards, diagnose.LiveCard{Index: index, Name: text(f[2]), Backend: "cuda", Total: sized(total, mib), Used: sized(used, mib), Source: "nvidia-smi"})
	}
	return cards, byUUID
}

// nvidiaHolders reads "GPU-5b1..., 4242, python, 18432". On Windows the amount
// is "[N/A]"; a name can be "[Not Found]" or hold commas.
func nvidiaHolders(out string, cards map[string]int) []diagnose.LiveProcess {
	var holders []diagnose.LiveProcess
	for line := range strings.Lines(out) {
		f := fields(line)
		if len(f) < 4 {
			continue
		}
		pid, err := strconv.Atoi(f[1])
		if err != nil || pid <= 0 {
			continue
		}
		p := diagnose.LiveProcess{PID: pid, Card: -1, Command: text(strings.Join(f[2:len(f)-1], ", "))}
		if card, ok := cards[f[0]]; ok {
			p.Card = card
		}
		held, _ := number(f[len(f)-1])
		p.Bytes = sized(held, mib)
		holders = append(holders, p)
	}
	return holders
}

// migRow is a row of the table of MIG devices: card, GPU instance, compute
// instance, number, and the memory: "|  0    1   0   0  |    37MiB / 20096MiB |".
var migRow = regexp.MustCompile(`^\|\s+(\d{1,3})\s+(\d{1,3})\s+(\d{1,3})\s+(\d{1,3})\s+\|\s*(\d{1,9})MiB\s*/\s*(\d{1,9})MiB\s*\|`)

// nvidiaParts reads the MIG instances out of nvidia-smi's table.
func nvidiaParts(table string) []diagnose.LiveCard {
	var parts []diagnose.LiveCard
	for line := range strings.Lines(table) {
		m := migRow.FindStringSubmatch(line)
		if m == nil || len(parts) >= maxNamed {
			continue
		}
		index, _ := strconv.Atoi(m[1])
		used, _ := number(m[5])
		total, _ := number(m[6])
		parts = append(parts, diagnose.LiveCard{
			Index: index, Backend: "cuda", Part: "MIG " + m[4] + " (GPU instance " + m[2] + ")", Total: total * mib, Used: used * mib, Source: "nvidia-smi",
		})
	}
	return parts
}

// fields are the cells of a line of csv as these tools write it: without quotes.
func fields(line string) []string {
	f := strings.Split(strings.TrimRight(line, "\r\n"), ",")
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	return f
}

// sized is an amount in a unit; one that no machine has is none.
func sized(n, unit int64) int64 {
	const most = 1 << 50
	if n < 0 || n > most/unit {
		return 0
	}
	return n * unit
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	line = text(line)
	return strings.ToValidUTF8(line[:min(len(line), 120)], "")
}
