package webui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/webui/addon"
	"github.com/oomdoc/oomdoc/rules/step"
)

const forgeCode = "https://github.com/lllyasviel/stable-diffusion-webui-forge/blob/main/"

// forgePlan are the numbers of Forge's line [Memory Management] in MB: what must
// wait in RAM, now and with a smaller file of the same model.
func forgePlan(c *ledger.Case) map[string]string {
	out := map[string]string{"need": "", "free_mb": "", "work_mb": "", "over": "", "flux": "", "q4": "", "now": ""}
	weights, ok := c.Fact("weights")
	if !ok || weights.Size == nil || c.F().Free == nil {
		return out
	}
	work := int64(units.GiB)
	out["need"], out["free_mb"] = mib(weights.Size.Bytes), mib(c.F().Free.Bytes)
	if w, ok := c.Fact("forge_work"); ok && w.Size != nil {
		work = w.Size.Bytes
		out["work_mb"] = mib(work)
	}
	if over := weights.Size.Bytes + work - c.F().Free.Bytes; over > 0 {
		out["over"] = mib(over)
	}
	// 11,901,408,320 parameters of one byte, to the rounding of the line.
	if ledger.Near(weights.Size.Bytes, 11901408320, 6*units.MiB) {
		out["flux"] = "It is Flux at 8 bit: 11,901,408,320 parameters of one byte are 11,350.07 MB"
		if left := 6480*units.MiB + units.GiB - c.F().Free.Bytes; left > 0 {
			out["q4"], out["now"] = gib(left), gib(weights.Size.Bytes+units.GiB-c.F().Free.Bytes)
		}
	}
	return out
}

func mib(bytes int64) string {
	n := (bytes + units.MiB/2) / units.MiB
	if n < 1000 {
		return fmt.Sprintf("%d MB", n)
	}
	return fmt.Sprintf("%d,%03d MB", n/1000, n%1000)
}

func gib(bytes int64) string { return fmt.Sprintf("%.1f GB", float64(bytes)/float64(units.GiB)) }

// oldForge: the web UI's frames beside those of ldm_patched, Forge's first
// backend, which reForge keeps. Fooocus has it as well.
func oldForge(c *ledger.Case) bool {
	return c.In("a1111") && !c.In("fooocus") && slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return strings.Contains(x.File, "ldm_patched/") || strings.Contains(x.File, "-reForge/")
	})
}

// forgeAtWork: its plan was not cut off by the error.
func forgeAtWork(c *ledger.Case) bool { return inForge(c) && !c.Kind(fact.ForgeLoad) }

func forgeLoading(c *ledger.Case) bool { return !c.Kind(fact.CPUAlloc, fact.CommitLimit) }

