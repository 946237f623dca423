package addon

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
)

// SDNextDirectML is about SD.Next on a card without a PyTorch of its own.
var SDNextDirectML = cause.Card{
	ID: "sdnext/directml", Said: []string{"GPU video memory available", "torch_directml", "privateuseone"}, If: func(c *ledger.Case) bool { return c.In("sdnext") && ledger.Requested(c) > 0 },
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory with DirectML",
	Means: "With DirectML the same image usually needs more memory than with ROCm or CUDA, and PyTorch does not know what is free. SD.Next itself calls DirectML end-of-life, replaced by ROCm and ZLUDA.",
	Not:   "`PYTORCH_CUDA_ALLOC_CONF`: it is for CUDA.",
	Cures: []cause.Cure{
		{Fix: "lowvram_mode", Title: "Start with `--lowvram`", Told: "Parts of the model then stay in RAM:", Kind: "config", Text: "webui.bat --use-directml --lowvram", Cost: "Slower."},
		{Fix: "lower_resolution", Title: "Use SD 1.5 at 512 x 512 first", Told: "Set batch size 1, no refine or hires pass. If that works, go up step by step. SDXL's weights alone take 5 GB or more.", Cost: "Less detail."},
		{Fix: "upgrade_version", Title: "Use ROCm or ZLUDA instead of DirectML", Cost: "A new installation.", Ways: []cause.Way{
			{For: "AMD", Text: "start once with `--use-rocm --reinstall`; cards without ROCm on Windows: `--use-zluda --reinstall`"},
			{For: "Intel Arc", Text: "`--use-ipex --reinstall`"}, {For: "On-board graphics", Text: "`--use-openvino --reinstall` (Intel), or the CPU"},
		}},
	},
	Sources: []string{"https://github.com/vladmandic/sdnext/blob/master/CHANGELOG.md", "https://github.com/vladmandic/sdnext/blob/master/modules/cmd_args.py"},
}

// WithoutDirectML is what other than ComfyUI's DirectML a card has.
var WithoutDirectML = cause.Cure{Fix: "upgrade_version", Title: "Use ROCm or ZLUDA instead of DirectML", Cost: "A new installation.", Ways: []cause.Way{
	{For: "AMD", Text: "ComfyUI's portable package for AMD (RX 7000 and later), for older cards ComfyUI-ZLUDA"},
	{For: "Intel Arc", Text: "PyTorch's XPU build, without `--directml`"},
}}

// DirectPlace says what a refusal in the VAE is about, where the log shows it.
func DirectPlace(c *ledger.Case) map[string]string {
	if Decodes(c) {
		return map[string]string{"place": "It failed in the VAE, which makes the final image: there the image size counts, not the model."}
	}
	return map[string]string{"place": "SDXL has about 7 GB of weights with its text encoders."}
}

// Decodes: the log shows the VAE: its file of latent diffusion, or group norm,
// which in newer models is the VAE's alone.
func Decodes(c *ledger.Case) bool {
	return c.Kind(fact.ComfyVAE) || c.Signal("vae") != nil || slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return x.Function == "group_norm" || strings.HasSuffix(x.File, "diffusionmodules/model.py")
	})
}

// OwnPython: a conda or virtual environment runs it, not a build with its own.
func OwnPython(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return slices.ContainsFunc([]string{"anaconda3/", "miniconda3/", "miniforge3/", "/envs/", "/venv/", "/.venv/"}, func(s string) bool { return strings.Contains(x.File, s) })
	})
}

// Underflow is a free figure just below 2^64 bytes.
func Underflow(c *ledger.Case) string {
	if c.Contains("1717986918") {
		return "The 17179869184 GiB \"free\" in the message are really a negative number. "
	}
	return ""
}

// InvokeFull is about a card that InvokeAI fills, where only its message is shown.
var InvokeFull = cause.Card{
	ID: "invokeai/full", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"unknown"}, Unsaid: []string{"sampler_args", "ldm/invoke/"}, If: func(c *ledger.Case) bool {
		return c.In("invokeai") && ledger.FillsAlone(c) && !ledger.Crowded(c) && (c.Slack.Bytes < units.GiB || c.Slack.Bytes <= c.Asked.Bytes || clues.LiveFills(c)) // else pictures.Slack
	},
	Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory[[ ({total})]]: its models fill the card",
	Means: "InvokeAI itself uses {mine}. Usually that is mostly the models: FLUX.1 at 16 bit has 24 GB of weights, its T5 encoder 9.5, SDXL 7 in all.",
	Not:   "Fewer steps: every step needs the same memory.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", Title: "Free what other processes hold", If: func(c *ledger.Case) bool { return len(c.F().OtherProcesses) > 1 && c.Shortfall.Has() }, Told: "The message lists them by number (PID)[[; {short} was missing]]. `nvidia-smi` shows their names. End those you do not need.", Cost: "Free."},
		{Fix: "use_lower_quant", Title: "Use the quantised variant of the model", Told: "Model Manager, Starter Models: for FLUX take the Quantized model and the 8-bit T5 encoder.", Cost: "Slight loss of quality."},
		{Fix: "lowvram_mode", Title: "Let it load models in part", Told: "In `invokeai.yaml` (5.6 and later), then restart. What does not fit stays in RAM:", Kind: "config", Text: "enable_partial_loading: true", Cost: "Some speed."},
	},
	Sources: []string{"https://invoke-ai.github.io/InvokeAI/features/low-vram/", "InvokeAI/invokeai/frontend/web/public/locales/en.json"},
}
