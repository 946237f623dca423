package ggml

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

var llamaSteps = map[string]func(*ledger.Case) []step.Step{
	"fewer_gpu_layers": llamaLayers,
	"moe_cpu_offload": func(c *ledger.Case) []step.Step {
		d := speaks(c)
		if d.experts == "" {
			return []step.Step{{Kind: "text", Text: "Keep the experts in system memory: llama.cpp's `--n-cpu-moe N` (August 2025 on), before that `-ot \"exps=CPU\"`."}}
		}
		layers, _, ok := budgetOf(c).expertLayers(c)
		if !ok {
			layers = cmp.Or(count(c, "n_layer", mostLayers), 99)
		}
		return []step.Step{d.step(c, fmt.Sprintf(d.experts, layers))}
	},
	"lower_context": llamaContext,
	"lower_ubatch": func(c *ledger.Case) []step.Step {
		d := speaks(c)
		return []step.Step{d.step(c, fmt.Sprintf(d.batch, batchToTry(c)))}
	},
	"lower_batch_size": func(c *ledger.Case) []step.Step {
		d := speaks(c)
		if d.kind == "shell" && d.layers == dialects["llama.cpp"].layers {
			return []step.Step{d.step(c, "-b 512")}
		}
		return []step.Step{d.step(c, fmt.Sprintf(d.batch, min(batchToTry(c), 512)))}
	},
	"enable_flash_attention": func(c *ledger.Case) []step.Step {
		if diffuses(c) {
			return []step.Step{{Kind: "shell", Text: "sd -m model.gguf --diffusion-fa"}}
		}
		d := speaks(c)
		return []step.Step{d.step(c, era(c, d.flash))}
	},
	"quantize_kv_cache": func(c *ledger.Case) []step.Step {
		d := speaks(c)
		if d.cache == "" {
			return []step.Step{{Kind: "text", Text: "Use an 8-bit KV cache where the program offers one; node-llama-cpp does not, llama-server does: `-fa on -ctk q8_0 -ctv q8_0`."}}
		}
		return []step.Step{d.step(c, era(c, d.cache))}
	},
	"lower_parallel": func(c *ledger.Case) []step.Step {
		d := speaks(c)
		if d.parallel == "" {
			return []step.Step{{Kind: "text", Text: "Use one sequence at a time."}}
		}
		return []step.Step{d.step(c, d.parallel)}
	},
	"balance_split":   llamaSplit,
	"use_lower_quant": llamaQuant,
	"use_mmap": func(c *ledger.Case) []step.Step {
		d := speaks(c)
		return []step.Step{{Kind: "text", Text: "Let the file be mapped: " + d.mmap}}
	},
	"raise_memory_limit": llamaLimit,
	"select_gpu":         llamaSelect,
	"upgrade_version":    llamaUpgrade,
	"raise_pagefile": func(*ledger.Case) []step.Step {
		return []step.Step{{Kind: "ui", Text: "Windows: System > About > Advanced system settings > Performance: Settings > Advanced > Virtual memory: Change. Tick \"Automatically manage\", or set a custom size of 1.5 times the RAM on a disk with room. Restart."}}
	},
	"vae_tiling": func(*ledger.Case) []step.Step {
		return []step.Step{{Kind: "shell", Text: "sd -m model.gguf --vae-tiling --diffusion-fa"}}
	},
	"cpu_offload": func(c *ledger.Case) []step.Step {
		if diffuses(c) {
			return []step.Step{{Kind: "shell", Text: "sd -m model.gguf --offload-to-cpu --vae-on-cpu --clip-on-cpu"}}
		}
		return []step.Step{speaks(c).step(c, fmt.Sprintf(speaks(c).layers, layersToKeep(c)))}
	},
	"lower_resolution": func(*ledger.Case) []step.Step {
		return []step.Step{{Kind: "shell", Text: "sd -m model.gguf -W 512 -H 512"}}
	},
}

