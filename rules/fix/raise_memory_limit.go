package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

var raiseMemoryLimit = Fix{
	ID:       "raise_memory_limit",
	Title:    "Raise the memory limit that was set",
	Tradeoff: "Less for the other programs of the machine.",
	Cost:     moderate,
	Check:    "`docker stats`, `kubectl top pod` or `sacct -o MaxRSS` stay below the new limit; for PyTorch the message no longer says `allowed`.",
	Next:     "If the need grows with the limit, something leaks: look for what grows.",
	Told:     "Raise the memory limit of the container or job, above what the log says was needed.",
	Steps:    stepsMemoryLimit,
}

func stepsMemoryLimit(c *ledger.Case) []step.Step {
	if ledger.Limited(c) != "" || c.Root(fact.TorchAlloc, fact.TorchAsync) {
		return []step.Step{{Kind: "python", Text: fmt.Sprintf("torch.cuda.set_per_process_memory_fraction(1.0, %d)   # or remove the line that sets it lower", ledger.GPU(c))}}
	}
	if reader.RefusedByAllocator(c) {
		return step.AddressSpace(c)
	}
	if c.Reader.OS == "wsl" {
		return []step.Step{
			{Kind: "config", Text: "# C:\\Users\\YOU\\.wslconfig\n[wsl2]\nmemory=24GB\nswap=32GB"},
			{Kind: "shell", Text: "wsl --shutdown   # in PowerShell; then start WSL again"},
		}
	}
	return []step.Step{
		{Kind: "shell", Text: "docker run --memory=32g --memory-swap=32g IMAGE"},
		{Kind: "config", Text: "resources:\n  requests: {memory: 32Gi}\n  limits: {memory: 32Gi}"},
		{Kind: "shell", Text: "#SBATCH --mem=64G"},
	}
}
