package trainer

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// wordTables are those of models that people use beside a language model, in
// bytes of 32 bit, as the allocator rounds them.
var wordTables = []struct {
	rows, width int64
	told        string
}{
	{250002, 1024, "the word table of a large multilingual model (250,002 words x 1024, as multilingual-e5-large and bge-m3 have)"},
	{250002, 768, "the word table of a multilingual base model (250,002 words x 768, as multilingual-e5-base has)"},
	{250037, 384, "the word table of a small multilingual model (250,037 words x 384, as multilingual-e5-small has)"},
	{30522, 1024, "the word table of a large BERT (30,522 words x 1024, as bge-large has)"},
	{30522, 768, "the word table of a BERT (30,522 words x 768, as bge-base has)"},
}

// tableFigures say which word table was refused.
func tableFigures(c *ledger.Case) map[string]string {
	out := filled(c)
	out["table"] = ""
	for _, t := range wordTables {
		for _, size := range [...]int64{4, 2} {
			if n := t.rows * t.width * size; n <= ledger.Requested(c) && ledger.Requested(c)-n < 2*units.MiB+units.MiB/2 {
				out["table"] = c.Asked.String() + " is " + t.told + "."
				return out
			}
		}
	}
	return out
}

// onProcessor spells that in the library that made the model.
func onProcessor(c *ledger.Case) []step.Step {
	text := "model = SentenceTransformer(name, device=\"cpu\")   # name: as in your call"
	for _, f := range ledger.Trace(c) {
		switch {
		case strings.Contains(f.File, "haystack/"):
			text = "embedder = SentenceTransformersTextEmbedder(model=name, device=ComponentDevice.from_str(\"cpu\"))   # from haystack.utils import ComponentDevice; name: as in your call"
		case strings.Contains(f.File, "langchain"):
			text = "embeddings = HuggingFaceEmbeddings(model_name=name, model_kwargs={\"device\": \"cpu\"})   # name: as in your call"
		case strings.Contains(f.File, "llama_index"):
			text = "embed_model = HuggingFaceEmbedding(model_name=name, device=\"cpu\")   # name: as in your call"
		}
	}
	return []step.Step{{Kind: "python", Text: text}}
}

// whoHolds lists who is on the card.
func whoHolds(c *ledger.Case) []step.Step {
	if c.Backend == "rocm" {
		return []step.Step{{Kind: "shell", Text: "rocm-smi --showpids"}}
	}
	return []step.Step{{Kind: "shell", Text: "nvidia-smi"}}
}

var embedCards = []cause.Card{
	{
		ID: "sentence-transformers/card-taken", Kinds: refused, If: func(c *ledger.Case) bool { return ledger.Crowded(c) && !c.Training() },
		Cause: cause.LeakedProcess, Weight: cause.Strong, Figures: tableFigures,
		Headline: "had no room on a card that something else has filled",
		Means:    "This program holds {mine}, and {others} more is in use.[[ {table}]] Beside an embedding model that is mostly the language model of the same setup: an Ollama, llama.cpp or vLLM server keeps the card as long as it runs; else an earlier run or a notebook.",
		Not:      "A smaller `batch_size`, allocator settings, 4 bit: there is next to no room for it at all.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Run the embedding model on the processor", Cost: "a query takes a fraction of a second; indexing is slow", Steps: onProcessor},
			{Fix: "kill_stale_process", If: func(c *ledger.Case) bool { return len(c.F().OtherProcesses) > 0 }, Title: "Or make room: end what is yours, or give it less", Cost: "free"},
			{Fix: "kill_stale_process", If: func(c *ledger.Case) bool { return len(c.F().OtherProcesses) == 0 }, Title: "Or see who holds the card, and make room there", Cost: "free", Steps: whoHolds, Told: "The server itself: a shorter context or fewer layers on the card (llama.cpp `-ngl`, `-c`), vLLM `--gpu-memory-utilization 0.7`; stop it while you index. What is old and yours: end it."},
			{Fix: "select_gpu", Title: "Or another card", Cost: "needs one", Told: "`device=\"cuda:1\"` in the same place."},
		},
		Sources: []string{"sentence-transformers/sentence_transformers/SentenceTransformer.py", "haystack/haystack/utils/device.py", "https://github.com/ollama/ollama/blob/main/docs/faq.md"},
	},
	{
		ID: "sentence-transformers/encode", Kinds: refused, Said: []string{"in encode", "in encode_multi_process", "in predict", "in rank"},
		If: func(c *ledger.Case) bool { return ownCard(c) && !c.Training() }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
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
		cause.Cure{Fix: "gradient_checkpointing", Title: "Gradient checkpointing", Told: "`gradient_checkpointing=True` in the arguments (5.x), or `model[0].auto_model.gradient_checkpointing_enable()`.", Cost: "About 30 % more time per step."}),
}

var flagCards = []cause.Card{
	textStep("flagembedding/group", []string{"FlagEmbedding/finetune", "FlagEmbedding/abc/finetune", "FlagEmbedding.finetune"},
		"Each query brings `--train_group_size` passages (8 by default): a batch of 4 encodes 4 queries and 32 passages of `--passage_max_len` tokens.[[ This process holds {mine} of {total}.]]",
		"`--query_max_len` alone: passages are most of it.", "FlagEmbedding/FlagEmbedding/abc/finetune/embedder/AbsArguments.py",
		cause.Cure{Fix: "lower_batch_size", Title: "Encode in pieces, with checkpoints and 16 bit", Told: "`--sub_batch_size` keeps batch and group and encodes a few passages at a time:", Kind: "config", Text: "--sub_batch_size 8 --gradient_checkpointing --fp16 --deepspeed ds_stage0.json", Cost: "Slower. The DeepSpeed file: FlagEmbedding's examples/finetune."},
		cause.Cure{Fix: "lower_context", Title: "Shorter passages", Told: "`--query_max_len 64 --passage_max_len 256`.", Cost: "What comes after is not learnt."},
		cause.Cure{Fix: "gradient_accumulation", Title: "Smaller batch or group", Told: "`--per_device_train_batch_size 1 --train_group_size 4`.", Cost: "Fewer negatives: somewhat worse."}),
}
