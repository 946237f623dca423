package listen

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/step"
)

// whispers are the parameters of Whisper's models, in millions; longer names
// stand first.
var whispers = []struct {
	name     string
	millions float64
}{
	{"distil-large", 756}, {"large-v3-turbo", 809}, {"turbo", 809}, {"large", 1550}, {"medium", 769}, {"small", 244}, {"base", 74}, {"tiny", 39},
}

// whisperSizes are what the weights of the log's model take at each precision,
// in GB.
func whisperSizes(c *ledger.Case) map[string]string {
	out := map[string]string{"name": "", "w8": ""}
	name := ""
	if c.Model != nil {
		name = c.Model.Name
	}
	for _, w := range whispers {
		if !strings.Contains(strings.ToLower(name), w.name) || len(name) > 60 {
			continue
		}
		out["name"] = name
		for key, bytes := range map[string]float64{"w32": 4, "w16": 2, "w8": 1} {
			out[key] = fmt.Sprintf("%.2g", w.millions*bytes/1000)
		}
		return out
	}
	return out
}

// whisperFits is the largest model that OpenAI's figures give this card, below
// the one of the log.
func whisperFits(c *ledger.Case) map[string]string {
	fits, own := "", whisperSizes(c)["name"]
	for _, w := range []struct {
		name string
		gib  float64
	}{{"turbo", 6.5}, {"medium", 5.5}, {"small", 2.2}, {"base", 1.2}} {
		if strings.Contains(own, w.name) {
			fits = ""
		} else if fits == "" && c.Total.Has() && float64(c.Total.Bytes) > w.gib*float64(units.GiB) {
			fits = w.name
		}
	}
	if fits != "" {
		note := ""
		if fits == "turbo" {
			note = "It does not translate; `medium` does."
		}
		return map[string]string{"fits": fits, "note": note, "unknown": ""}
	}
	return map[string]string{"fits": "", "note": "", "unknown": "`--model turbo` on a card of 8 GB (it does not translate), `medium` on 6, `small` on 4, `base` on 2; in code `whisper.load_model(\"small\")`."}
}

// inInt8 loads the log's own model at 8 bit.
func inInt8(c *ledger.Case) []step.Step {
	name := "name"
	if own := whisperSizes(c)["name"]; own != "" {
		name = quote.Python(own)
	}
	return []step.Step{{Kind: "python", Text: "model = WhisperModel(" + name + ", device=\"cuda\", compute_type=\"int8_float16\")   # your model's name; int8 on cards before RTX 20"}}
}

// alone: the log shows no program.
func alone(c *ledger.Case) bool { return len(c.Stack) == 1 && c.Reader.Program == "" }

// EngineCards are about engines that many programs use, where the log shows
// nothing but the engine's message.
var EngineCards = []cause.Card{
	{
		ID: "other/mkl", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"mkl_malloc: failed to allocate memory"}, If: alone,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM) in Intel's math library",
		Means:    "This message of Intel MKL is about RAM, not GPU memory. NumPy from Anaconda, PyTorch on the CPU and CTranslate2 (faster-whisper, WhisperX) use MKL. On Windows the limit is RAM plus page file, so it can fail with RAM still free.",
		Not:      "A graphics card with more memory: RAM ran out.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Close other programs, or restart the computer", Ways: []cause.Way{
				{For: "Windows", Text: "Task Manager, Performance, Memory: see if `Committed` is near its limit. Close browsers and idle Python processes"},
				{For: "Linux", Text: "`free -h; ulimit -v; cat /sys/fs/cgroup/memory.max` shows how much RAM is left, and limits"},
			}, Cost: "Free."},
			{Fix: "load_in_8bit", Title: "Load the model in 8 bit, or use smaller arrays", Ways: []cause.Way{
				{For: "A Whisper program", Text: "`compute_type=\"int8\"` in `WhisperModel(...)`, or `--compute_type int8` on the command line. Or `medium` instead of `large`"},
				{For: "NumPy, SciPy, PyTorch", Text: "use `float32` instead of `float64`, and fewer processes. Print the shapes before the call that failed: n x n in float64 takes 8 n² bytes"},
			}, Cost: "Hardly any loss of accuracy."},
			kit.ManagePage, kit.AddSwap,
		},
		Later:   "If memory grows from file to file, restart the program between files.",
		Sources: []string{"https://github.com/SYSTRAN/faster-whisper/issues/797", "https://github.com/Purfview/whisper-standalone-win/issues/511", "https://github.com/isair/jarvis/issues/485"}, Solved: 2,
	},
	{
		ID: "other/ctranslate2", Kinds: []fact.Kind{fact.PlainDevice}, Said: []string{"CUDA failed with error out of memory"}, If: alone,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in CTranslate2 (the engine of faster-whisper)",
		Means:    "Either the model is too large for the card, or something else fills the card; the message does not say. Whisper large has 6.2 GB of weights at float32, 3.1 at float16, 1.6 at int8, and needs 1 to 2 GB more to work. Cards without fast float16 (GTX 10 series) use float32 by default.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Compute at 8 bit", Ways: []cause.Way{
				{For: "Command line", Text: "add `--compute_type int8` (on RTX cards `int8_float16`)"},
				{For: "Python", Text: "`compute_type=\"int8_float16\"` in `WhisperModel(...)`"},
			}, Cost: "Hardly any loss of accuracy."},
			{Fix: "close_other_apps", Title: "Free the card", Told: "Close games, browsers and earlier runs of the same program. This shows what is there:", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
			{Fix: "use_smaller_model", Title: "Use a smaller model, or a smaller batch", Told: "Whisper `medium` and `turbo` are half the size of `large`. In WhisperX and the batched pipeline set `batch_size` to 4.", Cost: "More errors."},
		},
		Sources: []string{"https://github.com/SYSTRAN/faster-whisper/blob/master/README.md", "https://github.com/Purfview/whisper-standalone-win/issues/50"}, Solved: 1,
	},
}