// llamaLayers leaves layers in system memory; all of them where the card is
// the processor in disguise.
func llamaLayers(c *ledger.Case) []step.Step {
	d := speaks(c)
	if softwareDevice(c) {
		switch d.layers {
		case dialects["node-llama-cpp"].layers:
			return []step.Step{{Kind: d.kind, Text: "getLlama({gpu: false})"}}
		case dialects["llama.cpp"].layers:
			return []step.Step{d.step(c, "--device none")}
		}
		return []step.Step{d.step(c, fmt.Sprintf(d.layers, 0))}
	}
	set := fmt.Sprintf(d.layers, layersToKeep(c))
	if c.Failure.Stage != "kv" {
		return []step.Step{d.step(c, set)}
	}
	return d.withFlash(c, set, budgetOf(c).Context)
}

// llamaContext shortens the context.
func llamaContext(c *ledger.Case) []step.Step {
	d := speaks(c)
	n := contextToTry(c)
	return d.withFlash(c, fmt.Sprintf(d.context, max(n/slotsOfContext(c)/256*256, 256)), n)
}

// slotsOfContext is by how many the context of node-llama-cpp, which is that of one
// sequence, is multiplied; 1 for programs that state all of it.
func slotsOfContext(c *ledger.Case) int64 {
	if n := count(c, "n_seq_max", 256); n > 0 && c.Says("node-llama-cpp") {
		return n
	}
	return 1
}

// withFlash sets flash attention too where it is off: the matrix of attention
// over a context comes on top of the cache.
func (d dialect) withFlash(c *ledger.Case, set string, context int64) []step.Step {
	switch call, rest, ok := strings.Cut(d.flash, "({"); {
	case scores(c, context) == 0 || d.flash == "":
	case d.kind == "shell":
		set += " " + era(c, d.flash)
	case ok && strings.HasPrefix(set, call+"({"):
		set = strings.TrimSuffix(set, "})") + ", " + rest
	default:
		return []step.Step{d.step(c, set), d.step(c, d.flash)}
	}
	return []step.Step{d.step(c, set)}
}

// whyShorter says on what the context rests, and what it costs besides its
// cache.
func whyShorter(c *ledger.Case) string {
	b := budgetOf(c)
	n := contextToTry(c)
	var why []string
	if room, ok := roomUnknown(c, b); ok && b.Part == "kv" && b.KV > 0 && b.Context > n {
		together := ""
		if k := slotsOfContext(c); k > 1 {
			together = fmt.Sprintf(" (of all %d sequences together)", k)
		}
		why = append(why, fmt.Sprintf("%s, so start small: the cache for %d tokens%s takes %s instead of %s. If it starts, double it until it does not.", room, n, together, units.Format(b.withContext(n).KV), units.Format(b.KV)))
	}
	if matrix := scores(c, n); matrix > 0 && (c.Failure.Stage == "kv" || c.Failure.Stage == "compute") {
		why = append(why, fmt.Sprintf("Two changes together: flash attention is off, and without it the matrix of attention takes %s in the compute buffer at %d tokens, beside the cache.", units.Format(matrix), n))
	}
	return strings.Join(why, " ")
}

// roomUnknown reports that a cache or a compute buffer was refused and nothing
// says how much would be granted, with a sentence for it.
func roomUnknown(c *ledger.Case, b budget) (string, bool) {
	switch {
	case c.Failure.Stage != "kv" && c.Failure.Stage != "compute" || c.Root(fact.GGMLLimit) || b.Free > 0:
		return "", false
	case ledger.InHost(c):
		return "The log does not say how much memory the computer has left", true
	}
	return "The log does not say how much of the device is left", true
}

// whyLayers says why no layer should go to a device that is the processor.
func whyLayers(c *ledger.Case) string {
	if !softwareDevice(c) {
		return ""
	}
	return "This Vulkan device is no card but a driver that computes on the processor (llvmpipe). What it takes is the computer's own memory, a second time beside the mapped file; nothing is lost without it. If there is a card in this computer, its Vulkan driver is missing."
}

// whyFlash says what flash attention frees.
func whyFlash(c *ledger.Case) string {
	b := budgetOf(c)
	matrix := scores(c, b.Context)
	if matrix == 0 || c.Failure.Stage != "compute" {
		return ""
	}
	return fmt.Sprintf("It is off, and %s of the %s that were refused are the matrix of attention, which flash attention never builds.", units.Format(min(matrix, b.Refused)), units.Format(b.Refused))
}

