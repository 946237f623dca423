package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/rules"
)

// details are for those who want to check, and for bug reports.
func (p *page) details(in *diagnose.Incident) {
	items := []inline{where(in)}
	if in.Model != nil && in.Model.Name != "" {
		items = append(items, model(in.Model))
	}
	if more := counts(in); more != "" {
		items = append(items, prose(more))
	}
	if n := len(in.Consequences); n > 0 {
		items = append(items, prose(fmt.Sprintf("Line %s only reports it again.", numbers(in.Consequences))))
	}
	for _, n := range p.report.Recovered {
		items = append(items, prose(fmt.Sprintf("Line %d: %s", n.Line, n.Title)))
	}
	for _, l := range p.report.Lookalikes {
		items = append(items, join(prose(fmt.Sprintf("Line %d is something else: ", l.Line)), prose(l.Title+". "), prose(l.Advice)))
	}
	for _, n := range p.report.Notes {
		items = append(items, prose(ended(capital(n))))
	}
	p.heading(p.level+1, prose("Details"))
	p.items(items)
}

func where(in *diagnose.Incident) inline {
	names := make([]string, 0, len(in.Stack))
	for _, s := range in.Stack {
		names = append(names, rules.Shown(s))
	}
	if len(names) == 0 {
		names = []string{rules.Shown(in.Framework)}
	}
	told := strings.Join(names, " on ")
	if in.Backend != "" && in.Backend != "cpu" {
		told += ", " + backendName(in.Backend)
	}
	told += when(in) + fmt.Sprintf("; line %d", in.Line)
	if in.EndLine > in.Line {
		told = strings.TrimSuffix(told, strconv.Itoa(in.Line)) + fmt.Sprintf("%d-%d", in.Line, in.EndLine)
	}
	if in.Count > 1 {
		told += fmt.Sprintf(", %d times", in.Count)
	}
	if len(in.Ranks) > 0 {
		told += ", " + strings.Join(in.Ranks, ", ")
	}
	return prose(capital(told) + ".")
}

func model(m *diagnose.Model) inline {
	told := join(prose("Model: "), literal(m.Name))
	if m.Parameters > 0 {
		told = join(told, prose(fmt.Sprintf(", %.1f billion parameters", float64(m.Parameters)/1e9)))
	}
	if m.Format != "" {
		told = join(told, prose(", "+m.Format))
	}
	if m.Line > 0 {
		told = join(told, prose(fmt.Sprintf(" (line %d)", m.Line)))
	}
	return join(told, prose("."))
}

// figureNames are the figures that picture and sentence do not show.
var figureNames = map[string]string{
	"allocated": "allocated", "reserved": "reserved", "weights": "weights", "kv_buffer": "KV buffer", "compute_buffer": "compute buffer",
	"activation_peak": "peak of activations", "non_torch": "outside PyTorch", "utilization": "share of the card", "max_model_len": "max_model_len",
	"est_max_model_len": "longest that fits", "kv_tokens": "tokens in the cache", "context": "context", "gpu_layers": "layers on the GPU", "total_layers": "layers in all",
}

func counts(in *diagnose.Incident) string {
	var told []string
	in.Figures.Sizes(func(key string, s *diagnose.Size) {
		if name := figureNames[key]; name != "" {
			told = append(told, name+" "+s.String())
		}
	})
	in.Figures.Counts(func(key string, c *diagnose.Count) {
		if name := figureNames[key]; name != "" {
			told = append(told, name+" "+thousands(c.Value))
		}
	})
	if len(told) == 0 {
		return ""
	}
	return "Also stated: " + strings.Join(told, ", ") + "."
}

func numbers(list []diagnose.Consequence) string {
	var out []string
	for _, c := range list {
		out = append(out, strconv.Itoa(c.Line))
	}
	return strings.Join(out, ", ")
}
