package local

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// repeated: TensorFlow's allocator asked the driver for the same again and again,
// and never for a tenth less, as it does at its start.
func repeated(c *ledger.Case) bool {
	n := 0
	for _, x := range c.Facts.Facts {
		if x.Name == "pool_repeated" {
			n++
		}
	}
	_, searched := c.Fact("pool_retry")
	return n > 1 && !searched && c.Framework != "jax"
}

// PoolCards are about a pool that could not grow while the program worked.
var PoolCards = []cause.Card{{
	ID: "tensorflow/growth-refused", Kinds: []fact.Kind{fact.TFStart}, If: repeated,
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "could not get {asked} again and again: its GPU memory could not grow",
	Means: "At its start TensorFlow asks for a tenth less each time; here the size stays the same. So it was most likely already computing with memory growth on, and one operation needs that much (often cuDNN's workspace). The card was full by then, from this program's batch or another program.",
	Not:   "Memory growth alone: it seems to be on already.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Halve the batch size, or the image size", Told: "Set `batch_size` or the image size in the script or its config. Activations and workspace both grow with them.", Cost: "slower, or less detail"},
		{Fix: "kill_stale_process", Title: "See what else is on the card", Told: "Look for earlier Python runs, other notebooks' kernels, or a paused debugger:", Kind: "shell", Text: "nvidia-smi", Cost: "a look is free"},
		{Fix: "restart_session", Title: "If it failed after earlier models in this process: restart it", Told: "TensorFlow keeps what it has taken until the process ends. A loop over models needs a process for each.", Cost: "its variables are lost"},
	},
	Sources: []string{"tensorflow/core/common_runtime/bfc_allocator.cc", "tensorflow/stream_executor/cuda/cuda_driver.cc", "https://github.com/paninski-lab/deepgraphpose/issues/7"},
}}