var llamaWhys = map[string]func(*ledger.Case) string{"lower_context": whyShorter, "enable_flash_attention": whyFlash, "fewer_gpu_layers": whyLayers}

func llamaQuant(c *ledger.Case) []step.Step {
	b := budgetOf(c)
	if file, ok := b.fileThatFits(c); ok {
		return []step.Step{{Kind: "text", Text: fmt.Sprintf("Download a smaller GGUF of the same model, of %s at most (the present one puts %s on the card): Q4_K_M, then IQ4_XS, Q3_K_M.", units.Format(file), units.Format(b.Weights))}}
	}
	return []step.Step{{Kind: "text", Text: "Download a smaller GGUF of the same model: Q4_K_M, then IQ4_XS, Q3_K_M. The file should be at least 1.5 GiB smaller than the card's free memory."}}
}

// llamaSplit takes weight off the card that is full.
func llamaSplit(c *ledger.Case) []step.Step {
	d := speaks(c)
	shares := splitShares(c)
	if d.split == "" || shares == "" {
		return []step.Step{{Kind: "text", Text: "Give the full card a smaller share of the layers (llama.cpp: `-ts 2,3`, in the order of the cards; the numbers are proportions)."}}
	}
	return []step.Step{d.step(c, fmt.Sprintf(d.split, shares))}
}

// llamaLimit raises what macOS lets the GPU take, or a container's limit.
func llamaLimit(c *ledger.Case) []step.Step {
	if reader.RefusedByAllocator(c) || ledger.Capped(c) {
		return step.StepsHostLimit(c)
	}
	if c.Backend == "metal" {
		return []step.Step{{Kind: "shell", Text: fmt.Sprintf("sudo sysctl iogpu.wired_limit_mb=%d   # macOS 14 and later, until the next restart; only if the RAM has it to spare", wiredLimit(c))}}
	}
	return []step.Step{{Kind: "text", Text: "In a container: raise its memory limit (`docker run -m 32g`, `resources.limits.memory` in Kubernetes, `MemoryMax=` in a systemd unit)."}}
}

// llamaSelect keeps a device out.
func llamaSelect(c *ledger.Case) []step.Step {
	names := map[string]string{"cuda": "CUDA_VISIBLE_DEVICES", "rocm": "HIP_VISIBLE_DEVICES", "vulkan": "GGML_VK_VISIBLE_DEVICES", "sycl": "ONEAPI_DEVICE_SELECTOR"}
	name, ok := names[c.Backend]
	if !ok {
		return []step.Step{{Kind: "shell", Text: "llama-server --list-devices"}, {Kind: "shell", Text: "llama-server --device CUDA0"}}
	}
	value := "0"
	if f := c.F(); f.Device != nil && f.Device.Value == 0 {
		value = "1"
	}
	if c.Backend == "sycl" {
		value = "level_zero:" + value
	}
	return []step.Step{{Kind: "env", Text: name + "=" + value}}
}

func llamaUpgrade(c *ledger.Case) []step.Step {
	switch {
	case c.Framework == "lm-studio":
		return []step.Step{{Kind: "ui", Text: "LM Studio: update the program, then Settings > Runtime: update the llama.cpp engine (or choose an earlier one, if this began with an update)."}}
	case c.Framework == "koboldcpp":
		return []step.Step{{Kind: "text", Text: "Take the newest koboldcpp from github.com/LostRuins/koboldcpp/releases."}}
	case c.Says("llama-cpp-python"):
		return []step.Step{{Kind: "shell", Text: "pip install -U --no-cache-dir llama-cpp-python"}}
	case c.Says("node-llama-cpp"):
		return []step.Step{{Kind: "shell", Text: "npm install node-llama-cpp@latest"}}
	}
	return []step.Step{{Kind: "text", Text: "Take the newest llama.cpp from github.com/ggml-org/llama.cpp/releases, or `git pull` and build again. Old GGML files (`.bin`) need a GGUF of the same model then."}}
}
