package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
)

// Marks of what fills a card with a model on it.
const (
	markWeights  = '█'
	markCache    = '▓'
	markCompute  = '▒'
	markOverhead = '▚'
	markReserve  = '▞'
)

// Plan lays out what of a model fits a card.
func Plan(p fit.Plan, l Layout) Document {
	page := &page{level: 1}
	if len(p.Rows) == 0 {
		return nil
	}
	best := p.Rows[max(0, p.Recommended)]
	page.heading(1, prose(planHeadline(p, best)))
	page.say(prose(planSentence(p, best)))
	page.show(commandLanguage(p.Engine), p.Command)
	page.show("text", planPicture(best, barWidth(l.Width)))
	title, label := "Formats by context", contextLabel
	if p.Engine == "diffusers" || p.Engine == "faster-whisper" {
		title, label = "Formats", func(int) string { return "GiB" }
	}
	page.heading(2, prose(title))
	page.show("text", planTable(p.Rows, label))
	page.say(prose(planKey(p)))
	if len(p.Steps) > 0 {
		page.heading(2, prose("One step from there"))
		page.show("text", planSteps(p.Steps))
	}
	var notes []inline
	for _, n := range p.Notes {
		notes = append(notes, prose(n))
	}
	page.items(notes)
	return page.blocks
}

func commandLanguage(engine string) string {
	if engine == "transformers" || engine == "diffusers" || engine == "faster-whisper" {
		return "python"
	}
	return "sh"
}

// planHeadline is the one line that answers.
func planHeadline(p fit.Plan, r fit.Row) string {
	what := p.Model.ID + " in " + r.Format
	if p.Model.Basis == "name" {
		what = fmt.Sprintf("An unknown model of %.3g B parameters in %s", float64(p.Model.Parameters)/1e9, r.Format)
	}
	switch r.Verdict {
	case "fits":
		return fmt.Sprintf("%s fits %s with %s to spare", what, cardName(p.Card), units.Amount(*r.SpareBytes))
	case "tight":
		return fmt.Sprintf("%s only just fits %s: %s to spare", what, cardName(p.Card), units.Amount(*r.SpareBytes))
	case "offload":
		if expertsInRAM(r) {
			return fmt.Sprintf("%s fits %s with the experts of %d layers in RAM, which takes %s there", what, cardName(p.Card), r.CPUExpertLayers, units.Amount(r.RAMBytes))
		}
		return fmt.Sprintf("%s fits %s with %d of its %d layers, and %s in RAM", what, cardName(p.Card), r.GPULayers, r.TotalLayers, units.Amount(r.RAMBytes))
	case "no":
		if *r.SpareBytes >= 0 {
			return fmt.Sprintf("%s does not fit: %s would need %s of RAM beside %s", p.Model.ID, r.Format, units.Amount(r.RAMBytes), cardName(p.Card))
		}
		return fmt.Sprintf("%s does not fit %s: %s lacks %s", p.Model.ID, cardName(p.Card), r.Format, units.Amount(-*r.SpareBytes))
	}
	return fmt.Sprintf("%s needs %s of GPU memory", what, units.Amount(r.NeedBytes))
}

// expertsInRAM: all layers are on the card, some without their experts.
func expertsInRAM(r fit.Row) bool { return r.CPUExpertLayers > 0 && r.GPULayers == r.TotalLayers }

func cardName(c *fit.PlanCard) string {
	if c.Name == "" {
		return "in " + units.Amount(c.TotalBytes)
	}
	name := strings.Replace(c.Name, "NVIDIA ", "", 1)
	if c.Count > 1 {
		return name
	}
	return "the " + name
}

func onCard(c *fit.PlanCard) string {
	if c.Name == "" {
		return cardName(c)
	}
	return "on " + cardName(c)
}

func planSentence(p fit.Plan, r fit.Row) string {
	told := fmt.Sprintf("With %s tokens of context it needs %s", thousands(float64(r.Context)), units.Amount(r.NeedBytes))
	if p.Engine == "diffusers" || p.Engine == "faster-whisper" {
		told = "It needs " + units.Amount(r.NeedBytes)
	}
	switch {
	case r.HaveBytes == nil:
		return told + ", with everything on the card. Say which card with `--gpu \"RTX 3060\"` or `--vram 12GiB`."
	case expertsInRAM(r):
		return fmt.Sprintf("%s of the %s there. All layers are on the card but for the experts of %d of them, %s, which stay in RAM: a token meets few of those, so that it is slower, but less than with whole layers in RAM.", told, units.Amount(*r.HaveBytes), r.CPUExpertLayers, units.Amount(r.CPUWeightsBytes))
	case r.Verdict == "offload":
		return fmt.Sprintf("%s of the %s there; the rest of the weights, %s, stays in RAM, and that is slower.", told, units.Amount(*r.HaveBytes), units.Amount(r.CPUWeightsBytes))
	case r.Verdict == "no":
		return fmt.Sprintf("%s, and %s is what there is.", told, units.Amount(*r.HaveBytes))
	}
	return fmt.Sprintf("%s of the %s there.", told, units.Amount(*r.HaveBytes))
}

