package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
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
	Effect:   effectMemoryLimit,
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

// effectMemoryLimit: without the fraction the card's free memory counts.
func effectMemoryLimit(c *ledger.Case) *effect.Effect {
	f := c.F()
	switch {
	case f.Requested == nil || f.Free == nil:
		return nil
	case cause.HiddenFraction(c).Weight > cause.None:
		return &effect.Effect{NeedBytes: f.Requested.Bytes, HaveBytes: f.Free.Bytes, Fits: true, Basis: "log",
			Note: fmt.Sprintf("%s of the card was free when %s was refused: without a fraction that counts. Exact for this request.", f.Free, f.Requested)}
	case ledger.Limited(c) == "":
		return nil
	}
	return &effect.Effect{NeedBytes: f.Requested.Bytes, HaveBytes: f.Free.Bytes, Fits: f.Free.Bytes >= f.Requested.Bytes, Basis: "log",
		Note: fmt.Sprintf("%s of the card was free when the limit of %s refused %s. Exact for this request.", f.Free, f.Limit, f.Requested)}
}
