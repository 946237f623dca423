package rest

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Burn is the deep learning framework of Rust.
var Burn = program.Program{
	Name: "burn", Shown: "Burn", Edits: "code", Language: "rust", Script: "burn",
	Proofs: []string{"cubecl-", "cubecl_", "burn-core-", "burn_core", "burn_fusion"},
	Titles: map[string]string{"gradient_checkpointing": "Turn on gradient checkpointing", "lower_batch_size": "Lower the batch size", "upgrade_version": "Update Burn"},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"gradient_checkpointing": step.Paste("text", "In the type of the backend: `Autodiff<Cuda, BalancedCheckpointing>`, from `burn::backend::autodiff::checkpoint::strategy`."),
		"lower_batch_size":       findBatch,
	},
	Cards: burnCards,
}

const burnNot = "PyTorch's settings (`PYTORCH_CUDA_ALLOC_CONF`): Burn does not read them."

// findBatch looks for the batch in Rust sources, the way of the system.
func findBatch(c *ledger.Case) []step.Step {
	if c.Windows() {
		return []step.Step{{Kind: "shell", Text: "findstr /s /n batch_size *.rs"}}
	}
	return []step.Step{{Kind: "shell", Text: "grep -rn batch_size src examples"}}
}

// cubeclVersion is the crate's that failed, as the path in the panic names it.
func burnFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"cubecl": "", "log": ""}
	if x, ok := c.Fact("burn_log"); ok {
		out["log"] = "`" + x.Text + "`"
	}
	if v, ok := c.Fact("cubecl_version"); ok {
		out["cubecl"] = strings.TrimSpace(v.Text)
	}
	return out
}

var burnCards = []cause.Card{
	{
		ID: "burn/pool-size", Kinds: []fact.Kind{fact.BurnPool},
		Cause: cause.SoftwareBug, Weight: cause.Likely, Figures: burnFigures, Headline: "has no memory pool for a request of {asked}",
		Means: "cubecl, Burn's layer for the GPU, keeps pools for requests of certain sizes, and has none for {asked}. The pools, or the largest buffer of the device, end below it, so the card may still have free memory. Such sizes come from a very large tensor, or from a kernel that autotuning tried.",
		Not:   burnNot,
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Update Burn", Told: "In Cargo.toml, then build again; the pools were rewritten more than once:", Kind: "shell", Text: "cargo update -p burn && cargo tree -i cubecl-runtime   # a new minor version has to be set in Cargo.toml", Cost: "The API may have changed"},
			{Fix: "lower_batch_size", Title: "Lower the batch or image size", Told: "Half the batch halves the largest tensor. To find where it is set:", Steps: findBatch, Cost: "Slower epochs"},
			{Fix: "limit_framework_preallocation", Title: "Use exclusive pages", Told: "`MemoryConfiguration::ExclusivePages`, in the runtime options of the device, gives each tensor its own page.", Cost: "More memory overall"},
		},
		Sources: []string{"cubecl/crates/cubecl-runtime/src/memory_management/memory_manage.rs", "cubecl/crates/cubecl-runtime/src/memory_management/base.rs", "https://github.com/tracel-ai/burn/issues/3510"},
	},
	{
		ID: "burn/driver", Kinds: []fact.Kind{fact.RustDriver}, If: func(c *ledger.Case) bool { return c.In("burn") },
		Cause: cause.BatchTooLarge, Weight: cause.Good, Figures: burnFigures, Headline: "ran out of GPU memory",
		Means: "cubecl[[ {cubecl}]], Burn's layer for the GPU, asked CUDA for a new page of its memory pool and was refused. Batch x image size (or length) needs more than is free, autotuning tries kernels with large working memory, or another program holds the card.[[ {log} shows when it failed: in the first step the work is too large, after many steps memory grew.]]",
		Not:   burnNot,
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check what else uses the card", Told: "Close what is on it before the start (browser, game, an earlier run of this program).", Kind: "shell", Text: "nvidia-smi -l 1", Cost: "Free"},
			{Fix: "lower_batch_size", Title: "Lower the batch size", Told: "To a quarter, as a test. Find where the program sets it, change it, build and start as before:", Steps: findBatch, Cost: "An epoch takes longer"},
			{Fix: "upgrade_version", Title: "Turn on checkpointing, update Burn", Told: "`Autodiff<Cuda, BalancedCheckpointing>` as the backend keeps fewer activations. The newest `burn` in Cargo.toml, then `cargo update`, brings other pools and autotuning.", Cost: "The API may have changed"},
		},
		Sources: []string{"cubecl/crates/cubecl-cuda/src/compute/storage/gpu.rs", "burn/crates/burn-autodiff/src/checkpoint/strategy.rs", "https://github.com/tracel-ai/burn/issues/3465"},
	},
}
