package rules

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/ggml"
)

// What cures what on ggml: by the part that was refused, since the cure for
// weights is none for a compute buffer.
var llamaRemedies = map[string][]Remedy{
	ModelTooLarge: {
		{Fix: "moe_cpu_offload", Fit: 1.03, If: all(mixtureOfExperts, stage("weights"))},
		{Fix: "fewer_gpu_layers", Fit: 1, If: not(either(onMetal, transcribes))},
		{Fix: "use_lower_quant", Fit: 0.95},
		{Fix: "fewer_gpu_layers", Fit: 0.9, If: onMetal},
		{Fix: "raise_memory_limit", Fit: 0.85, If: onMetal},
		{Fix: "lower_ubatch", Fit: 0.88, If: scratchPool},
		{Fix: "balance_split", Fit: 0.7, If: severalDevices},
		{Fix: "close_other_apps", Fit: 0.72},
		{Fix: "use_smaller_model", Fit: 0.8},
		{Fix: "lower_context", Fit: 0.85, If: not(either(stage("weights"), onMetal, transcribes))},
		{Fix: "kill_stale_process", Fit: 0.5, If: stage("weights")},
	},
	ContextTooLong: {
		{Fix: "enable_flash_attention", Fit: 1.1, If: scoresFill},
		{Fix: "lower_context", Fit: 1},
		{Fix: "quantize_kv_cache", Fit: 0.9, If: either(stage("kv"), rootIs(fact.LlamaGuard))},
		{Fix: "lower_parallel", Fit: 0.93, If: all(rootIs(fact.LlamaGuard), hasFact("n_seq_max"))},
		{Fix: "lower_parallel", Fit: 0.96, If: func(c *Case) bool { return !c.Root(fact.LlamaGuard) && slotsOfContext(c) > 1 }},
		{Fix: "quantize_kv_cache", Fit: 0.6, If: not(either(stage("kv"), rootIs(fact.LlamaGuard), rootIs(fact.GGMLRuntime)))},
		{Fix: "lower_ubatch", Fit: 0.95, If: stage("compute")},
		{Fix: "lower_ubatch", Fit: 0.88, If: scratchPool},
		{Fix: "enable_flash_attention", Fit: 0.92, If: all(not(scoresFill), either(stage("compute"), rootIs(fact.GGMLMetal)))},
		{Fix: "fewer_gpu_layers", Fit: 0.75, If: not(either(hostRefused, onMetal, rootIs(fact.LlamaGuard)))},
		{Fix: "raise_pagefile", Fit: 0.6, If: all(hostRefused, onWindows)},
		{Fix: "raise_memory_limit", Fit: 0.75, If: all(hostRefused, not(onWindows))},
		{Fix: "upgrade_version", Fit: 0.6, If: either(rootIs(fact.LlamaGuard), rootIs(fact.GGMLRuntime))},
		{Fix: "balance_split", Fit: 0.5, If: severalDevices},
	},
	BatchTooLarge: {
		{Fix: "vae_tiling", Fit: 1, If: all(diffuses, not(samples))},
		{Fix: "lower_resolution", Fit: 0.9, If: diffuses},
		{Fix: "enable_flash_attention", Fit: 0.85, If: samples},
		{Fix: "restart_session", Fit: 0.7, If: diffuses},
		{Fix: "enable_flash_attention", Fit: 1.1, If: all(scoresFill, not(diffuses))},
		{Fix: "lower_ubatch", Fit: 1, If: all(stage("compute"), not(diffuses))},
		{Fix: "lower_context", Fit: 0.85, If: all(stage("compute"), not(diffuses))},
		{Fix: "lower_batch_size", Fit: 1, If: rootIs(fact.GGMLPool)},
		{Fix: "upgrade_version", Fit: 0.6, If: arena},
		{Fix: "fewer_gpu_layers", Fit: 0.5, If: all(stage("compute"), not(either(hostRefused, diffuses)))},
		{Fix: "cpu_offload", Fit: 0.6, If: all(stage("compute"), diffuses)},
		{Fix: "upgrade_version", Fit: 0.5, If: not(arena)},
	},
	OversizedAllocation: {
		{Fix: "upgrade_version", Fit: 1, If: stage("weights")},
		{Fix: "use_lower_quant", Fit: 0.95, If: stage("weights")},
		{Fix: "fewer_gpu_layers", Fit: 0.7, If: stage("weights")},
		{Fix: "lower_resolution", Fit: 1, If: diffuses},
		{Fix: "vae_tiling", Fit: 0.9, If: all(diffuses, not(samples))},
		{Fix: "lower_ubatch", Fit: 1, If: not(either(stage("weights"), diffuses))},
		{Fix: "enable_flash_attention", Fit: 0.96, If: not(stage("weights"))},
		{Fix: "lower_context", Fit: 0.93, If: not(either(stage("weights"), diffuses))},
		{Fix: "upgrade_version", Fit: 0.75, If: not(stage("weights"))},
	},
	HostMemory: {
		{Fix: "raise_memory_limit", Fit: 1.4, If: either(mmapRefused, capped)},
		{Fix: "use_mmap", Fit: 1.3, If: all(unmapped, either(stage("weights"), loading))},
		{Fix: "close_other_apps", Fit: 1, If: not(capped)},
		{Fix: "raise_pagefile", Fit: 0.97, If: onWindows},
		{Fix: "use_smaller_model", Fit: 0.85, If: not(stage("compute"))},
		{Fix: "add_swap", Fit: 0.85, If: not(either(onWindows, capped))},
		{Fix: "use_mmap", Fit: 0.9, If: all(stage("weights"), not(either(mmapRefused, unmapped)))},
		{Fix: "upgrade_version", Fit: 0.6, If: stage("compute")},
		{Fix: "raise_memory_limit", Fit: 0.75, If: not(either(mmapRefused, capped))},
	},
	DeviceImbalance: {
		{Fix: "select_gpu", Fit: 1, If: oddCard},
		{Fix: "balance_split", Fit: 1, If: not(oddCard)},
		{Fix: "fewer_gpu_layers", Fit: 0.85, If: oddCard},
		{Fix: "lower_context", Fit: 0.6},
		{Fix: "quantize_kv_cache", Fit: 0.5, If: stage("kv")},
		{Fix: "select_gpu", Fit: 0.4, If: not(oddCard)},
	},
	SoftwareBug: {
		{Fix: "upgrade_version", Fit: 1},
		{Fix: "lower_resolution", Fit: 0.8, If: all(arena, diffuses)},
		{Fix: "lower_context", Fit: 0.5, If: all(rootIs(fact.GGMLPlan), not(loading))},
		{Fix: "lower_ubatch", Fit: 0.8, If: either(stage("compute"), rootIs(fact.GGMLSYCL))},
		{Fix: "enable_flash_attention", Fit: 0.75, If: stage("compute")},
		{Fix: "close_other_apps", Fit: 0.8, If: all(onMetal, rootIs(fact.GGMLAlloc))},
		{Fix: "use_smaller_model", Fit: 0.6, If: all(onMetal, rootIs(fact.GGMLAlloc))},
		{Fix: "select_gpu", Fit: 0.85, If: either(rootIs(fact.GGMLSYCL), all(rootIs(fact.GGMLAlloc), bare))},
		{Fix: "fewer_gpu_layers", Fit: 0.8, If: all(rootIs(fact.GGMLAlloc), bare)},
	},
	Unknown: {
		{Fix: "lower_parallel", Fit: 1, If: stage("state")},
		{Fix: "upgrade_version", Fit: 0.9},
		{Fix: "fewer_gpu_layers", Fit: 0.95, If: not(stage("state"))},
		{Fix: "lower_context", Fit: 0.92},
	},
}

