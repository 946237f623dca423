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
		Headline: "was compiling kernels when Linux killed the compiler[[ ({victim})]]: system RAM ran out",
		Means:    "At its first start the server compiles kernels for your GPU. It runs several compilers at a time, and each needs 2 to 8 GB of RAM. On machines where CPU and GPU share memory (DGX Spark, Jetson, APUs), they have only what the model leaves.[[ The weights took {weights}.]]",
		Not:      "A shorter context or smaller batch: compiling does not depend on them.",
		Figures: func(c *ledger.Case) map[string]string {
			v, _ := c.Fact("victim")
			out := map[string]string{"victim": v.Text, "weights": ""}
			if w := ledger.Sized(c, "weights_loaded"); w > 0 {
				out["weights"] = units.Amount(w)
			}
			return out
		},
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Set `MAX_JOBS=1` for the first start", Told: "It then compiles one kernel at a time. Keep `~/.cache` (in a container as a volume): the next start reuses it.", Kind: "shell", Text: "export MAX_JOBS=1 NVCC_THREADS=1 FLASHINFER_NVCC_THREADS=1", Cost: "a first start of up to an hour"},
			{Fix: "add_swap", Title: "Or add swap for the compilers", Cost: "disk, and a slow first start"},
			{Fix: "upgrade_version", Title: "Or install precompiled kernels", Told: "FlashInfer has them for most GPUs (replace cu129 with your CUDA version): `pip install flashinfer-jit-cache --index-url https://flashinfer.ai/whl/cu129`.", Cost: "a download of some GB"},
		},
		Sources: []string{"https://docs.flashinfer.ai/installation.html", "pytorch/torch/utils/cpp_extension.py", "flashinfer/flashinfer/jit/cpp_ext.py"},
	}
}
