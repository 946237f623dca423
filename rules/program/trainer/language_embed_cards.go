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
		Headline: "had too little room on a card that other programs use too",
		Means:    "This program holds {mine}, and others hold {others}.[[ {table}]] Often that is the language model of the same setup: an Ollama, llama.cpp or vLLM server keeps its memory as long as it runs. It can also be an earlier run or a notebook.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Run the embedding model on the CPU", Cost: "a query takes a fraction of a second; indexing is slow", Steps: onProcessor},
			{Fix: "kill_stale_process", If: func(c *ledger.Case) bool { return len(c.F().OtherProcesses) > 0 }, Title: "Free the card: end what is yours, or give it less memory", Cost: "free"},
			{Fix: "kill_stale_process", If: func(c *ledger.Case) bool { return len(c.F().OtherProcesses) == 0 }, Title: "See what holds the card, and give it less memory", Cost: "free", Steps: whoHolds, Told: "A language model server: a shorter context or fewer layers on the card (llama.cpp `-c`, `-ngl`), a lower `--gpu-memory-utilization` (vLLM), or stop it while you index. End what is old and yours."},
			{Fix: "select_gpu", Title: "Use another card", Cost: "needs one", Told: "`device=\"cuda:1\"` in the same place."},
		},
		Sources: []string{"sentence-transformers/sentence_transformers/sentence_transformer/model.py", "haystack/haystack/utils/device.py", "https://github.com/ollama/ollama/blob/main/docs/faq.mdx"},
	},
	{
		ID: "sentence-transformers/encode", Kinds: refused, Said: []string{"in encode", "in encode_multi_process", "in predict", "in rank"},
		If: func(c *ledger.Case) bool { return ownCard(c) && !c.Training() }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while encoding",
		Means:    "A batch (32 texts by default) is padded to its longest text, and `encode()` begins with the longest ones. Models that read 8,192 tokens (BGE-M3, jina, gte) need far more for a long text than those of 512.[[ This process holds {mine} of {total}.]]",
		Not:      "Splitting the list of texts: each batch stays as large.",
		Later:    "If it grows from call to call: keep results as NumPy (the default), not with `convert_to_tensor=True`.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size (batch_size)", Told: "The results are the same; `predict` and `rank` take it too.", Kind: "python", Text: "vectors = model.encode(texts, batch_size=4)", Cost: "A little slower."},
			{Fix: "lower_context", Title: "Shorten the texts (max_seq_length)", Told: "Or split long texts into passages first; that usually makes search better.", Kind: "python", Text: "model.max_seq_length = 512", Cost: "What comes after is not in the vector."},
			{Fix: "half_precision", Title: "Load the model in 16 bit", Kind: "python", Text: "model = SentenceTransformer(name, model_kwargs={\"torch_dtype\": \"float16\"})   # name: as in your call; or model.half()", Cost: "Hardly any quality."},
		},
		Sources: []string{"sentence-transformers/sentence_transformers/sentence_transformer/model.py"},
	},
	textStep("sentence-transformers/step", []string{"sentence_transformers/trainer.py", "sentence_transformers/losses/", "sentence_transformers/SentenceTransformer.py", "sentence_transformers/base/trainer.py", "sentence_transformers/sentence_transformer/"},
		"A sample is usually two or three texts (pairs, triplets), and all texts of a batch are padded to the longest one. Batch size x length decides.[[ This process holds {mine} of {total}.]]",
		"", "sentence-transformers/sentence_transformers/sentence_transformer/losses/cached_multiple_negatives_ranking.py",
		cause.Cure{Fix: "lower_batch_size", Title: "Lower the batch size, or compute it in pieces", Told: "Halve `per_device_train_batch_size`. With MultipleNegativesRankingLoss the cached loss keeps the batch at the memory of `mini_batch_size`:", Kind: "python", Text: "loss = CachedMultipleNegativesRankingLoss(model, mini_batch_size=16)\nargs = SentenceTransformerTrainingArguments(\"out\", fp16=True)   # bf16 from RTX 30 on; with your other arguments", Cost: "About 20 % slower."},
		cause.Cure{Fix: "lower_context", Title: "Shorten the texts (max_seq_length)", Kind: "python", Text: "model.max_seq_length = 256", Cost: "What comes after is not learned."},
		cause.Cure{Fix: "gradient_checkpointing", Title: "Turn on gradient checkpointing", Told: "`gradient_checkpointing=True` in the arguments (3.0.1 and later), or `model[0].auto_model.gradient_checkpointing_enable()`.", Cost: "About 30 % more time per step."}),
}

var flagCards = []cause.Card{
	textStep("flagembedding/group", []string{"FlagEmbedding/finetune", "FlagEmbedding/abc/finetune", "FlagEmbedding.finetune"},
		"Each query brings `--train_group_size` passages (8 by default): a batch of 4 encodes 4 queries and 32 passages of `--passage_max_len` tokens.[[ This process holds {mine} of {total}.]]",
		"`--query_max_len` alone: passages are most of it.", "FlagEmbedding/FlagEmbedding/abc/finetune/embedder/AbsArguments.py",
		cause.Cure{Fix: "lower_batch_size", Title: "Encode in pieces (--sub_batch_size), with checkpointing and 16 bit", Told: "`--sub_batch_size` keeps batch and group and encodes a few passages at a time:", Kind: "config", Text: "--sub_batch_size 8 --gradient_checkpointing --fp16 --deepspeed ds_stage0.json", Cost: "Slower. The DeepSpeed file: FlagEmbedding's examples/finetune."},
		cause.Cure{Fix: "lower_context", Title: "Shorten queries and passages", Told: "For example `--query_max_len 64 --passage_max_len 256`.", Cost: "What comes after is not learned."},
		cause.Cure{Fix: "gradient_accumulation", Title: "Lower the batch size or the group size", Told: "Halve `--per_device_train_batch_size` or `--train_group_size` (default 8).", Cost: "Fewer negatives: somewhat worse."}),
}
