package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

var efficientAttention = Fix{
	ID:       "efficient_attention",
	Title:    "Use a memory-efficient attention",
	Tradeoff: "None; usually faster.",
	Cost:     cheap,
	Check:    "The request of the next message, if there is one, is far smaller.",
	Next:     "Lower the resolution or the length.",
	Needs:    Needs{notFor: []string{"rendering", "build", "data", "graph"}},
	Told:     "Choose a memory-efficient attention (SDPA, flash or xformers) in your program's settings.",
	Steps:    stepsEfficientAttention,
}

func stepsEfficientAttention(c *ledger.Case) []step.Step {
	library := step.FromPretrained(c, "half = "+reader.HalfType(c)+"\n", reader.DtypeArgument(c)+"=half", `device_map="auto"`, `attn_implementation="sdpa"`)
	fused := step.Step{Kind: "python", Text: "out = torch.nn.functional.scaled_dot_product_attention(q, k, v)   # PyTorch 2; instead of softmax(q @ k.T / sqrt(d)) @ v"}
	if ledger.ReturnsWeights(c) {
		return []step.Step{{Kind: "python", Text: "out, _ = attention(q, k, v, need_weights=False)   # nn.MultiheadAttention of PyTorch 2 writes no matrix then"}, {Kind: "python", Text: "# any version: 256 queries at a time\nout = torch.cat([attention(part, k, v)[0] for part in q.split(256, dim=1)], dim=1)   # batch_first=True"}}
	}
	if ledger.WritesScores(c) {
		return []step.Step{fused, {Kind: "python", Text: "# any version: 256 queries at a time\nparts = [torch.softmax(part @ k.transpose(-2, -1) * k.shape[-1] ** -0.5, -1) @ v for part in q.split(256, dim=-2)]\nout = torch.cat(parts, dim=-2)"}}
	}
	return []step.Step{fused, library}
}
