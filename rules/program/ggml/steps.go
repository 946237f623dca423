package ggml

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/books"
	"github.com/oomdoc/oomdoc/rules/program/ggml/dialect"
	"github.com/oomdoc/oomdoc/rules/program/limits"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

var llamaSteps = map[string]func(*ledger.Case) []step.Step{
	"fewer_gpu_layers": llamaLayers,
	"moe_cpu_offload": dialect.Spelled("moe_cpu_offload", ExpertsToMove,
		"Keep the experts in system memory: llama.cpp's `--n-cpu-moe N` (August 2025 on), before that `-ot \"exps=CPU\"`."),
	"lower_context": llamaContext,
	"lower_ubatch":  dialect.Spelled("lower_ubatch", BatchToTry, ""),
	// Arenas of 2023 were planned for 512 tokens.
	"lower_batch_size": dialect.Spelled("lower_batch_size", func(*ledger.Case) int64 { return 512 }, ""),
	"enable_flash_attention": func(c *ledger.Case) []step.Step {
		if diffuses(c) {
			return []step.Step{{Kind: "shell", Text: "sd-cli -m model.gguf --diffusion-fa"}}
		}
		return dialect.Spelled("enable_flash_attention", nil, "")(c)
	},
	"quantize_kv_cache": dialect.Spelled("quantize_kv_cache", nil,
		"Use an 8-bit KV cache where the program offers one; llama-server does: `-fa on -ctk q8_0 -ctv q8_0`."),
	"lower_parallel":     dialect.Spelled("lower_parallel", nil, "Use one sequence at a time."),
	"balance_split":      llamaSplit,
	"use_lower_quant":    llamaQuant,
	"use_mmap":           dialect.Mapped,
	"raise_memory_limit": llamaLimit,
	"select_gpu":         llamaSelect,
	"upgrade_version":    llamaUpgrade,
	"raise_pagefile":     step.Paste("ui", "Windows: System > About > Advanced system settings > Performance: Settings > Advanced > Virtual memory: Change. Tick \"Automatically manage\", or set a custom size of 1.5 times the RAM on a disk with room. Restart."),
	"vae_tiling":         step.Paste("shell", "sd-cli -m model.gguf --vae-tiling --diffusion-fa   # until December 2025 the program was called sd"),
	"lower_resolution":   step.Paste("shell", "sd-cli -m model.gguf -W 512 -H 512"),
	"cpu_offload": func(c *ledger.Case) []step.Step {
		if diffuses(c) {
			return []step.Step{{Kind: "shell", Text: "sd-cli -m model.gguf --offload-to-cpu --backend te=cpu,vae=cpu   # before May 2026: --vae-on-cpu --clip-on-cpu"}}
		}
		return llamaLayers(c)
	},
}

// llamaUpgrade takes a newer build; files of the time of fixed pools are not
// read any more.
func llamaUpgrade(c *ledger.Case) []step.Step {
	switch {
	case diffuses(c):
		return []step.Step{{Kind: "text", Text: "Take the newest stable-diffusion.cpp from github.com/leejet/stable-diffusion.cpp/releases, or `git pull` and build again."}}
	case transcribes(c):
		return []step.Step{{Kind: "text", Text: "`git pull` in the folder of whisper.cpp and build again."}}
	}
	s := dialect.Of(c).Upgrade
	if c.Root(fact.GGMLPool) && s.Kind == "text" && len(c.Stack) > 0 && c.Stack[0] == "llama.cpp" {
		s.Text += " Old GGML files (`.bin`) need a GGUF of the same model then."
	}
	return []step.Step{s}
}

// ExpertsToMove is the number of layers whose experts leave the card: computed,
// else all.
func ExpertsToMove(c *ledger.Case) int64 {
	if n, _, ok := budgetOf(c).ExpertLayers(c); ok {
		return n + expertsMoved(c)
	}
	n := count(c, "n_layer", mostParts)
	if b := budgetOf(c); n > 8 && b.Free > 0 && b.Weights > 0 && b.Weights*10 <= b.Free*13 {
		return n / 2 // little is missing: the experts are most of each layer
	}
	return cmp.Or(n, 99)
}

