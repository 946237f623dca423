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
		Headline: "ran out of GPU memory[[ ({total})]] while it made an image",
		Means:    "This is reForge, or Forge from before August 2024 (`ldm_patched` in the traceback). It moves weights to RAM by itself. So usually the image is too large: memory grows with resolution, batch size, Hires. fix and each ControlNet.",
		Not:      "`--medvram`, `--lowvram`: it ignores both. Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Turn on Never OOM Integrated", Told: "It is at the bottom of the left column. Tick Enabled for UNet (always maximize offload). If it fails at the very end, also Enabled for VAE (always tiled).", Cost: "Slower."},
			a1111Smaller,
			{Fix: "cpu_offload", Title: "Start with `--always-low-vram`", Steps: a1111Flags("If that is not enough: `--always-no-vram`.", step.Change{Flag: "--always-low-vram"}, step.Change{Flag: "--medvram", Drop: true}, step.Change{Flag: "--lowvram", Drop: true}, step.Change{Flag: "--medvram-sdxl", Drop: true}), Cost: "Slower."},
		},
		Sources: []string{"https://github.com/Panchovix/stable-diffusion-webui-reForge/blob/main/modules_forge/initialization.py", "https://github.com/Panchovix/stable-diffusion-webui-reForge/blob/main/ldm_patched/modules/args_parser.py", "https://github.com/Panchovix/stable-diffusion-webui-reForge/blob/main/extensions-builtin/sd_forge_neveroom/scripts/forge_never_oom.py"},
	},
	{
		ID: "forge/weights-too-large", Kinds: []fact.Kind{fact.ForgeLoad}, Said: []string{"Remaining: -"}, If: forgeLoading, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "failed while it loaded the model[[, which needs {over} more than is free]]",
		Means:    "The model does not fit on the card[[: it needs {need}, {free_mb} was free, and {work_mb} is kept for computing]]. Forge puts the rest into RAM, which is normal; the error came during that move. [[{flux}. ]]With Swap Location \"Shared\" a lack of RAM gives the same error.",
		Figures:  forgePlan,
		Not:      "`--medvram`, `--lowvram`: Forge ignores both.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Set Swap Location to CPU, lower GPU Weights by 1000", Told: "Both are at the top of the page (set UI to all if they are hidden). Set Swap Method to Queue.", Cost: "Some speed."},
			{Fix: "use_lower_quant", Title: "Load an NF4 or GGUF file of the model", Told: "Flux: `flux1-dev-Q4_K_S.gguf` (6.8 GB)[[; {q4} then stay in RAM instead of {now}]]. Or `flux1-dev-bnb-nf4-v2`. Take T5 as `t5xxl_fp8_e4m3fn`. Other models: an fp8 or pruned fp16 file.", Cost: "Slight loss of quality; a download."},
			{Fix: "close_other_apps", Title: "Free GPU memory and RAM", Told: "Close browser and games; `nvidia-smi` shows what else is on the card. On Windows set a page file of 32 GB or more.", Cost: "Free."},
		},
		Sources: []string{forgeCode + "backend/memory_management.py", forgeCode + "modules_forge/main_entry.py"},
	},
	{
		ID: "forge/weights-slider", Kinds: []fact.Kind{fact.ForgeLoad}, If: forgeLoading, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while it loaded the model",
		Means:    "The slider GPU Weights decides how much of the model goes to the card[[ (the model needs {need}, {free_mb} was free before)]]. If the line `[Memory Management]` shows a small Remaining, the slider is too high. Otherwise another program may have taken memory.",
		Figures:  forgePlan,
		Not:      "`--medvram`, `--lowvram`: Forge ignores both.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Lower GPU Weights (MB)", Told: "It is at the top of the page. Set the card's size minus 3000 (8 GB: about 5000), less with Hires. fix or ControlNet. Swap Location CPU, Swap Method Queue.", Cost: "Some speed."},
			{Fix: "use_lower_quant", Title: "Load an NF4 or GGUF file of the model", Told: "Flux: `flux1-dev-bnb-nf4-v2`, or a Q4_K_S GGUF with `t5xxl_fp8_e4m3fn`. Set Diffusion in Low Bits to Automatic.", Cost: "Slight loss of quality."},
			{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{forgeCode + "modules_forge/main_entry.py", forgeCode + "backend/memory_management.py"},
	},
	{
		ID: "forge/driver", Kinds: []fact.Kind{fact.CUDAError}, If: inForge, Unsaid: []string{"vae.decode", "decode_first_stage"}, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "got a CUDA out-of-memory error without sizes",
		Means:    "Either RAM or the card may be full. Forge keeps in RAM what does not fit on the card. With Swap Location \"Shared\" a lack of RAM gives this error, and on Windows GPU memory also counts against RAM plus page file. A full card alone usually says \"Tried to allocate\".",
		Not:      "`--medvram`, `--lowvram`: Forge ignores both.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Set Swap Location to CPU, lower GPU Weights by 1000", Told: "Both are at the top of the page (set UI to all if they are hidden). Set Swap Method to Queue, then restart Forge.", Cost: "Some speed."},
			letWindowsPage,
			{Fix: "use_lower_quant", Title: "Load an NF4 or GGUF file, and an fp8 T5", Told: "Flux: `flux1-dev-bnb-nf4-v2`, or a Q4_K_S GGUF with `t5xxl_fp8_e4m3fn`. Less then has to go to RAM.", Cost: "Slight loss of quality."},
		},
		Sources: []string{forgeCode + "backend/memory_management.py", forgeCode + "modules_forge/main_entry.py"},
	},
	{
		ID: "forge/vae", Kinds: onCard, Said: []string{"Encountered Out of Memory during VAE", "decode_first_stage", "vae.decode", "autoencoder", "IntegratedAutoencoderKL"}, If: inForge, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the VAE",
		Means:    "The VAE failed, which turns the latent into the image. Forge usually retries in tiles by itself; here it did not, or the tiles did not fit beside the weights.",
		Not:      "Fewer steps: it failed in the VAE.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Turn on Never OOM for the VAE (always tiled)", Told: "At the bottom of the left column open Never OOM Integrated and tick Enabled for VAE (always tiled).", Cost: "Some seconds."},
			{Fix: "lowvram_mode", Title: "Lower GPU Weights (MB) by 1000", Told: "It is at the top of the page. This leaves 1 GB more for the VAE.", Cost: "Some speed."},
			a1111Smaller,
		},
		Sources: []string{forgeCode + "extensions-builtin/sd_forge_neveroom/scripts/forge_never_oom.py"},
	},
	{
		ID: "forge/ram", Kinds: slices.Concat([]fact.Kind{fact.CommitLimit, fact.SilentDeath}, inRAM, killed), If: inForge, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "{head}",
		Means:    "[[{silent} ]]Each model goes through RAM at its size on disk (Flux with T5: 17 to 34 GB), and Forge keeps there what does not fit on the card. On Windows RAM and page file count together.",
		Figures:  silently,
		Not:      "Lower GPU Weights: that keeps more in RAM. `--medvram`: Forge ignores it.",
		Cures: []cause.Cure{
			letWindowsPage,
			{Fix: "use_lower_quant", Title: "Load an NF4 or GGUF file, and an fp8 T5", Told: "Flux: `flux1-dev-bnb-nf4-v2` (12 GB with everything), or a Q4_K_S GGUF with `t5xxl_fp8_e4m3fn`.", Cost: "Slight loss of quality."},
			closeForRAM,
		},
		Sources: []string{forgeCode + "backend/memory_management.py"},
	},
	{
		ID: "forge/sampling", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: func(c *ledger.Case) bool { return inForge(c) && ledger.Allocator(c) && !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of GPU memory[[ ({total})]] while it made an image",
		Means:    "Forge fills the card with weights up to the slider GPU Weights. The rest must be enough for the image itself, and was not.",
		Not:      "`--medvram`, `--lowvram`: Forge ignores both. Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Lower GPU Weights (MB) by 1000 to 2000", Told: "It is at the top of the page (set UI to all if it is hidden). Set Swap Location to CPU. This leaves 1 to 2 GB more for the image.", Cost: "Some speed."},
			a1111Smaller,
			{Fix: "use_lower_quant", Title: "Load a smaller file of the model", Told: "Flux: an NF4 or GGUF file (Q4_K_S). Other models: set Diffusion in Low Bits to float8-e4m3fn.", Cost: "Slight loss of quality."},
		},
		Sources: []string{forgeCode + "modules_forge/main_entry.py", forgeCode + "backend/memory_management.py"},
	},
}))

