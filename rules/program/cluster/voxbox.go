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
			Means:    "Vox Box was given `cuda:{device}`, but from 0.0.19 on it passes only `cuda` to Whisper, which means GPU 0. Only if the model's path contains faster-whisper does it choose the right GPU; then it prints `Set CUDA_VISIBLE_DEVICES`, which is missing here. In an older release GPU {device} was full.",
			Not:      "Shorter audio: it failed while loading the model.",
			Cures: []cause.Cure{
				{Fix: "select_gpu", Title: "Set IS_FASTER_WHISPER=true", Told: "In GPUStack: Edit Model, Advanced, Environment Variables. Or give the model's folder a name with faster-whisper in it. The log must then show `Set CUDA_VISIBLE_DEVICES = {device}`.", Cost: "free"},
				{Fix: "kill_stale_process", Title: "See which GPU is full", Told: "Check GPU 0 and GPU {device}: Whisper large needs 4 to 5 GB at 16 bit.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
				{Fix: "use_smaller_model", Title: "If GPU {device} is full, use another GPU or a smaller model", Told: "large-v3-turbo and medium have half the weights of large.", Cost: "slightly more errors"},
			},
			Sources: voxSources,
		},
		{
			ID: "vox-box/load", Kinds: refusals, If: voxLoads,
			Cause: cause.LeakedProcess, Weight: cause.Strong, Figures: cardGiven,
			Headline: "had too little GPU memory for its speech model[[ on GPU {device}]]",
			Means:    "It failed while loading the model. Speech models are small (Whisper large needs 4 to 5 GB at 16 bit), so most likely other models use that GPU. The log does not show what they use.",
			Not:      "Shorter audio: no request was running.",
			Cures: []cause.Cure{
				{Fix: "kill_stale_process", Title: "See what uses the GPU", Kind: "shell", Text: "nvidia-smi", Told: "A language model server usually takes 80 to 90 % of its GPU: lower its share, or stop it.", Cost: "free"},
				{Fix: "select_gpu", Title: "Put it on a GPU with room", Told: "In GPUStack: Edit Model, Scheduling, Manual. Without it put `CUDA_VISIBLE_DEVICES=1` before `vox-box start` (`--device cuda:1` alone is not enough from 0.0.19 on).", Cost: "free"},
				{Fix: "use_smaller_model", Title: "Or serve a smaller model", Told: "Whisper turbo or medium instead of large, Bark-small instead of Bark.", Cost: "lower quality"},
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
