package cluster

import (
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/when"
)

// VoxBox serves speech models, alone or under GPUStack.
var VoxBox = program.Program{
	Name: "vox-box", Shown: "Vox Box", Work: "audio", Edits: "admin", Language: "python",
	Starts:  func(*ledger.Case, *program.Program) bool { return true }, // under GPUStack, with faster-whisper inside
	Proofs:  []string{"vox_box.cmd", "vox_box.server", "vox_box.backends", "vox_box/"},
	Sources: program.Sources{voxBox + "utils/model.py": "IS_FASTER_WHISPER CUDA_VISIBLE_DEVICES"},
	Cards: []cause.Card{
		{
			ID: "vox-box/first-card", Kinds: refusals, Said: otherCards, Unsaid: []string{"Set CUDA_VISIBLE_DEVICES = ", "faster-whisper"}, Figures: cardGiven,
			If:    when.All(voxLoads, func(c *ledger.Case) bool { return c.Contains("cuda failed with error") }),
			Cause: cause.LeakedProcess, Weight: cause.Strong,
			Headline: "could not load its Whisper model: most likely GPU 0 was full, not GPU {device}",
			Means:    "It was given `cuda:{device}`, but from 0.0.19 on passes only `cuda` to Whisper, which is GPU 0. It hides the other cards first where the model's path contains faster-whisper, and prints `Set CUDA_VISIBLE_DEVICES` then; no such line is here. An older release uses the number, and GPU {device} was full.",
			Not:      "Shorter audio: it failed while the model was loaded.",
			Cures: []cause.Cure{
				{Fix: "select_gpu", Title: "Set IS_FASTER_WHISPER=true", Told: "In GPUStack: Edit Model, Advanced, Environment Variables. Or give the model's folder a name with faster-whisper in it. The log then has `Set CUDA_VISIBLE_DEVICES = {device}`.", Cost: "free"},
				{Fix: "kill_stale_process", Title: "See which card is full", Told: "GPU 0 and GPU {device}: at 16 bit Whisper large needs 4 to 5 GB with room to work.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
				{Fix: "use_smaller_model", Title: "If GPU {device} is full: choose another card, or a smaller model", Told: "large-v3-turbo and medium have half of large's weights.", Cost: "few more errors"},
			},
			Sources: voxSources,
		},
		{
			ID: "vox-box/load", Kinds: refusals, If: voxLoads,
			Cause: cause.LeakedProcess, Weight: cause.Strong, Figures: cardGiven,
			Headline: "found no room for its speech model[[ on GPU {device}]]",
			Means:    "It failed while the model was loaded, before any request. Speech models are small (Whisper large: 4 to 5 GB at 16 bit with room to work), so that most likely other models are on that card. The log does not show what they hold.",
			Not:      "Shorter audio: no request was being answered.",
			Cures: []cause.Cure{
				{Fix: "kill_stale_process", Title: "See what is on the card", Kind: "shell", Text: "nvidia-smi", Told: "A language model's server usually takes 80 to 90 % of its card; lower its share, or stop it.", Cost: "free"},
				{Fix: "select_gpu", Title: "Put it on a card with room", Told: "In GPUStack: Edit Model, Scheduling, Manual; alone: `vox-box start --device cuda:1` with your other options.", Cost: "free"},
				{Fix: "use_smaller_model", Title: "Or serve a smaller model", Told: "Whisper turbo or medium in place of large, Bark-small in place of Bark.", Cost: "some quality"},
			},
			Sources: voxSources,
		},
	},
}

const voxBox = "https://github.com/gpustack/vox-box/blob/main/vox_box/"

var voxSources = []string{voxBox + "utils/model.py", voxBox + "backends/stt/faster_whisper.py", "https://github.com/gpustack/gpustack/issues/3022", "https://github.com/gpustack/gpustack/issues/1943"}

// refusals are CTranslate2's message, which runs Whisper, and PyTorch's.
var refusals = []fact.Kind{fact.DeviceAlloc, fact.PlainDevice, fact.TorchAlloc, fact.CUDAError}

// voxLoads: the model is being loaded.
func voxLoads(c *ledger.Case) bool { return c.Contains("load model, ") || c.Phase == "load" }

// otherCards are how its first line names a card that is not the first.
var otherCards = func() []string {
	out := make([]string, 15)
	for i := range out {
		out[i] = "('device', 'cuda:" + strconv.Itoa(i+1) + "')"
	}
	return out
}()

// cardGiven is the card that it was given, where that is not the first.
func cardGiven(c *ledger.Case) map[string]string {
	out := map[string]string{"device": ""}
	for i, word := range otherCards {
		if c.Near(word) {
			out["device"] = strconv.Itoa(i + 1)
		}
	}
	return out
}
