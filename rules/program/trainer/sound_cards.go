package trainer

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

var nemoCards = []cause.Card{
	{
		ID: "nemo/transducer", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"modules/rnnt.py", "RNNTJoint", "joint_after_projection", "rnnt_loss", "losses/rnnt"},
		If: ownCard, Cause: cause.BatchTooLarge, Weight: 0.85,
		Means: "It failed in the joint network of the transducer: batch x time x text x vocabulary, the largest tensor by far. It is computed for fused_batch_size samples at a time, 16 by default.",
		Not:   "A smaller encoder: the joint does not depend on it.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower fused_batch_size", Kind: "text", Text: "Add `model.joint.fuse_loss_wer=true model.joint.fused_batch_size=4` to the command; the batch of the encoder stays as it is.", Cost: "Slower steps; the same result."},
			{Fix: "lower_context"},
			{Fix: "mixed_precision"},
		},
		Sources: []string{"NeMo/examples/asr/conf/conformer/conformer_transducer_bpe.yaml", "NeMo/nemo/collections/asr/modules/rnnt.py"},
	},
	{
		ID: "nemo/transcribe", Kinds: refused, Said: []string{"in transcribe", "transcribe_speech.py", "_transcribe_forward"},
		If: ownCard, Cause: cause.ContextTooLong, Weight: 0.85,
		Means: "Transcribing attends over a whole recording: twice the length is four times the memory. Recordings of ten minutes and more may not fit on a 12 GB card, whatever the batch.",
		Not:   "batch_size=1, if one file alone is too long.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Attend locally", Kind: "python", Text: "model.change_attention_model(\"rel_pos_local_attn\", [128, 128])\nmodel.change_subsampling_conv_chunking_factor(1)", Cost: "Hardly any quality. FastConformer models."},
			{Fix: "lower_batch_size", Title: "Or transcribe in chunks", Kind: "text", Text: "Use the scripts of examples/asr/asr_chunked_inference, or cut the file at pauses into pieces of some minutes.", Cost: "Words at the cuts may suffer."},
		},
		Sources: []string{"NeMo/examples/asr/asr_chunked_inference", "NeMo/docs/source/asr/results.rst"},
	},
	stepCard("nemo/step", []string{"nemo/collections/"},
		"A training step did not fit. Samples of a batch are padded to the longest one, so that a single long recording decides; it can come at any step.",
		"num_workers: workers take system memory.", "NeMo/examples/asr/conf/conformer/conformer_transducer_bpe.yaml",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_context"}, cause.Cure{Fix: "mixed_precision"}),
}

var espnetCards = []cause.Card{
	stepCard("espnet/step", []string{"espnet2/train/trainer.py", "espnet/asr/pytorch_backend", "espnet2/tasks/"},
		"A training step did not fit. batch_bins caps the elements of a batch, but a single utterance that is longer than that still goes in alone, and attention grows with its length squared.",
		"batch_size, where batch_type is numel or length: batch_bins decides there.", "https://github.com/espnet/espnet/issues/2798",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_context"}, cause.Cure{Fix: "mixed_precision"}),
}

var fairseqCards = []cause.Card{
	{
		ID: "fairseq/oom-report", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchSummary}, Said: []string{"Ran out of memory with exception", "ran out of memory with exception", "attempting to recover from OOM", "ran out of memory in validation step"},
		If: ownCard, Cause: cause.BatchTooLarge, Weight: 0.85,
		Means: "A batch of --max-tokens did not fit; fairseq prints this table for every card, skips the batch once and gives up where it cannot. The limit is that of one card: it counts padded tokens (audio: samples).",
		Not:   "More cards: each gets --max-tokens of its own.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "mixed_precision"},
			{Fix: "lower_context"},
		},
		Sources: []string{"fairseq/fairseq/trainer.py", "https://github.com/facebookresearch/fairseq/issues/1191"},
	},
	stepCard("fairseq/step", []string{"fairseq/trainer.py", "fairseq/tasks/", "fairseq_cli/train.py"},
		"A training step did not fit. --max-tokens is the batch of one card, padding counted; a large dictionary makes the output layer large as well.",
		"More cards: each gets --max-tokens of its own.", "https://github.com/facebookresearch/fairseq/issues/1191",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "mixed_precision"}, cause.Cure{Fix: "gradient_checkpointing"}),
}

var pygCards = []cause.Card{
	{
		ID: "pyg/message", Kinds: refused, Said: []string{"message_passing.py", "in propagate", "in __lift__", "in _lift", "_collect", "torch_scatter", "gat_conv.py", "torch_geometric/nn/conv"},
		If: ordinary, Cause: cause.BatchTooLarge, Weight: 0.85,
		Means: "Messages are written out for every edge: edges x channels x 4 bytes, for each layer, and kept for the backward pass. With the whole graph in one step no batch size exists that could be lowered.",
		Not:   "DataLoader with a smaller batch_size: it batches graphs, not the nodes of one.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "efficient_attention", Title: "Do not write messages out", Kind: "python", Text: "import torch_geometric.transforms as T\n\ndata = T.ToSparseTensor()(data)   # then model(data.x, data.adj_t): GCN, SAGE and GIN multiply instead", Cost: "None; not for edge features."},
			{Fix: "lower_context"},
		},
		Sources: []string{"pytorch_geometric/torch_geometric/nn/conv/message_passing.py", "https://github.com/pyg-team/pytorch_geometric/issues/2730", "https://github.com/pyg-team/pytorch_geometric/issues/406"},
	},
}

var dglCards = []cause.Card{
	{
		ID: "dgl/message", Kinds: append([]fact.Kind{fact.CPUAlloc}, refused...), Said: []string{"dgl/core.py", "in update_all", "in apply_edges", "dgl/nn/pytorch", "dgl/ops/"},
		If: ordinary, Cause: cause.BatchTooLarge, Weight: 0.82,
		Means: "A message function of the whole graph: values of every edge are kept for the backward pass, layers x edges x channels. With the full graph in one step there is no batch to lower.",
		Not:   "A smaller learning set: all edges are computed for it.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "efficient_attention", Title: "Use built-in messages", Kind: "python", Text: "graph.update_all(dgl.function.copy_u(\"h\", \"m\"), dgl.function.mean(\"m\", \"h\"))   # fused: no value per edge is stored", Cost: "None."},
			{Fix: "lower_context"},
		},
		Sources: []string{"dgl/python/dgl/core.py", "dgl/python/dgl/dataloading/dataloader.py"},
	},
}
