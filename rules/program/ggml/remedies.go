package ggml

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/load"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// What cures what on ggml: by the part that was refused, since the cure for
// weights is none for a compute buffer.
var llamaRemedies = map[string][]cause.Remedy{
	cause.ModelTooLarge: {
		{Fix: "moe_cpu_offload", Fit: cause.Foremost, If: when.All(mixtureOfExperts, stage("weights"))},
		{Fix: "fewer_gpu_layers", Fit: cause.Cures, If: when.Not(when.Any(onMetal, transcribes))},
		{Fix: "use_lower_quant", Fit: cause.Cures, If: func(c *ledger.Case) bool {
			return c.Asked.Bytes <= largestCard || stage("kv")(c) || stage("compute")(c)
		}},
		{Fix: "fewer_gpu_layers", Fit: cause.Helps, If: onMetal},
		{Fix: "lower_ubatch", Fit: cause.Helps, If: scratchPool},
		{Fix: "raise_memory_limit", Fit: cause.Helps, If: onMetal},
		{Fix: "lower_context", Fit: cause.Helps, If: when.Not(when.Any(stage("weights"), onMetal, transcribes))},
		{Fix: "use_smaller_model", Fit: cause.Helps},
		{Fix: "close_other_apps", Fit: cause.MayHelp},
		{Fix: "balance_split", Fit: cause.MayHelp, If: severalDevices},
		{Fix: "kill_stale_process", Fit: cause.LastResort, If: stage("weights")},
	},
	cause.ContextTooLong: {
		{Fix: "enable_flash_attention", Fit: cause.Foremost, If: scoresFill},
		{Fix: "lower_context", Fit: cause.Cures},
		{Fix: "lower_parallel", Fit: cause.Cures, If: func(c *ledger.Case) bool { return slots(c) > 1 }},
		{Fix: "lower_ubatch", Fit: cause.Cures, If: stage("compute")},
		{Fix: "enable_flash_attention", Fit: cause.Helps, If: when.All(when.Not(when.Any(scoresFill, oldVulkan)), when.Any(stage("compute"), when.Root(fact.GGMLMetal)))},
		{Fix: "quantize_kv_cache", Fit: cause.Helps, If: when.All(when.Not(oldVulkan), when.Any(stage("kv"), when.Root(fact.LlamaGuard)))},
		{Fix: "lower_ubatch", Fit: cause.Helps, If: scratchPool},
		{Fix: "fewer_gpu_layers", Fit: cause.MayHelp, If: when.Not(when.Any(hostRefused, onMetal, when.Root(fact.LlamaGuard)))},
		{Fix: "raise_memory_limit", Fit: cause.MayHelp, If: when.All(hostRefused, when.Not(reader.OnWindows))},
		{Fix: "quantize_kv_cache", Fit: cause.MayHelp, If: when.Not(when.Any(oldVulkan, stage("kv"), when.Root(fact.LlamaGuard), when.Root(fact.GGMLRuntime)))},
		{Fix: "raise_pagefile", Fit: cause.MayHelp, If: when.All(hostRefused, reader.OnWindows)},
		{Fix: "upgrade_version", Fit: cause.MayHelp, If: when.Any(when.Root(fact.LlamaGuard), when.Root(fact.GGMLRuntime))},
		{Fix: "balance_split", Fit: cause.LastResort, If: severalDevices},
	},
	cause.BatchTooLarge: {
		{Fix: "enable_flash_attention", Fit: cause.Foremost, If: when.All(scoresFill, when.Not(diffuses))},
		{Fix: "vae_tiling", Fit: cause.Cures, If: when.All(diffuses, when.Not(samples))},
		{Fix: "lower_ubatch", Fit: cause.Cures, If: when.All(stage("compute"), when.Not(diffuses))},
		{Fix: "lower_batch_size", Fit: cause.Cures, If: when.Root(fact.GGMLPool)},
		{Fix: "lower_resolution", Fit: cause.Helps, If: diffuses},
		{Fix: "enable_flash_attention", Fit: cause.Helps, If: samples},
		{Fix: "lower_context", Fit: cause.Helps, If: when.All(stage("compute"), when.Not(diffuses))},
		{Fix: "restart_session", Fit: cause.MayHelp, If: diffuses},
		{Fix: "cpu_offload", Fit: cause.MayHelp, If: when.All(stage("compute"), diffuses)},
		{Fix: "fewer_gpu_layers", Fit: cause.LastResort, If: when.All(stage("compute"), when.Not(when.Any(hostRefused, diffuses)))},
		{Fix: "upgrade_version", Fit: cause.LastResort},
	},
	cause.OversizedAllocation: {
		{Fix: "upgrade_version", Fit: cause.Cures, If: stage("weights")},
		{Fix: "lower_resolution", Fit: cause.Cures, If: diffuses},
		{Fix: "lower_ubatch", Fit: cause.Cures, If: when.Not(when.Any(stage("weights"), diffuses))},
		{Fix: "enable_flash_attention", Fit: cause.Cures, If: when.Not(stage("weights"))},
		{Fix: "use_lower_quant", Fit: cause.Cures, If: stage("weights")},
		{Fix: "lower_context", Fit: cause.Cures, If: when.All(load.ContextInPiece, when.Not(when.Any(stage("weights"), diffuses)))},
		{Fix: "vae_tiling", Fit: cause.Helps, If: when.All(diffuses, when.Not(samples))},
		{Fix: "upgrade_version", Fit: cause.MayHelp, If: when.Not(stage("weights"))},
		{Fix: "fewer_gpu_layers", Fit: cause.MayHelp, If: stage("weights")},
	},
	cause.HostMemory: {
		{Fix: "raise_memory_limit", Fit: cause.Foremost, If: when.Any(mmapRefused, ledger.Capped)},
		{Fix: "use_mmap", Fit: cause.Foremost, If: when.All(unmapped, when.Any(stage("weights"), loading))},
		{Fix: "close_other_apps", Fit: cause.Cures, If: when.Not(ledger.Capped)},
		{Fix: "raise_pagefile", Fit: cause.Cures, If: reader.OnWindows},
		{Fix: "use_mmap", Fit: cause.Helps, If: when.All(stage("weights"), when.Not(when.Any(mmapRefused, unmapped, load.MapsFile)))},
		{Fix: "use_smaller_model", Fit: cause.Helps, If: when.Not(stage("compute"))},
		{Fix: "add_swap", Fit: cause.Helps, If: when.Not(when.Any(reader.OnWindows, ledger.Capped))},
		{Fix: "raise_memory_limit", Fit: cause.MayHelp, If: when.Not(when.Any(mmapRefused, ledger.Capped))},
		{Fix: "upgrade_version", Fit: cause.MayHelp, If: stage("compute")},
	},
	cause.DeviceImbalance: {
		{Fix: "select_gpu", Fit: cause.Cures, If: OddCard},
		{Fix: "balance_split", Fit: cause.Cures, If: when.Not(OddCard)},
		{Fix: "fewer_gpu_layers", Fit: cause.Helps, If: OddCard},
		{Fix: "lower_context", Fit: cause.MayHelp},
	},
	cause.SoftwareBug: {
		{Fix: "upgrade_version", Fit: cause.Cures},
		{Fix: "select_gpu", Fit: cause.Helps, If: when.All(when.Not(load.OneDevice), when.Any(when.Root(fact.GGMLSYCL), when.All(when.Root(fact.GGMLAlloc), bare)))},
		{Fix: "lower_ubatch", Fit: cause.Helps, If: when.Any(stage("compute"), when.Root(fact.GGMLSYCL))},
		{Fix: "close_other_apps", Fit: cause.Helps, If: when.All(onMetal, when.Root(fact.GGMLAlloc))},
		{Fix: "fewer_gpu_layers", Fit: cause.Helps, If: when.All(when.Root(fact.GGMLAlloc), bare)},
		{Fix: "enable_flash_attention", Fit: cause.MayHelp, If: stage("compute")},
		{Fix: "use_smaller_model", Fit: cause.MayHelp, If: when.All(onMetal, when.Root(fact.GGMLAlloc))},
	},
	cause.Unknown: {
		{Fix: "lower_parallel", Fit: cause.Cures, If: when.All(stage("state"), when.Not(load.OneSlot))},
		{Fix: "fewer_gpu_layers", Fit: cause.Cures, If: when.Any(load.OneSlot, when.Not(stage("state")))},
		{Fix: "lower_context", Fit: cause.Helps},
		{Fix: "upgrade_version", Fit: cause.Helps},
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