func stage(name string) func(*Case) bool {
	return func(c *Case) bool { return c.Failure.Stage == name }
}

func hasFact(name string) func(*Case) bool {
	return func(c *Case) bool { _, ok := c.Fact(name); return ok }
}

func all(conditions ...func(*Case) bool) func(*Case) bool {
	return func(c *Case) bool {
		for _, holds := range conditions {
			if !holds(c) {
				return false
			}
		}
		return true
	}
}

func either(conditions ...func(*Case) bool) func(*Case) bool {
	return func(c *Case) bool {
		for _, holds := range conditions {
			if holds(c) {
				return true
			}
		}
		return false
	}
}

// unmapped: the file is copied into memory instead of mapped. Builds of 2026
// print how they load.
func unmapped(c *Case) bool {
	s, ok := c.Setting("no_mmap")
	return ok && s.Value != "off" && s.Value != "false"
}

func loading(c *Case) bool     { return c.Phase == "load" }
func diffuses(c *Case) bool    { return c.Says("stable-diffusion.cpp") }
func transcribes(c *Case) bool { return c.Says("whisper.cpp") }

// samples: stable-diffusion.cpp was denoising; tiles of the VAE come later.
func samples(c *Case) bool {
	part, ok := c.Fact("diffusion_part")
	return hasFact("image_sampling")(c) && !hasFact("image_decoding")(c) && !(ok && strings.Contains(part.Text, "vae"))
}

// scratchPool: the pool of temporaries was refused, which grows with the
// tokens of one physical batch.
func scratchPool(c *Case) bool {
	return c.Root(fact.GGMLRuntime) && c.contains("in function alloc ")
}

func onMetal(c *Case) bool     { return c.Backend == "metal" }
func hostRefused(c *Case) bool { return ggmlRefused(c) && inHost(c) }
func bare(c *Case) bool        { return c.Failure.Stage == "" }
func arena(c *Case) bool       { return c.Root(fact.GGMLPool, fact.GGMLPlan) }
func oddCard(c *Case) bool     { return integratedCard(c).Weight > 0 }

// severalDevices reports that more than one card takes part.
func severalDevices(c *Case) bool {
	seen := map[int]bool{}
	for _, d := range c.Facts.Devices {
		if d.Index >= 0 {
			seen[d.Index] = true
		}
	}
	for _, b := range c.Facts.Buffers {
		if b.Kind == "weights" && !ggml.HostMemory(b.Device) {
			if n := b.Device[len(b.Device)-1]; n >= '0' && n <= '9' {
				seen[int(n-'0')] = true
			}
		}
	}
	return len(seen) > 1
}