// llamaLayers leaves layers in system memory; all of them where the card is
// the processor in disguise.
func llamaLayers(c *ledger.Case) []step.Step {
	d := dialect.Of(c)
	set := fmt.Sprintf(d.Settings["fewer_gpu_layers"], layersToKeep(c))
	switch {
	case !LayersKnown(c) && !softwareDevice(c):
		if c.Asked.Bytes > largestCard && d.Kind == "shell" {
			return []step.Step{dialect.Unset}
		}
		if c.Failure.Stage == "weights" || c.Failure.Stage == "" && above(units.GiB)(c) {
			return []step.Step{d.Halve()}
		}
		if n := ledger.IntSetting(c, "n_gpu_layers"); n > 90 && n < 100_000 {
			return []step.Step{d.All(n)}
		}
		return []step.Step{d.Fewer()}
	case softwareDevice(c):
		return []step.Step{d.Step(c, cmp.Or(d.Settings["no_gpu"], fmt.Sprintf(d.Settings["fewer_gpu_layers"], 0)))}
	case c.Failure.Stage != "kv":
		return []step.Step{d.Step(c, set)}
	}
	return withFlash(c, d, set, contextOf(c))
}

// llamaContext shortens the context.
func llamaContext(c *ledger.Case) []step.Step {
	d := dialect.Of(c)
	if contextOf(c) == 0 && c.Failure.Stage == "kv" && above(24*units.GiB)(c) {
		return []step.Step{{Kind: "text", Text: "Set " + d.Context + " to 8192 first, then raise it until it fails: unset, it is the model's own maximum in many versions."}}
	}
	if contextOf(c) == 0 {
		return []step.Step{{Kind: "text", Text: "Halve " + d.Context + d.Shown + "."}}
	}
	if perSlot(c) && !byOllama(c) {
		return []step.Step{{Kind: "text", Text: fmt.Sprintf("Halve %s: each slot has %s tokens of it now. With several slots, `--parallel 1` leaves the whole to one request.", d.Context, grouped(contextOf(c)))}}
	}
	n := contextToTry(c)
	return withFlash(c, d, fmt.Sprintf(d.Settings["lower_context"], max(n/slots(c)/256*256, 256)), n)
}

// withFlash sets flash attention too where it is off: the matrix of attention
// over a context comes on top of the cache.
func withFlash(c *ledger.Case, d dialect.Dialect, set string, context int64) []step.Step {
	flash := d.Settings["enable_flash_attention"]
	call, rest, isCall := strings.Cut(flash, "({")
	switch {
	case scores(c, context) == 0 || onSYCL(c) || oldVulkan(c):
	case d.Kind == "shell":
		set += " " + flash
	case d.Kind == "python":
		set += ", " + flash
	case isCall && strings.HasPrefix(set, call+"({"):
		set = strings.TrimSuffix(set, "})") + ", " + rest
	default:
		return []step.Step{d.Step(c, set), d.Step(c, flash)}
	}
	return []step.Step{d.Step(c, set)}
}

const twoChanges = "Two changes together: flash attention is off, and without it the attention matrix takes {matrix} in the compute buffer at {try} tokens, beside the cache."

var llamaWhys = map[string]func(*ledger.Case) string{
	// On what the context rests, and what it costs besides its cache.
	"lower_context": figures.Why(cause.If(when.All(when.Any(stage("kv"), stage("compute")), noFlash, when.Not(onSYCL)), cause.None, twoChanges)),
	"fewer_gpu_layers": figures.Why(cause.If(softwareDevice, cause.None, "This Vulkan device is not a GPU but a driver that runs on the CPU (llvmpipe). It takes system memory (RAM), so "+
		"nothing is lost without it. If there is a GPU in this computer, its Vulkan driver is missing.")),
}

