package checkouts

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// way is what turning a kind of knob is: a fix, and its title.
type way struct{ fix, title string }

var ways = map[string]way{
	"batch":      {"lower_batch_size", "Lower the batch size"},
	"samples":    {"lower_batch_size", "Make fewer results at a time"},
	"rays":       {"lower_batch_size", "Take fewer rays a step"},
	"chunk":      {"lower_batch_size", "Work in smaller chunks"},
	"size":       {"lower_resolution", "Use smaller images or crops"},
	"frames":     {"lower_resolution", "Take fewer frames at a time"},
	"points":     {"lower_resolution", "Use fewer points"},
	"range":      {"lower_resolution", "Use a smaller range of depths or disparities"},
	"length":     {"lower_context", "Use shorter samples"},
	"tile":       {"vae_tiling", "Work in tiles"},
	"half":       {"mixed_precision", "Compute in 16 bit"},
	"bits":       {"load_in_4bit", "Load it in 4 or 8 bit"},
	"checkpoint": {"gradient_checkpointing", "Turn gradient checkpointing on"},
	"accumulate": {"gradient_accumulation", "Accumulate gradients"},
	"offload":    {"cpu_offload", "Keep part of it in RAM"},
	"cpu":        {"cpu_offload", "Run it on the CPU"},
	"small":      {"use_smaller_model", "Use a smaller variant"},
	"lora":       {"use_lora", "Train adapters only"},
	"workers":    {"lower_num_workers", "Use fewer data loader processes"},
	"cache":      {"stream_dataset", "Do not keep the data set in memory"},
	"gpu":        {"select_gpu", "Or use another GPU"},
	"gpus":       {"multi_gpu", "Use several GPUs"},
}

// Program is what a repository knows of a case, as a program without cards of its
// own: how it spells fixes, and for which of them it has a setting, the strongest
// first. What the reader has typed comes before what they have not.
func (x *Checkout) Program(c *ledger.Case) (own *program.Program, fixes []string) {
	ran, knobs := x.ran(c), slices.Clone(x.knobs)
	slices.SortStableFunc(knobs, func(a, b knob) int { return cmp.Compare(typedFirst(c, a), typedFirst(c, b)) })
	told, titles, before := map[string][]string{}, map[string]string{}, map[string]string{}
	for _, k := range knobs {
		w := k.way(c)
		if !k.concerns(c) || !k.applies(c, ran) || len(told[w.fix]) == 2 {
			continue
		}
		if slices.ContainsFunc(told[w.fix], func(said string) bool { return strings.Contains(said, "`"+k.name()) }) { // of another script
			continue
		}
		text, file := k.sentence(c, ran, before[w.fix])
		if text == "" {
			continue
		}
		if told[w.fix] == nil {
			titles[w.fix] = w.title
		}
		told[w.fix], before[w.fix] = append(told[w.fix], text), file
	}
	for _, k := range x.knobs { // in the order of the list
		if w := k.way(c); told[w.fix] != nil && !slices.Contains(fixes, w.fix) {
			fixes = append(fixes, w.fix)
		}
	}
	steps := map[string]func(*ledger.Case) []step.Step{}
	for id, sentences := range told {
		steps[id] = step.Paste("text", strings.Join(sentences, " "))
	}
	return &program.Program{Work: x.Work, Edits: "code", Language: "python", Steps: steps, Titles: titles}, fixes
}

// typedFirst orders knobs by whether the reader has set them.
func typedFirst(c *ledger.Case, k knob) int {
	if k.held(c) != "" {
		return 0
	}
	return 1
}

// way is what turning the knob is in this case: 16 bit is another fix in training
// than in use.
func (k *knob) way(c *ledger.Case) way {
	w := ways[k.kind]
	if k.kind == "half" && !c.Training() && !every(k.files, trains) {
		w.fix = "half_precision"
	}
	return w
}

// concerns: the knob is about the memory that ran out. Loaders and data sets fill
// RAM, unless they keep the data on the card.
func (k *knob) concerns(c *ledger.Case) bool {
	inRAM := k.kind == "workers" || k.kind == "cache" && !strings.Contains(k.advice, "cpu")
	return inRAM != ledger.OnCard(c)
}

// Stated is what the authors say of the memory of one card; "" where they say
// nothing of this work, or the reader's has twice as much.
func (x *Checkout) Stated(c *ledger.Case) string {
	for _, n := range x.needs {
		have := c.Total.Bytes
		if have == 0 || int64(n.gb)*2*units.GiB < have || n.train != c.Training() && (c.Training() || c.Phase == "inference") {
			continue
		}
		work, note := map[bool]string{true: "training", false: "using it"}[n.train], ""
		if n.note != "" {
			note = " (" + n.note + ")"
		}
		if n.cards {
			return " The authors of " + x.Name() + " used GPUs with " + strconv.Itoa(n.gb) + " GB for " + work + note + "; yours has " + c.Total.Round() + "."
		}
		return " " + x.Name() + "'s own pages name " + strconv.Itoa(n.gb) + " GB for " + work + note + "; yours has " + c.Total.Round() + "."
	}
	return ""
}
