package ggml

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// What cures what on ggml: by the part that was refused, since the cure for
// weights is none for a compute buffer.
var llamaRemedies = map[string][]cause.Remedy{
	cause.ModelTooLarge: {
		{Fix: "moe_cpu_offload", Fit: 1.03, If: when.All(mixtureOfExperts, stage("weights"))},
		{Fix: "fewer_gpu_layers", Fit: 1, If: when.Not(when.Any(onMetal, transcribes))},
		{Fix: "use_lower_quant", Fit: 0.95},
		{Fix: "fewer_gpu_layers", Fit: 0.9, If: onMetal},
		{Fix: "raise_memory_limit", Fit: 0.85, If: onMetal},
		{Fix: "lower_ubatch", Fit: 0.88, If: scratchPool},
		{Fix: "balance_split", Fit: 0.7, If: severalDevices},
		{Fix: "close_other_apps", Fit: 0.72},
		{Fix: "use_smaller_model", Fit: 0.8},
		{Fix: "lower_context", Fit: 0.85, If: when.Not(when.Any(stage("weights"), onMetal, transcribes))},
		{Fix: "kill_stale_process", Fit: 0.5, If: stage("weights")},
	},
	cause.ContextTooLong: {
		{Fix: "enable_flash_attention", Fit: 1.1, If: scoresFill},
		{Fix: "lower_context", Fit: 1},
		{Fix: "quantize_kv_cache", Fit: 0.9, If: when.All(when.Not(oldVulkan), when.Any(stage("kv"), when.Root(fact.LlamaGuard)))},
		{Fix: "lower_parallel", Fit: 0.95, If: func(c *ledger.Case) bool { return slots(c) > 1 }},
		{Fix: "quantize_kv_cache", Fit: 0.6, If: when.Not(when.Any(oldVulkan, stage("kv"), when.Root(fact.LlamaGuard), when.Root(fact.GGMLRuntime)))},
		{Fix: "lower_ubatch", Fit: 0.95, If: stage("compute")},
		{Fix: "lower_ubatch", Fit: 0.88, If: scratchPool},
		{Fix: "enable_flash_attention", Fit: 0.92, If: when.All(when.Not(when.Any(scoresFill, oldVulkan)), when.Any(stage("compute"), when.Root(fact.GGMLMetal)))},
		{Fix: "fewer_gpu_layers", Fit: 0.75, If: when.Not(when.Any(hostRefused, onMetal, when.Root(fact.LlamaGuard)))},
		{Fix: "raise_pagefile", Fit: 0.6, If: when.All(hostRefused, reader.OnWindows)},
		{Fix: "raise_memory_limit", Fit: 0.75, If: when.All(hostRefused, when.Not(reader.OnWindows))},
		{Fix: "upgrade_version", Fit: 0.6, If: when.Any(when.Root(fact.LlamaGuard), when.Root(fact.GGMLRuntime))},
		{Fix: "balance_split", Fit: 0.5, If: severalDevices},
	},
	cause.BatchTooLarge: {
		{Fix: "vae_tiling", Fit: 1, If: when.All(diffuses, when.Not(samples))},
		{Fix: "lower_resolution", Fit: 0.9, If: diffuses},
		{Fix: "enable_flash_attention", Fit: 0.85, If: samples},
		{Fix: "restart_session", Fit: 0.7, If: diffuses},
		{Fix: "enable_flash_attention", Fit: 1.1, If: when.All(scoresFill, when.Not(diffuses))},
		{Fix: "lower_ubatch", Fit: 1, If: when.All(stage("compute"), when.Not(diffuses))},
		{Fix: "lower_context", Fit: 0.85, If: when.All(stage("compute"), when.Not(diffuses))},
		{Fix: "lower_batch_size", Fit: 1, If: when.Root(fact.GGMLPool)},
		{Fix: "fewer_gpu_layers", Fit: 0.5, If: when.All(stage("compute"), when.Not(when.Any(hostRefused, diffuses)))},
		{Fix: "cpu_offload", Fit: 0.6, If: when.All(stage("compute"), diffuses)},
		{Fix: "upgrade_version", Fit: 0.5},
	},
	cause.OversizedAllocation: {
		{Fix: "upgrade_version", Fit: 1, If: stage("weights")},
		{Fix: "use_lower_quant", Fit: 0.95, If: stage("weights")},
		{Fix: "fewer_gpu_layers", Fit: 0.7, If: stage("weights")},
		{Fix: "lower_resolution", Fit: 1, If: diffuses},
		{Fix: "vae_tiling", Fit: 0.9, If: when.All(diffuses, when.Not(samples))},
		{Fix: "lower_ubatch", Fit: 1, If: when.Not(when.Any(stage("weights"), diffuses))},
		{Fix: "enable_flash_attention", Fit: 0.96, If: when.Not(stage("weights"))},
		{Fix: "lower_context", Fit: 0.93, If: when.Not(when.Any(stage("weights"), diffuses))},
		{Fix: "upgrade_version", Fit: 0.75, If: when.Not(stage("weights"))},
	},
	cause.HostMemory: {
		{Fix: "raise_memory_limit", Fit: 1.4, If: when.Any(mmapRefused, ledger.Capped)},
		{Fix: "use_mmap", Fit: 1.3, If: when.All(unmapped, when.Any(stage("weights"), loading))},
		{Fix: "close_other_apps", Fit: 1, If: when.Not(ledger.Capped)},
		{Fix: "raise_pagefile", Fit: 0.97, If: reader.OnWindows},
		{Fix: "use_smaller_model", Fit: 0.85, If: when.Not(stage("compute"))},
		{Fix: "add_swap", Fit: 0.85, If: when.Not(when.Any(reader.OnWindows, ledger.Capped))},
		{Fix: "use_mmap", Fit: 0.9, If: when.All(stage("weights"), when.Not(when.Any(mmapRefused, unmapped)))},
		{Fix: "upgrade_version", Fit: 0.6, If: stage("compute")},
		{Fix: "raise_memory_limit", Fit: 0.75, If: when.Not(when.Any(mmapRefused, ledger.Capped))},
	},
	cause.DeviceImbalance: {
		{Fix: "select_gpu", Fit: 1, If: OddCard},
		{Fix: "balance_split", Fit: 1, If: when.Not(OddCard)},
		{Fix: "fewer_gpu_layers", Fit: 0.85, If: OddCard},
		{Fix: "lower_context", Fit: 0.6},
	},
	cause.SoftwareBug: {
		{Fix: "upgrade_version", Fit: 1},
		{Fix: "lower_ubatch", Fit: 0.8, If: when.Any(stage("compute"), when.Root(fact.GGMLSYCL))},
		{Fix: "enable_flash_attention", Fit: 0.75, If: stage("compute")},
		{Fix: "close_other_apps", Fit: 0.8, If: when.All(onMetal, when.Root(fact.GGMLAlloc))},
		{Fix: "use_smaller_model", Fit: 0.6, If: when.All(onMetal, when.Root(fact.GGMLAlloc))},
		{Fix: "select_gpu", Fit: 0.85, If: when.Any(when.Root(fact.GGMLSYCL), when.All(when.Root(fact.GGMLAlloc), bare))},
		{Fix: "fewer_gpu_layers", Fit: 0.8, If: when.All(when.Root(fact.GGMLAlloc), bare)},
	},
	cause.Unknown: {
		{Fix: "lower_parallel", Fit: 1, If: stage("state")},
		{Fix: "upgrade_version", Fit: 0.9},
		{Fix: "fewer_gpu_layers", Fit: 0.95, If: when.Not(stage("state"))},
		{Fix: "lower_context", Fit: 0.92},
	},
}

// unmapped: the file is copied into memory instead of mapped. Builds of 2026
// print how they load.
func unmapped(c *ledger.Case) bool {
	s, ok := c.Setting("no_mmap")
	return ok && s.Value != "off" && s.Value != "false"
}

// samples: stable-diffusion.cpp was denoising; tiles of the VAE come later.
func samples(c *ledger.Case) bool {
	part, ok := c.Fact("diffusion_part")
	return when.Fact("image_sampling")(c) && !when.Fact("image_decoding")(c) && !(ok && strings.Contains(part.Text, "vae"))
}

// scratchPool: the pool of temporaries was refused, which grows with the
// tokens of one physical batch.
func scratchPool(c *ledger.Case) bool {
	return c.Root(fact.GGMLRuntime) && c.Contains("in function alloc ")
}