// noFlash: flash attention is off, and its absence costs a matrix.
func noFlash(c *ledger.Case) bool { return scores(c, contextOf(c)) > 0 }

func llamaQuant(c *ledger.Case) []step.Step {
	b := budgetOf(c)
	if file, ok := b.FileThatFits(c); ok {
		return []step.Step{{Kind: "text", Text: fmt.Sprintf("Download a smaller GGUF file of the same model, of %s at most (this one puts %s on the GPU): try Q4_K_M, then IQ4_XS, Q3_K_M.", units.Amount(file), units.Amount(b.Weights))}}
	}
	room := "at least 1.5 GiB below the free GPU memory"
	if ledger.InHost(c) || hostError(c) {
		room = "at least 1.5 GiB below the free RAM"
	}
	return []step.Step{{Kind: "text", Text: "Download a smaller GGUF file of the same model, " + room + ". Q4_K_M is about half of a Q8_0 and three quarters of a Q6_K, with little loss. Smaller still: IQ4_XS, Q3_K_M."}}
}

// llamaSplit takes weight off the card that is full.
func llamaSplit(c *ledger.Case) []step.Step {
	d, shares := dialect.Of(c), books.SharesText(c)
	if d.Settings["balance_split"] == "" || shares == "" {
		return []step.Step{{Kind: "text", Text: "Give the full GPU a smaller share of the layers: llama.cpp's `-ts 2,3` takes one number for each GPU, in their order (the numbers are proportions)."}}
	}
	if c.Says("koboldcpp") {
		shares = strings.ReplaceAll(shares, ",", " ") // koboldcpp.py: nargs='+'
	}
	return []step.Step{d.Step(c, fmt.Sprintf(d.Settings["balance_split"], shares))}
}

// llamaLimit raises what macOS lets the GPU take, or a container's limit.
func llamaLimit(c *ledger.Case) []step.Step {
	if reader.RefusedByAllocator(c) || ledger.Capped(c) {
		return limits.Steps(c)
	}
	if c.Backend == "metal" && wiredLimit(c) == 0 {
		// Four fifths are more than macOS gives on any Mac; a fixed figure may be less.
		return []step.Step{{Kind: "shell", Text: "sudo sysctl iogpu.wired_limit_mb=$(( $(sysctl -n hw.memsize) / 1048576 * 4 / 5 ))   # four fifths of the RAM, until the next restart; macOS 14 and later"}}
	}
	if c.Backend == "metal" {
		return []step.Step{{Kind: "shell", Text: fmt.Sprintf("sudo sysctl iogpu.wired_limit_mb=%d   # macOS 14 and later, until the next restart; only if the RAM has it to spare", wiredLimit(c))}}
	}
	return []step.Step{{Kind: "text", Text: "In a container: raise its memory limit (`docker run -m 32g`, `resources.limits.memory` in Kubernetes, `MemoryMax=` in a systemd unit)."}}
}

// llamaSelect keeps a device out.
func llamaSelect(c *ledger.Case) []step.Step {
	other := 0
	if f := c.F(); f.Device != nil && f.Device.Value == 0 {
		other = 1
	}
	names := map[string]string{"cuda": "CUDA_VISIBLE_DEVICES=%d", "rocm": "HIP_VISIBLE_DEVICES=%d", "vulkan": "GGML_VK_VISIBLE_DEVICES=%d", "sycl": "ONEAPI_DEVICE_SELECTOR=level_zero:%d"}
	if set, ok := names[c.Backend]; ok {
		verb := "export "
		if c.Windows() {
			verb = "set "
		}
		return []step.Step{{Kind: "env", Text: verb + fmt.Sprintf(set, other)}}
	}
	return []step.Step{{Kind: "shell", Text: "llama-server --list-devices"}, {Kind: "shell", Text: "llama-server --device CUDA0"}}
}
