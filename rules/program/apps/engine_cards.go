package apps

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
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
// in GB, and when it failed.
func whisperSizes(c *ledger.Case) map[string]string {
	out := map[string]string{"name": "", "w8": "", "stage": ""}
	if c.Near("in __init__", "in init") {
		out["stage"] = "It failed in the model's constructor, before it opened the file."
	}
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

// inInt8 loads the log's own model at 8 bit.
func inInt8(c *ledger.Case) []step.Step {
	name := whisperSizes(c)["name"]
	if name == "" {
		name = "large-v3"
	}
	return []step.Step{{Kind: "python", Text: "model = WhisperModel(" + quote.Python(name) + ", device=\"cuda\", compute_type=\"int8_float16\")   # int8 on cards before RTX 20"}}
}

// alone: the log shows no program.
func alone(c *ledger.Case) bool { return len(c.Stack) == 1 && c.Reader.Program == "" }

// EngineCards are about engines that many programs use, where the log shows
// nothing but the engine's message.
var EngineCards = []cause.Card{
	{
		ID: "other/mkl", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"mkl_malloc: failed to allocate memory"}, If: alone,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was refused system memory by Intel's math library",
		Means:    "The line is Intel MKL's: RAM, not the card's memory. It names no program; many use MKL (NumPy of Anaconda, PyTorch on the CPU). Most public reports of it are of Whisper programs built on CTranslate2 (faster-whisper, WhisperX, noScribe), while they load a model. On Windows RAM and page file together are the bound, so some RAM can look free; on Linux it can be the limit of a container or job.",
		Not:      "A card with more memory: it was not the card that refused.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Close what holds memory, or restart the computer", Ways: []cause.Way{
				{For: "Windows", Text: "Task Manager, Performance, Memory: `Committed` near its limit is the reason. Close browsers and idle Python processes."},
				{For: "Linux", Text: "`free -h; ulimit -v; cat /sys/fs/cgroup/memory.max` shows which limit it was."},
			}, Cost: "free"},
			{Fix: "load_in_8bit", Title: "Hold less", Ways: []cause.Way{
				{For: "A Whisper program", Text: "`compute_type=\"int8\"` in `WhisperModel(...)`, `--compute_type int8` on a command line: half of float16. Or `medium` in place of `large`"},
				{For: "NumPy, SciPy, PyTorch", Text: "print the shapes before the call that failed (n x n in float64 is 8 n² bytes); float32, fewer processes"},
			}, Cost: "hardly any accuracy"},
			managePage,
		},
		Later:   "If it grows from file to file instead: restart the program between files.",
		Sources: []string{"https://github.com/SYSTRAN/faster-whisper/issues/797", "https://github.com/Purfview/whisper-standalone-win/issues/511", "https://github.com/isair/jarvis/issues/485"}, Solved: 2,
	},
	{
		ID: "other/ctranslate2", Kinds: []fact.Kind{fact.PlainDevice}, Said: []string{"CUDA failed with error out of memory"}, If: alone,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of the card's memory in CTranslate2",
		Means:    "That wording is CTranslate2's, the engine of faster-whisper, WhisperX, Subtitle Edit and others; it has no figures. Whisper large has 6.2 GB of weights at float32, 3.1 at float16 and 1.6 at int8, and wants 1 to 2 GB more to work. Cards without fast float16 (GTX 10 series) get float32 unless told otherwise. Or something else is on the card: `nvidia-smi` tells.",
		Not:      "Shorter audio: it is read 30 seconds at a time.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Compute at 8 bit", Ways: []cause.Way{
				{For: "Command line", Text: "`--compute_type int8` (RTX cards: `int8_float16`)."},
				{For: "Python", Text: "`compute_type=\"int8_float16\"` in `WhisperModel(...)`."},
			}, Cost: "hardly any accuracy"},
			{Fix: "close_other_apps", Title: "Free the card", Told: "Games, browsers, an earlier run of the same program.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "use_smaller_model", Title: "Or a smaller model, fewer pieces at a time", Told: "`medium` is half of `large`, `turbo` too; WhisperX and the batched pipeline: `batch_size` 4; one beam (`beam_size` 1).", Cost: "more errors"},
		},
		Sources: []string{"https://github.com/SYSTRAN/faster-whisper/blob/master/README.md", "https://github.com/Purfview/whisper-standalone-win/issues/50"}, Solved: 1,
	},
}