var forgeCards = slices.Concat(ofCard(forgeAddons), []cause.Card{
	roomLeft("forge/room-left", forgeAtWork, cause.Cure{Fix: "lowvram_mode"}, forgeCode+"backend/memory_management.py"),
	othersHold("forge/others-hold", "Forge", inForge, forgeCode+"backend/memory_management.py"),
}, ofCard([]cause.Card{
	forgeMerge,
	{
		ID: "forge/before-sliders", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError}, If: func(c *ledger.Case) bool { return oldForge(c) && !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] while it made an image",
		Means:    "The traceback (`ldm_patched`) is that of reForge, or of Forge before August 2024. It moves weights to RAM by itself and has no GPU Weights slider[[; {mine} of {total} is its own]]. Most often the activations are too large: they grow with pixels, batch size, Hires. fix and each ControlNet.",
		Not:      "`--medvram`, `--lowvram`: it ignores both. Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Turn on Never OOM Integrated", Told: "In the page, at the end of the column: tick Enabled for UNet (always maximize offload), and Enabled for VAE (always tiled) if it fails at the very end.", Cost: "Slower."},
			a1111Smaller,
			{Fix: "cpu_offload", Title: "Start with `--always-low-vram`", Steps: a1111Flags("If that is not enough: `--always-no-vram`.", step.Change{Flag: "--always-low-vram"}, step.Change{Flag: "--medvram", Drop: true}, step.Change{Flag: "--lowvram", Drop: true}, step.Change{Flag: "--medvram-sdxl", Drop: true}), Cost: "Slower."},
		},
		Sources: []string{"https://github.com/Panchovix/stable-diffusion-webui-reForge/blob/main/modules_forge/initialization.py", "https://github.com/Panchovix/stable-diffusion-webui-reForge/blob/main/ldm_patched/modules/args_parser.py", "https://github.com/Panchovix/stable-diffusion-webui-reForge/blob/main/extensions-builtin/sd_forge_neveroom/scripts/forge_never_oom.py"},
	},
	{
		ID: "forge/weights-too-large", Kinds: []fact.Kind{fact.ForgeLoad}, Said: []string{"Remaining: -"}, If: forgeLoading, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "failed while it loaded the model[[: its plan needs {over} more VRAM than is free]]",
		Means:    "Forge planned more weights than fit[[: {need} of model, {free_mb} free, {work_mb} kept for computing]]. The rest goes to RAM, which is normal; the error came while the parts were being moved. [[{flux}. ]]With Swap Location \"Shared\" Forge pins RAM for the card, and a refused pin also reads like this. The log shows neither that setting nor your RAM.",
		Figures:  forgePlan,
		Not:      "`--medvram`, `--lowvram`: Forge ignores both.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Set Swap Location to CPU, lower GPU Weights by 1000", Told: "Both at the top of the page (UI: all, if they are hidden); Swap Method Queue. Forge keeps 1,024 MB for computing by default.", Cost: "Some speed."},
			{Fix: "use_lower_quant", Title: "Load an NF4 or GGUF file of the model", Told: "Flux: `flux1-dev-Q4_K_S.gguf`, 6.8 GB[[: {q4} then stay in RAM instead of {now}]]; or `flux1-dev-bnb-nf4-v2`. T5 as `t5xxl_fp8_e4m3fn`. Others: an fp8 or pruned fp16 file.", Cost: "Slight loss of quality; a download."},
			{Fix: "close_other_apps", Title: "Free VRAM and RAM", Told: "`nvidia-smi` shows what else is on the card. Close browser and games; on Windows a page file of 32 GB or more.", Cost: "Free."},
		},
		Sources: []string{forgeCode + "backend/memory_management.py", forgeCode + "modules_forge/main_entry.py"},
	},
	{
		ID: "forge/weights-slider", Kinds: []fact.Kind{fact.ForgeLoad}, If: forgeLoading, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while it loaded the model",
		Means:    "Forge puts on the card what the slider GPU Weights says[[ ({need} of model, {free_mb} free)]]. If the line [Memory Management] shows a small Remaining, the slider is too high; otherwise another program may have taken memory meanwhile.",
		Figures:  forgePlan,
		Not:      "`--medvram`, `--lowvram`: Forge ignores both.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Lower GPU Weights (MB)", Told: "At the top of the page: the card's size minus 3000 (8 GB: about 5000; less with Hires. fix or ControlNet); Swap Location CPU, Swap Method Queue.", Cost: "Some speed."},
			{Fix: "use_lower_quant", Title: "Load an NF4 or GGUF file of the model", Told: "Flux: `flux1-dev-bnb-nf4-v2` or a Q4_K_S GGUF, with T5 as `t5xxl_fp8_e4m3fn`; Diffusion in Low Bits: Automatic.", Cost: "Slight loss of quality."},
			{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{forgeCode + "modules_forge/main_entry.py", forgeCode + "backend/memory_management.py"},
	},
	{
		ID: "forge/driver", Kinds: []fact.Kind{fact.CUDAError}, If: inForge, Unsaid: []string{"vae.decode", "decode_first_stage"}, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "got a CUDA out-of-memory error without sizes",
		Means:    "The message is the driver's. Forge keeps what does not fit on the card in RAM; with Swap Location \"Shared\" it pins that RAM, and a refused pin reads like this. On Windows card memory also counts against RAM plus page file. A full card alone mostly says \"Tried to allocate\".",
		Not:      "`--medvram`, `--lowvram`: Forge ignores both.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Set Swap Location to CPU, lower GPU Weights by 1000", Told: "Both at the top of the page (UI: all, if they are hidden); Swap Method Queue; then restart Forge.", Cost: "Some speed."},
			letWindowsPage,
			{Fix: "use_lower_quant", Title: "Load an NF4 or GGUF file, and an fp8 T5", Told: "Flux: `flux1-dev-bnb-nf4-v2` or a Q4_K_S GGUF with `t5xxl_fp8_e4m3fn`: less is left to swap.", Cost: "Slight loss of quality."},
		},
		Sources: []string{forgeCode + "backend/memory_management.py", forgeCode + "modules_forge/main_entry.py"},
	},
	{
		ID: "forge/vae", Kinds: onCard, Said: []string{"decode_first_stage", "vae.decode", "autoencoder", "IntegratedAutoencoderKL"}, If: inForge, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode the image",
		Means:    "It failed in the VAE, which turns the latent into pixels. Forge mostly retries in tiles by itself; here it did not, or the tiles did not fit beside the weights.",
		Not:      "Fewer steps: it failed in the VAE.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Turn on Never OOM for the VAE (always tiled)", Told: "In the page, Never OOM Integrated: tick Enabled for VAE (always tiled).", Cost: "Some seconds."},
			{Fix: "lowvram_mode", Title: "Lower GPU Weights (MB) by 1000", Told: "At the top of the page: that much more is then free for the VAE.", Cost: "Some speed."},
			a1111Smaller,
		},
		Sources: []string{forgeCode + "extensions-builtin/sd_forge_neveroom/scripts/forge_never_oom.py"},
	},
	{
		ID: "forge/ram", Kinds: slices.Concat([]fact.Kind{fact.CommitLimit, fact.SilentDeath}, inRAM, killed), If: inForge, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "{head}",
		Means:    "[[{silent} ]]Models pass through RAM at their size on disk (Flux with T5: 17 to 34 GB), and Forge keeps there what does not fit on the card. On Windows RAM and page file count together.",
		Figures:  silently,
		Not:      "Lower GPU Weights: that keeps more in RAM.",
		Cures: []cause.Cure{
			letWindowsPage,
			{Fix: "use_lower_quant", Title: "Load an NF4 or GGUF file, and an fp8 T5", Told: "Flux: `flux1-dev-bnb-nf4-v2` (all in one, 12 GB) or a Q4_K_S GGUF with `t5xxl_fp8_e4m3fn`.", Cost: "Slight loss of quality."},
			closeForRAM,
		},
		Sources: []string{forgeCode + "backend/memory_management.py"},
	},
	{
		ID: "forge/sampling", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: func(c *ledger.Case) bool { return inForge(c) && ledger.Allocator(c) && !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of graphics memory[[ ({total})]] while it made an image",
		Means:    "Forge keeps weights on the card up to the slider GPU Weights; activations must fit into the rest[[: {asked} more was refused with {mine} of {total} its own]].",
		Not:      "`--medvram`, `--lowvram`: Forge ignores both. Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Lower GPU Weights (MB) by 1000 to 2000", Told: "At the top of the page (UI: all, if it is hidden): that much more is then free for activations. Swap Location CPU.", Cost: "Some speed."},
			a1111Smaller,
			{Fix: "use_lower_quant", Title: "Load a smaller file of the model", Told: "Flux: an NF4 or GGUF file (Q4_K_S); others: Diffusion in Low Bits float8-e4m3fn.", Cost: "Slight loss of quality."},
		},
		Sources: []string{forgeCode + "modules_forge/main_entry.py", forgeCode + "backend/memory_management.py"},
	},
}))

