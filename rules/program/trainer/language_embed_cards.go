package trainer

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var embedCards = []cause.Card{
	{
		ID: "sentence-transformers/encode", Kinds: refused, Said: []string{"in encode", "in encode_multi_process", "in predict", "in rank"},
		If: func(c *ledger.Case) bool { return ownCard(c) && !c.Training() }, Cause: cause.BatchTooLarge, Weight: 0.82,
		Headline: "ran out of memory while encoding",
		Means:    "`encode()` sorts texts by length and begins with the longest, 32 at a time by default: the first batch is the worst, and if it passes the rest does. Models that read 8,192 tokens (BGE-M3, jina, gte) need far more for a long text than those of 512.[[ This process holds {mine} of {total}.]]",
		Not:      "Splitting the list of texts: a batch of 32 long ones stays as large.",
		Later:    "If it grows from call to call: keep results as NumPy (the default), not with `convert_to_tensor=True`.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Fewer texts at a time", Told: "The vectors are the same.", Kind: "python", Text: "vectors = model.encode(texts, batch_size=4)", Cost: "A little slower."},
			{Fix: "lower_context", Title: "Read less of each text", Told: "Or split long texts into passages first, which search mostly likes better.", Kind: "python", Text: "model.max_seq_length = 512", Cost: "What comes after is not in the vector."},
			{Fix: "half_precision", Title: "16 bit", Kind: "python", Text: "model = SentenceTransformer(name, model_kwargs={\"torch_dtype\": \"float16\"})   # name: as in your call; or model.half()", Cost: "Hardly any quality."},
		},
		Sources: []string{"sentence-transformers/sentence_transformers/SentenceTransformer.py"},
	},
	textStep("sentence-transformers/step", []string{"sentence_transformers/trainer.py", "sentence_transformers/losses/", "sentence_transformers/SentenceTransformer.py"},
		"A sample is two or three texts (pairs, triplets), and attention grows with the length squared: one long text pads its batch. In-batch losses want large batches, so that batch and length meet here.[[ This process holds {mine} of {total}.]]",
		"Gradient accumulation alone: negatives come from the batch on the card.", "sentence-transformers/sentence_transformers/losses/CachedMultipleNegativesRankingLoss.py",
		cause.Cure{Fix: "lower_batch_size", Title: "Keep the batch, compute it in pieces", Told: "The same loss with the memory of `mini_batch_size` (MultipleNegativesRanking; other losses: a smaller `per_device_train_batch_size`):", Kind: "python", Text: "loss = CachedMultipleNegativesRankingLoss(model, mini_batch_size=16)\nargs = SentenceTransformerTrainingArguments(\"out\", fp16=True)   # bf16 from RTX 30 on; with your other arguments", Cost: "About 20 % slower."},
		cause.Cure{Fix: "lower_context", Title: "Read less of each text", Kind: "python", Text: "model.max_seq_length = 256", Cost: "What comes after is not learnt."},
		cause.Cure{Fix: "gradient_checkpointing", Title: "Gradient checkpointing", Told: "`gradient_checkpointing=True` in the arguments (5.x), or `model[0].auto_model.gradient_checkpointing_enable()`.", Cost: "About 30 % more time a step."}),
}

var flagCards = []cause.Card{
	textStep("flagembedding/group", []string{"FlagEmbedding/finetune", "FlagEmbedding/abc/finetune", "FlagEmbedding.finetune"},
		"Each query brings `--train_group_size` passages (8 by default): a batch of 4 encodes 4 queries and 32 passages of `--passage_max_len` tokens.[[ This process holds {mine} of {total}.]]",
		"`--query_max_len` alone: passages are most of it.", "FlagEmbedding/FlagEmbedding/abc/finetune/embedder/AbsArguments.py",
		cause.Cure{Fix: "lower_batch_size", Title: "Encode in pieces, with checkpoints and 16 bit", Told: "`--sub_batch_size` keeps batch and group and encodes a few passages at a time:", Kind: "config", Text: "--sub_batch_size 8 --gradient_checkpointing --fp16 --deepspeed ds_stage0.json", Cost: "Slower. The DeepSpeed file: FlagEmbedding's examples/finetune."},
		cause.Cure{Fix: "lower_context", Title: "Shorter passages", Told: "`--query_max_len 64 --passage_max_len 256`.", Cost: "What comes after is not learnt."},
		cause.Cure{Fix: "gradient_accumulation", Title: "Smaller batch or group", Told: "`--per_device_train_batch_size 1 --train_group_size 4`.", Cost: "Fewer negatives: somewhat worse."}),
}