// planPicture draws what fills the card.
func planPicture(r fit.Row, width int) string {
	parts := []part{
		{mark: markWeights, label: "weights", bytes: r.WeightsBytes},
		{mark: markCache, label: "KV cache, " + r.KVType, bytes: r.KVBytes},
		{mark: markCompute, label: "compute", bytes: r.ComputeBytes},
		{mark: markOverhead, label: "driver", bytes: r.OverheadBytes},
	}
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.bytes <= 0 })
	total := r.NeedBytes
	if r.HaveBytes != nil {
		total = max(total, *r.HaveBytes)
	}
	switch {
	case r.SpareBytes != nil && *r.SpareBytes >= 0:
		reserve := min(r.ReserveBytes, *r.SpareBytes)
		if reserve > 0 {
			parts = append(parts, part{mark: markReserve, label: reserveLabel(r), bytes: reserve})
		}
		if free := *r.SpareBytes - reserve; free > 0 {
			parts = append(parts, part{mark: markFree, label: "free", bytes: free})
		}
	case r.SpareBytes != nil:
		return legend(parts) + fmt.Sprintf("  %s needed, %s there\n", units.Amount(r.NeedBytes), units.Amount(*r.HaveBytes))
	}
	if total <= 0 {
		return ""
	}
	return bar(parts, total, width) + "\n" + legend(parts)
}

// reserveLabel: what is left may be less than should be.
func reserveLabel(r fit.Row) string {
	if *r.SpareBytes < r.ReserveBytes {
		return fmt.Sprintf("all that stays free; %s should", units.Amount(r.ReserveBytes))
	}
	return "reserve"
}

// planSteps has a line for each step, what it costs and whether it fits.
func planSteps(steps []fit.Step) string {
	cells := [][]string{{"change", "GiB", ""}}
	for _, s := range steps {
		sign := "+"
		if s.Bytes < 0 {
			sign = ""
		}
		cells = append(cells, []string{s.What, sign + fmt.Sprintf("%.2f", float64(s.Bytes)/fit.GiB), s.Verdict})
	}
	return columnsOf(cells)
}

// planTable has a line for each format and a column for each context.
func planTable(rows []fit.Row, label func(context int) string) string {
	contexts, formats := tableAxes(rows)
	cells := [][]string{{"format"}}
	for _, c := range contexts {
		cells[0] = append(cells[0], label(c))
	}
	for _, f := range formats {
		line := []string{f}
		for _, c := range contexts {
			line = append(line, planCell(rows, f, c))
		}
		cells = append(cells, line)
	}
	return columnsOf(cells)
}

func contextLabel(context int) string { return thousands(float64(context)) }

// tableAxes are the contexts from short to long and the formats from large to
// small.
func tableAxes(rows []fit.Row) (contexts []int, formats []string) {
	size := map[string]int64{}
	for _, r := range rows {
		if !slices.Contains(contexts, r.Context) {
			contexts = append(contexts, r.Context)
		}
		if _, ok := size[r.Format]; !ok {
			formats = append(formats, r.Format)
		}
		size[r.Format] = max(size[r.Format], r.WeightsBytes+r.CPUWeightsBytes)
	}
	slices.Sort(contexts)
	slices.SortStableFunc(formats, func(a, b string) int { return cmp.Compare(size[b], size[a]) })
	return contexts, formats
}

func planCell(rows []fit.Row, format string, context int) string {
	for _, r := range rows {
		if r.Format != format || r.Context != context {
			continue
		}
		switch r.Verdict {
		case "fits", "tight":
			return r.Verdict + " +" + units.FormatGiB(*r.SpareBytes)
		case "offload":
			if expertsInRAM(r) {
				return fmt.Sprintf("cpu-moe %d", r.CPUExpertLayers)
			}
			return fmt.Sprintf("%d/%d layers", r.GPULayers, r.TotalLayers)
		case "no":
			return "no " + units.FormatGiB(*r.SpareBytes)
		}
		return units.FormatGiB(r.NeedBytes)
	}
	return ""
}

func planKey(p fit.Plan) string {
	if p.Card == nil {
		return "GiB needed, with everything on the card."
	}
	told := "GiB to spare (+) or missing (-)."
	if slices.ContainsFunc(p.Rows, expertsInRAM) {
		told += " `cpu-moe N`: all layers fit on the card if the experts of N of them stay in RAM, slower."
	}
	if slices.ContainsFunc(p.Rows, func(r fit.Row) bool { return r.Verdict == "offload" && !expertsInRAM(r) }) {
		told += " `N/M layers`: so many fit on the card, the others run in RAM, slower."
	}
	return told
}

// columnsOf aligns a table; the first column to the left, the others to the
// right.
func columnsOf(cells [][]string) string {
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, c := range line {
			widths[i] = max(widths[i], columns(c))
		}
	}
	var b strings.Builder
	for _, line := range cells {
		for i, c := range line {
			pad := strings.Repeat(" ", widths[i]-columns(c))
			switch i {
			case 0:
				b.WriteString(c + pad)
			default:
				b.WriteString("  " + pad + c)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Choices lays out which models run well on a card.
func Choices(list []fit.Choice, card *fit.PlanCard, context int) Document {
	page := &page{level: 1}
	if len(list) == 0 {
		page.heading(1, prose(fmt.Sprintf("No current model fits %s with 4 bits a weight", cardName(card))))
		page.say(prose("`oomdoc fit MODEL` says what of a model fits, in coarser formats or with layers in RAM."))
		return page.blocks
	}
	page.heading(1, prose(fmt.Sprintf("%d models run well %s", len(list), onCard(card))))
	page.say(prose(fmt.Sprintf("Everything of them fits on the card with %s tokens of context; the format is the largest that does, not below 4 bits. `oomdoc fit MODEL` tells more about one.", thousands(float64(context)))))
	cells := [][]string{{"model", "format", "active", "spare GiB", "longest context"}}
	for _, c := range list {
		cells = append(cells, []string{
			c.Model, c.Format, fmt.Sprintf("%.1f B", float64(c.ActiveParameters)/1e9), units.FormatGiB(*c.SpareBytes), thousands(float64(c.LongestContext)),
		})
	}
	page.show("text", columnsOf(cells))
	page.say(prose("`active` is how many parameters a token meets: the fewer, the faster."))
	return page.blocks
}