// silently says what a start script that closes without an error means.
func silently(c *ledger.Case) map[string]string {
	if c.Root(fact.SilentDeath) {
		return map[string]string{"head": "ended while it loaded a model, most likely because RAM ran out", "silent": "It ended without an error: on Windows the usual sign that RAM and page file are used up."}
	}
	return map[string]string{"head": "ran out of system memory (RAM), not VRAM", "silent": ""}
}

var sdnextCards = ofCard([]cause.Card{
	addon.SDNextDirectML,
	{
		ID: "sdnext/vae", Kinds: onCard, Said: []string{"processing_vae.py", "full_vae_decode", "VAE decode", "vae_decode"}, If: of("sdnext"), Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode the image",
		Means:    "The VAE failed, which turns the latent into pixels[[: it asked for {asked} more, with {free} free]]. Its memory grows with the pixels and the batch.[[ {amd}]]",
		Figures:  amdScratch,
		Not:      "Fewer steps: it failed in the VAE.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Turn on VAE tiling", Told: "Settings, Variational Auto Encoder: VAE tiling on (and VAE slicing, for a batch).", Cost: "Some seconds."},
			{Fix: "use_smaller_model", Title: "Decode with the tiny VAE", Told: "VAE type Tiny in the tab (older versions: Full quality off).", Cost: "Less fine detail."},
			{Fix: "lowvram_mode", Title: "Lower the GPU high watermark of the offload", Told: "Settings, Model Offloading (before August 2025 Models & Loading): Model offload mode balanced, Offload GPU high watermark 0.5.", Cost: "Slower."},
		},
		Sources: []string{"https://github.com/vladmandic/sdnext/blob/master/modules/processing_vae.py", "https://github.com/vladmandic/sdnext/blob/master/modules/ui_definitions.py"},
	},
	{
		ID: "sdnext/overfull", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool { return c.In("sdnext") && ledger.Overfull(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "held {mine} on a card of {total}",
		Means:    "More is allocated than the card has: the driver had moved the rest to RAM (\"shared GPU memory\"), which is very slow, until that was full too. Mostly the whole model is on the card at once: offload is off, or its high watermark is too high for this model.",
		Not:      "Fewer steps, a smaller image alone: the weights are larger than the card.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Turn on balanced offload", Told: "Settings, Model Offloading (before August 2025 Models & Loading): Model offload mode balanced, Offload GPU high watermark 0.5; then restart (or start with `--medvram`). On 4 to 6 GB: sequential.", Cost: "Slower."},
			{Fix: "use_lower_quant", Title: "Quantise the model while it loads", Told: "Settings, Model Quantization (before August 2025 Quantization Settings): tick Model and TE for SDNQ; reload the model. FLUX is 24 GB at 16 bit, 12 at 8, 7 at 4.", Cost: "Slight loss of quality."},
			{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "SDXL in place of FLUX, SD 1.5 in place of SDXL.", Cost: "Lower quality."},
		},
		Sources: []string{"https://github.com/vladmandic/sdnext/blob/master/modules/ui_definitions.py", "https://github.com/vladmandic/sdnext/blob/master/modules/shared_defaults.py"},
	},
	{
		ID: "sdnext/balanced", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: of("sdnext"), Cause: cause.BatchTooLarge, Weight: cause.Good,
		Headline: "ran out of graphics memory[[ ({total})]]",
		Means:    "SD.Next moves parts of the model to RAM by its offload mode. Balanced, its default, keeps weights on the card up to a high watermark (60 % unless set, 80 % from 24 GB on); activations must fit into the rest.",
		Not:      "`--opt-sdp-attention`, `--medvram-sdxl`: SD.Next does not have them.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", If: func(c *ledger.Case) bool { return c.Asked.Bytes*5 > c.Total.Bytes }, Title: "Lower the size, and check the attention method", Told: "{asked} in one piece is most likely attention over the whole picture: half the width and height is a sixteenth of it. Settings, Compute Settings: Attention method Scaled-Dot-Product, SDP kernels Flash and Memory on. Cards before RTX 30 (V100, T4) have no such kernel for bf16: Device precision type FP16.", Cost: "Less detail."},
			{Fix: "lowvram_mode", Title: "Lower the GPU high watermark of the offload", Told: "Settings, Model Offloading (before August 2025 Models & Loading): Model offload mode balanced, Offload GPU high watermark 0.5; sequential is the slowest and needs least.", Cost: "Slower."},
			{Fix: "use_lower_quant", Title: "Quantise the model while it loads", Told: "Settings, Model Quantization (before August 2025 Quantization Settings): tick Model and TE for SDNQ; reload the model.", Cost: "Slight loss of quality."},
			{Fix: "lower_resolution", Title: "Lower the size; VAE tiling if it fails at the end", Told: "Width and height first, batch size 1; Settings, Variational Auto Encoder: VAE tiling.", Cost: "Less detail."},
		},
		Sources: []string{"https://github.com/vladmandic/sdnext/blob/master/modules/ui_definitions.py", "https://github.com/vladmandic/sdnext/blob/master/modules/shared_defaults.py"},
	},
})