// silently says what a start script that closes without an error means.
func silently(c *ledger.Case) map[string]string {
	if c.Root(fact.SilentDeath) {
		return map[string]string{"head": "ended while it loaded a model, most likely because RAM ran out", "silent": "It ended without an error message. On Windows that usually means that RAM and page file are full."}
	}
	return map[string]string{"head": "ran out of system memory (RAM), not VRAM", "silent": ""}
}

var sdnextCards = ofCard([]cause.Card{
	addon.SDNextDirectML,
	{
		ID: "sdnext/vae", Kinds: onCard, Said: []string{"processing_vae.py", "full_vae_decode", "VAE decode", "vae_decode"}, If: of("sdnext"), Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the VAE",
		Means:    "The VAE failed, which turns the latent into the image. Its memory grows with the resolution and the batch size.[[ {amd}]]",
		Figures:  amdScratch,
		Not:      "Fewer steps: it failed in the VAE.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Turn on VAE tiling", Told: "Settings, Variational Auto Encoder: turn VAE tiling on, for a batch also VAE slicing.", Cost: "Some seconds."},
			{Fix: "use_smaller_model", Title: "Decode with the tiny VAE", Told: "Set VAE type to Tiny (older versions: Full quality off).", Cost: "Less fine detail."},
			{Fix: "lowvram_mode", Title: "Keep fewer weights on the card", Told: "Settings, Model Offloading (before August 2025: Models & Loading): Model offload mode balanced, Offload GPU high watermark 0.5.", Cost: "Slower."},
		},
		Sources: []string{"https://github.com/vladmandic/sdnext/blob/master/modules/processing_vae.py", "https://github.com/vladmandic/sdnext/blob/master/modules/ui_definitions.py"},
	},
	{
		ID: "sdnext/overfull", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool { return c.In("sdnext") && ledger.Overfull(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "used {mine} on a card of {total}",
		Means:    "More is allocated than the card has. The driver moved the rest to RAM (\"shared GPU memory\"), which is very slow. Usually the whole model is on the card at once: offloading is off, or its high watermark is too high.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Turn on balanced offload", Told: "Settings, Model Offloading (before August 2025: Models & Loading): Model offload mode balanced, Offload GPU high watermark 0.5. Then restart. On 4 to 6 GB: sequential.", Cost: "Slower."},
			{Fix: "use_lower_quant", Title: "Quantise the model while it loads", Told: "Settings, Model Quantization (before August 2025: Quantization Settings): tick Model and TE for SDNQ, then reload the model. FLUX has 24 GB at 16 bit, 12 at 8, 7 at 4.", Cost: "Slight loss of quality."},
			{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "SDXL instead of FLUX, SD 1.5 instead of SDXL.", Cost: "Lower quality."},
		},
		Sources: []string{"https://github.com/vladmandic/sdnext/blob/master/modules/ui_definitions.py", "https://github.com/vladmandic/sdnext/blob/master/modules/shared_defaults.py"},
	},
	{
		ID: "sdnext/balanced", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: of("sdnext"), Cause: cause.BatchTooLarge, Weight: cause.Good,
		Headline: "ran out of GPU memory[[ ({total})]]",
		Means:    "SD.Next moves parts of the model to RAM. In its default mode, balanced, weights may fill the card up to a high watermark (60 %, or 80 % on cards with 24 GB and more). The rest must be enough for the image itself.",
		Not:      "`--opt-sdp-attention`, `--medvram-sdxl`: SD.Next does not have them.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", If: func(c *ledger.Case) bool { return c.Asked.Bytes*5 > c.Total.Bytes }, Title: "Make a smaller image, and check the attention method", Told: "{asked} at once is most likely attention: half the width and height needs a sixteenth. Settings, Compute Settings: Attention method Scaled-Dot-Product, SDP kernels Flash and Memory on. Cards before RTX 30 also need Device precision type FP16.", Cost: "Less detail."},
			{Fix: "lowvram_mode", Title: "Keep fewer weights on the card", Told: "Settings, Model Offloading (before August 2025: Models & Loading): Model offload mode balanced, Offload GPU high watermark 0.5. Mode sequential needs least, but is slowest.", Cost: "Slower."},
			{Fix: "use_lower_quant", Title: "Quantise the model while it loads", Told: "Settings, Model Quantization (before August 2025: Quantization Settings): tick Model and TE for SDNQ, then reload the model.", Cost: "Slight loss of quality."},
			{Fix: "lower_resolution", Title: "Make a smaller image", Told: "Lower width and height, batch size 1. If it fails at the very end: Settings, Variational Auto Encoder: VAE tiling.", Cost: "Less detail."},
		},
		Sources: []string{"https://github.com/vladmandic/sdnext/blob/master/modules/ui_definitions.py", "https://github.com/vladmandic/sdnext/blob/master/modules/shared_defaults.py"},
	},
})
