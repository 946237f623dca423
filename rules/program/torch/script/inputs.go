package script

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// copiesInput: the statement only brings one array to the card, and computes
// nothing.
func copiesInput(s statement) bool {
	return s.itself() && s.says("from_numpy(", "torch.tensor(", "FloatTensor(", "torch.Tensor(", "ToTensor()(") && s.says(".to(device", ".cuda(", ".to('cuda", ".to(\"cuda", ".to(self.device") && !s.says("model(", "net(", "stack(", "cat(")
}

// littleBeside: what was asked for is nothing beside what lies there already.
func littleBeside(c *ledger.Case) bool {
	live := c.F().Allocated
	return live != nil && c.Asked.Has() && c.Asked.Bytes*100 < live.Bytes && live.Bytes*2 > c.Total.Bytes
}

// inputsKept is about a loop that moves its inputs to the card and leaves them,
// or what it made of them, there.
var inputsKept = cause.Card{
	ID: "pytorch/inputs-kept", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(of(copiesInput), alone, littleBeside, ledger.OnCard),
	Cause: cause.RetainedMemory, Weight: cause.Strong, Headline: "ran out of memory while copying one input of {asked} to the GPU, where tensors of this program held {live}",
	Means: "The failing line computes nothing: it copies one array of {asked}. What fills the GPU was there before: inputs that a loop moved there earlier, results or graphs of earlier iterations, or a very large model.",
	Not:   "16 bit for this input: it is {asked} beside {live}.",
	Cures: []cause.Cure{
		{Fix: "stream_dataset", Title: "Move each input to the GPU just before its use", Cost: "hardly slower", Told: "Build lists and data sets in RAM (without `.to(device)`). A `DataLoader` that reads the files is best. To test: if a tenth of the data runs, this was it.", Kind: "python", Text: "for x in inputs:          # in RAM\n    y = model(x.to(device))   # only this one on the GPU"},
		{Fix: "detach_accumulated", Title: "Keep no results or losses on the GPU", Cost: "none", Told: "Store results with `.detach().cpu()`, add up `loss.item()`; where nothing is trained, run under `torch.no_grad()`."},
		{Fix: "lower_resolution", Title: "If it fails at the first input: smaller inputs, or a smaller model", Cost: "detail", Told: "Then the model takes most of it. {tested}"},
	},
	Figures: func(c *ledger.Case) map[string]string {
		out := cures.Scene(c)
		out["live"] = c.F().Allocated.String()
		out["tested"] = "`print(torch.cuda.memory_allocated() // 2**20)` before this line shows whether it climbs."
		return out
	},
	Sources: []string{cures.MemoryFAQ, "https://github.com/yzxing87/pytorch-deep-video-prior/issues/4"},
}
