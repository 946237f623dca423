package parts

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// CompilerKilled is the card of a server whose first start compiles kernels for
// the card that it runs on.
func CompilerKilled(name string) cause.Card {
	return cause.Card{
		ID: name + "/compiler-killed", Kinds: []fact.Kind{fact.BuildKilled}, Unsaid: []string{"Building wheel", "setup.py", "pip install"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was compiling kernels when Linux killed the compiler[[ ({victim})]]: system memory (RAM) ran out",
		Means:    "At its first start the server compiles kernels for your card (FlashInfer, DeepGEMM, torch.compile), several at a time, each with 2 to 8 GB of RAM.[[ The weights took {weights}.]] Where CPU and GPU share one memory (DGX Spark, Jetson, APUs), the compilers have only what the model leaves.",
		Not:      "A shorter context: compiling does not depend on it.",
		Figures: func(c *ledger.Case) map[string]string {
			v, _ := c.Fact("victim")
			out := map[string]string{"victim": v.Text, "weights": ""}
			if w := ledger.Sized(c, "weights_loaded"); w > 0 {
				out["weights"] = units.Amount(w)
			}
			return out
		},
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Set `MAX_JOBS=1` for the first start", Told: "It then compiles one kernel at a time. Keep `~/.cache` (in a container as a volume): compiled kernels are reused from there.", Kind: "shell", Text: "export MAX_JOBS=1 NVCC_THREADS=1 FLASHINFER_NVCC_THREADS=1", Cost: "a first start of up to an hour"},
			{Fix: "add_swap", Title: "Or add swap for the compilers", Cost: "disk, and a slow first start"},
			{Fix: "upgrade_version", Title: "Or install precompiled kernels", Told: "FlashInfer has them for most cards (cu129: your CUDA version): `pip install flashinfer-jit-cache --index-url https://flashinfer.ai/whl/cu129`.", Cost: "a download of some GB"},
		},
		Sources: []string{"https://docs.flashinfer.ai/installation.html", "pytorch/torch/utils/cpp_extension.py", "flashinfer/flashinfer/jit/cpp_ext.py"},
	}
}
