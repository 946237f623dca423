package engine

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/engine/cards"
)

// TEI is Text Embeddings Inference. Its memory follows the tokens of one batch.
var TEI = program.Program{
	Name: "tei", Shown: "Text Embeddings Inference", Work: "embedding", Edits: "flags", Language: "rust",
	Units:   []string{"text-embeddings-inference"},
	Proofs:  []string{"text_embeddings_router", "text_embeddings_backend", "text_embeddings_core", "text-embeddings-router", "text-embeddings-inference", "Model backend is not healthy"},
	Sources: program.Sources{"text-embeddings-inference/router/src/main.rs": "--auto-truncate --dtype --max-batch-requests --max-batch-tokens --max-client-batch-size --max-concurrent-requests"},
	Steps: steps{
		"lower_max_batched_tokens": text("Start it with `--max-batch-tokens 4096` (16384 is the default). Longer texts are cut (before 1.9 only with `--auto-truncate`), so do not go below your longest text."),
		"lower_batch_size":         text("Start it with `--max-batch-tokens 4096 --max-batch-requests 8`: fewer tokens and texts in one batch."),
		"lower_max_num_seqs":       text("Start it with `--max-batch-requests 8`."),
		"lower_context":            text("Send shorter pieces of text, and start it with `--auto-truncate` (the default since 1.9): it cuts texts that are longer than the model accepts."),
		"half_precision":           text("Start it with `--dtype float16`, the default on GPUs for most models; `float32` needs twice as much."),
		"upgrade_version":          text("Use a newer image, and the one for your GPU: ghcr.io/huggingface/text-embeddings-inference has one for each generation (`turing-`, `86-`, `89-`, `hopper-`, `120-`)."),
	},
	Titles: map[string]string{"lower_max_batched_tokens": "Lower the tokens of one batch (--max-batch-tokens)"},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: {{Fix: "lower_max_batched_tokens", Fit: cause.Foremost}, {Fix: "lower_context", Fit: cause.Helps}, {Fix: "close_other_apps", Fit: cause.MayHelp}, {Fix: "use_smaller_model", Fit: cause.MayHelp}},
		cause.ModelTooLarge: {{Fix: "lower_max_batched_tokens", Fit: cause.Cures}, {Fix: "use_smaller_model", Fit: cause.Helps}, {Fix: "close_other_apps", Fit: cause.Helps}, {Fix: "bigger_gpu", Fit: cause.LastResort}},
		cause.Unknown:       {{Fix: "lower_max_batched_tokens", Fit: cause.Cures}, {Fix: "close_other_apps", Fit: cause.Helps}, {Fix: "upgrade_version", Fit: cause.MayHelp}},
	},
	Cards: teiCards,
}

// Infinity is michaelfeil's server for embeddings and rerankers.
var Infinity = cards.Infinity
