package engine

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
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

// Infinity is michaelfeil's server for embeddings and rerankers, on PyTorch.
var Infinity = program.Program{
	Name: "infinity", Shown: "Infinity", Work: "embedding", Edits: "flags", Language: "python",
	Proofs:  []string{"infinity_emb/", "infinity_emb "},
	Sources: program.Sources{"infinity/libs/infinity_emb/infinity_emb/cli.py": "--batch-size --device --device-id --dtype --model-id --no-bettertransformer --no-model-warmup"},
	Steps: steps{
		"lower_batch_size":  text("Start it with `--batch-size 8` (the default is 32): that many texts are computed at once, also in the warm-up at start."),
		"half_precision":    text("Start it with `--dtype float16`, if you set `float32`: since late 2024 it uses 16 bit on a GPU by default."),
		"select_gpu":        text("Start it with `--device cuda --device-id 1`, the number of a free GPU."),
		"lower_context":     text("Send shorter pieces of text, 512 to 1024 tokens each."),
		"use_smaller_model": text("Choose a smaller model with `--model-id`: a decoder of 7 billion parameters such as NV-Embed needs ten times what a BERT does."),
		"cpu_offload":       text("Or run it on the CPU: `--device cpu`."),
		"upgrade_version":   step.Paste("shell", "pip install -U infinity-emb"),
	},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: {{Fix: "lower_batch_size", Fit: cause.Foremost}, {Fix: "lower_context", Fit: cause.Helps}, {Fix: "half_precision", Fit: cause.Helps}, {Fix: "use_smaller_model", Fit: cause.MayHelp}},
		cause.ModelTooLarge: {{Fix: "half_precision", Fit: cause.Cures}, {Fix: "use_smaller_model", Fit: cause.Cures}, {Fix: "select_gpu", Fit: cause.Helps}, {Fix: "lower_batch_size", Fit: cause.MayHelp}},
	},
	Cards: infinityCards,
}
