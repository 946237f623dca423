package engine

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
		Headline: "was compiling kernels when Linux killed the compiler[[, {victim},]] for want of RAM",
		Means:    "The server itself did not fail: at its first start it compiles kernels for your card (FlashInfer, DeepGEMM, torch.compile), several at a time, each 2 to 8 GB of RAM.[[ The weights had taken {weights} by then.]] Where card and processor share their memory (DGX Spark, Jetson, APUs), the compilers have only what the model leaves.",
		Not:      "A shorter context or a smaller share first: what is compiled is kept, so a start that gets through once needs no compiler again.",
		Figures: func(c *ledger.Case) map[string]string {
			v, _ := c.Fact("victim")
			out := map[string]string{"victim": v.Text, "weights": ""}
			if w := ledger.Sized(c, "weights_loaded"); w > 0 {
				out["weights"] = units.Amount(w)
			}
			return out
		},
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Compile one at a time, for the first start", Told: "Where you start the server; a higher `MAX_JOBS` that is set there now is the cause. Keep `~/.cache` (a container: as a volume), it holds what is compiled.", Kind: "shell", Text: "export MAX_JOBS=1 NVCC_THREADS=1 FLASHINFER_NVCC_THREADS=1", Cost: "a first start of up to an hour"},
			{Fix: "add_swap", Title: "Or swap for the compilers", Cost: "disk, and a slow first start"},
			{Fix: "upgrade_version", Title: "Or do not compile", Told: "FlashInfer has its kernels ready made for most cards (cu129: your CUDA version): `pip install flashinfer-jit-cache --index-url https://flashinfer.ai/whl/cu129`.", Cost: "a download of some GB"},
		},
		Sources: []string{"https://docs.flashinfer.ai/installation.html", "pytorch/torch/utils/cpp_extension.py", "flashinfer/flashinfer/jit/cpp_ext.py"},
	}
}
