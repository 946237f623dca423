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
		Figures: burnFigures, Headline: "has no memory pool for a request of {asked}",
		Means: "cubecl, Burn's GPU layer, keeps memory pools for requests up to a certain size, and {asked} is larger. So the GPU may still have free memory. A very large tensor, or a kernel that autotuning tried, asks for that much at once.",
		Not:   burnNot,
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Update Burn", Told: "The pools were rewritten more than once. Set the newest `burn` version in Cargo.toml, then build again:", Kind: "shell", Text: "cargo update -p burn && cargo tree -i cubecl-runtime   # shows the version in use", Cost: "the API may have changed"},
			{Fix: "lower_batch_size", Title: "Halve the batch or image size", Told: "Half the batch halves the largest tensor. Find where it is set:", Steps: findBatch, Cost: "slower epochs"},
			{Fix: "limit_framework_preallocation", Title: "Give each tensor its own page", Told: "Set `MemoryConfiguration::ExclusivePages` in the runtime options of the device.", Cost: "more memory overall"},
		},
		Sources: []string{"cubecl/crates/cubecl-runtime/src/memory_management/memory_manage.rs", "cubecl/crates/cubecl-runtime/src/memory_management/base.rs", "https://github.com/tracel-ai/burn/issues/3510"},
	},
	{
		ID: "burn/driver", Kinds: []fact.Kind{fact.RustDriver}, If: func(c *ledger.Case) bool { return c.In("burn") },
		Among: own, Figures: burnFigures, Headline: "ran out of GPU memory",
		Means: "cubecl[[ {cubecl}]], Burn's GPU layer, asked CUDA for a new block of memory, and CUDA refused. Either the batch is too large for the GPU, autotuning tries kernels that need much memory, or another program fills the card.[[ {log} shows when it failed: in the first step the work is too large, after many steps memory grew.]]",
		Not:   burnNot,
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check what else uses the GPU", Told: "Before you start, close what is on it: a browser, a game, an earlier run.", Kind: "shell", Text: "nvidia-smi -l 1", Cost: "free"},
			{Fix: "lower_batch_size", Title: "Lower the batch size", Told: "Try a quarter of it. Find where the program sets it, change it, and build again:", Steps: findBatch, Cost: "slower epochs"},
			{Fix: "upgrade_version", Title: "Turn on gradient checkpointing, update Burn", Told: "`Autodiff<Cuda, BalancedCheckpointing>` as the backend keeps fewer activations. Or set the newest `burn` in Cargo.toml, then `cargo update`: it brings better pools.", Cost: "the API may have changed"},
		},
		Sources: []string{"cubecl/crates/cubecl-cuda/src/compute/storage/gpu.rs", "burn/crates/burn-autodiff/src/checkpoint/strategy.rs", "https://github.com/tracel-ai/burn/issues/3465"},
	},
}
