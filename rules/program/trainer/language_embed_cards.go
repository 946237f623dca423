package trainer

import (
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
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
	out := parts.Filled(c)
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

// encoded is how many texts the reader encodes at once.
func encoded(c *ledger.Case) map[string]string {
	switch n := parts.Number(c, "batch_size"); n {
	case 0:
		return map[string]string{"many": "32 texts by default"}
	case 1:
		return map[string]string{"many": ""}
	default:
		return map[string]string{"many": ledger.Thousands(int64(n)) + " texts"}
	}
}

var embedCards = []cause.Card{
	{
		ID: "sentence-transformers/evaluation", Kinds: parts.Refused, Said: []string{"InformationRetrievalEvaluator", "sentence_transformers/evaluation/", "in cos_sim", "sentence_transformers/util.py", "semantic_search"},
		If: func(c *ledger.Case) bool {
			return !ledger.Crowded(c) && !c.Limit.Has() && c.Near("InformationRetrievalEvaluator", "semantic_search", "in cos_sim")
		}, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "ran out of memory while comparing queries with the corpus", Figures: parts.Filled,
		Means: "It compares all queries with a block of the corpus at once: queries x `corpus_chunk_size` x 4 bytes. The default block is 50,000 for the evaluator, 500,000 for `semantic_search`; 100,000 queries x 50,000 take 18.6 GiB.",
		Not:   "A smaller training batch, LoRA: training does not make this matrix.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Compare smaller blocks (corpus_chunk_size)", Told: "Pass it to the evaluator, or to `util.semantic_search` (with `query_chunk_size=100`):", Kind: "python", Text: "InformationRetrievalEvaluator(queries, corpus, relevant_docs, corpus_chunk_size=5000)", Cost: "Slower; same result."},
			{Fix: "stream_dataset", Title: "Evaluate with fewer queries", Told: "A random sample of 1,000 queries is usually enough between epochs. In your own code loop over blocks of rows instead of one `cos_sim(a, b)`.", Cost: "Slightly noisier scores."},
			{Fix: "cpu_offload", Title: "Compare on the CPU", Kind: "python", Text: "scores = util.cos_sim(a.cpu(), b.cpu())   # in your own code", Cost: "Slower; RAM for the matrix."},
		},
		Sources: []string{"sentence-transformers/sentence_transformers/evaluation/InformationRetrievalEvaluator.py", "sentence-transformers/sentence_transformers/util.py"},
	},
	{
		ID: "sentence-transformers/card-taken", Kinds: parts.Refused, If: func(c *ledger.Case) bool { return ledger.Crowded(c) && !c.Training() },
		Cause: cause.LeakedProcess, Weight: cause.Strong, Figures: tableFigures,
		Headline: "had too little room on a GPU that other programs use too",
		Means:    "Other programs hold {others} of the GPU, this one {mine}.[[ {table}]] Often that is the language model of the same setup: Ollama, llama.cpp and vLLM keep GPU memory while they run. It can also be an earlier run or a notebook.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Run the embedding model on the CPU", Cost: "single queries stay fast; indexing becomes slow", Steps: onProcessor},
			{Fix: "kill_stale_process", If: func(c *ledger.Case) bool { return len(c.F().OtherProcesses) > 0 }, Title: "Free the GPU: end what is yours, or give it less memory", Cost: "free"},
			{Fix: "kill_stale_process", If: func(c *ledger.Case) bool { return len(c.F().OtherProcesses) == 0 }, Title: "See what fills the GPU, and give it less memory", Cost: "free", Steps: whoHolds, Told: "End old runs of yours. Give a language model server less: llama.cpp a shorter context (`-c`) or fewer layers (`-ngl`), vLLM a lower `--gpu-memory-utilization`. Or stop it while you index."},
			{Fix: "select_gpu", Title: "Use another GPU", Cost: "needs one", Told: "Pass `device=\"cuda:1\"` in the same place."},
		},
		Sources: []string{"sentence-transformers/sentence_transformers/sentence_transformer/model.py", "haystack/haystack/utils/device.py", "https://github.com/ollama/ollama/blob/main/docs/faq.mdx"},
	},
	{
		ID: "sentence-transformers/encode", Kinds: parts.Refused, Said: []string{"in encode", "in encode_multi_process", "in predict", "in rank"},
		If: func(c *ledger.Case) bool { return parts.Own(c) && !c.Training() }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while encoding texts", Figures: encoded,
		Means: "`encode()` starts with the longest texts and pads each batch[[ ({many})]] to its longest one. Models that read 8,192 tokens (BGE-M3, jina, gte) need far more memory for long texts than models with 512.",
		Not:   "Splitting the list of texts: each batch stays as large.",
		Later: "If memory grows from call to call: keep results as NumPy (the default), without `convert_to_tensor=True`.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: when.Not(parts.One("batch_size")), Title: "Lower the batch size (batch_size)", Told: "If 4 fails, try 1. `predict` and `rank` take it too.", Kind: "python", Text: "vectors = model.encode(texts, batch_size=4)", Cost: "A little slower."},
			{Fix: "lower_context", Title: "Shorten the texts (max_seq_length)", Told: "Or split long texts into passages first, which usually improves search.", Kind: "python", Text: "model.max_seq_length = 512", Cost: "Later text is not in the vector."},
			{Fix: "half_precision", Title: "Load the model in 16 bit", Kind: "python", Text: "model = SentenceTransformer(name, model_kwargs={\"torch_dtype\": \"float16\"})   # name: as in your call; or model.half()", Cost: "Hardly any quality."},
		},
		Sources: []string{"sentence-transformers/sentence_transformers/sentence_transformer/model.py"},
	},
	textStep("sentence-transformers/step", []string{"sentence_transformers/trainer.py", "sentence_transformers/losses/", "sentence_transformers/SentenceTransformer.py", "sentence_transformers/base/trainer.py", "sentence_transformers/sentence_transformer/"},
		"A sample is usually two or three texts (pairs, triplets), padded to the longest text in the batch. So memory grows with batch size x length.",
		"", "sentence-transformers/sentence_transformers/sentence_transformer/losses/cached_multiple_negatives_ranking.py",
		cause.Cure{Fix: "lower_batch_size", Title: "Lower the batch size, or use a cached loss", Told: "Halve `per_device_train_batch_size`. Instead of MultipleNegativesRankingLoss you can use the cached loss, which needs memory only for `mini_batch_size`:", Kind: "python", Text: "loss = CachedMultipleNegativesRankingLoss(model, mini_batch_size=16)\nargs = SentenceTransformerTrainingArguments(\"out\", fp16=True)   # bf16 from RTX 30 on; with your other arguments", Cost: "About 20 % slower."},
		cause.Cure{Fix: "lower_context", Title: "Shorten the texts (max_seq_length)", Kind: "python", Text: "model.max_seq_length = 256", Cost: "Later text is not learned."},
		cause.Cure{Fix: "gradient_checkpointing", Title: "Turn on gradient checkpointing", Told: "Pass `gradient_checkpointing=True` in the arguments (3.0.1 and later), or call `model[0].auto_model.gradient_checkpointing_enable()`.", Cost: "About 30 % more time per step."}),
}

// passages are the figures of a step, with a length that passages have.
func passages(c *ledger.Case) map[string]string {
	out := textFigures(c)
	out["shorter"] = parts.Halved(c, "256", "passage_max_len", "max_len", fact.OptionLength)
	return out
}

var flagCards = []cause.Card{
	{
		ID: "flagembedding/encode", Kinds: parts.Refused, Said: []string{"FlagEmbedding/inference", "FlagEmbedding/flag_models.py", "FlagEmbedding/bge_m3.py", "in encode", "in compute_score"},
		If: func(c *ledger.Case) bool { return parts.Own(c) && !c.Training() }, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: parts.Filled,
		Headline: "ran out of GPU memory while encoding texts",
		Means:    "A batch is padded to its longest text, and attention grows with the square of that length. BGE-M3 reads up to 8,192 tokens. The default batch of 256 is meant for short texts.",
		Not:      "Splitting the list of texts: each batch stays as large.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: when.Not(parts.One("batch_size")), Title: "Lower the batch size (batch_size)", Steps: func(c *ledger.Case) []step.Step {
				return []step.Step{{Kind: "python", Text: "model.encode(texts, batch_size=" + parts.HalfOf(c, 16, "batch_size") + ")   # your own call; halve it again, down to 1"}}
			}, Cost: "A little slower; same vectors."},
			{Fix: "lower_context", Title: "Shorten the texts (max_length)", Told: "Split long texts into passages of about 500 tokens first, which usually improves search. Or pass:", Kind: "python", Text: "model.encode(texts, max_length=1024)   # rerankers: compute_score(pairs, max_length=512)", Cost: "Later text is not in the vector."},
			{Fix: "half_precision", If: when.Not(parts.Shows("use_fp16=True")), Title: "Load the model in 16 bit (use_fp16=True)", Kind: "text", Text: "Pass `use_fp16=True` where you make the model.", Cost: "Hardly any quality."},
			parts.FreeOthers,
		},
		Sources: []string{"FlagEmbedding/FlagEmbedding/inference/embedder/encoder_only/m3.py"},
	},
	parts.WithFigures(passages, textStep("flagembedding/group", []string{"FlagEmbedding/finetune", "FlagEmbedding/abc/finetune", "FlagEmbedding.finetune", "reranker"},
		"Each query comes with `--train_group_size` passages (default 8): a batch of 4 encodes 32 passages, of `--passage_max_len` tokens (rerankers: `--max_len`). Weights, gradients and Adam take 16 bytes per parameter beside that.",
		"`--query_max_len` alone: passages take most of the memory.", "FlagEmbedding/FlagEmbedding/abc/finetune/embedder/AbsArguments.py",
		cause.Cure{Fix: "optimizer_8bit", If: cures.Near("exp_avg_sq", "torch/optim/adam"), Title: "Use the 8-bit optimizer", Told: "It failed when Adam made its state. That needs bitsandbytes, and a quarter of the state:", Kind: "config", Text: "--optim adamw_bnb_8bit", Cost: "Hardly any quality."},
		cause.Cure{Fix: "lower_batch_size", If: when.Not(cures.Near("reranker")), Title: "Encode in parts (--sub_batch_size), with checkpointing and 16 bit", Told: "`--sub_batch_size` encodes a few passages at a time and keeps batch and group size:", Kind: "config", Text: "--sub_batch_size 8 --gradient_checkpointing --fp16 --deepspeed ds_stage0.json", Cost: "Slower. The DeepSpeed file is in FlagEmbedding's examples/finetune."},
		cause.Cure{Fix: "lower_context", Title: "Shorten queries and passages", Told: "Embedders: `--query_max_len 64 --passage_max_len {shorter}`. Rerankers: `--max_len {shorter}`.", Cost: "Later text is not learned."},
		cause.Cure{Fix: "gradient_accumulation", Title: "Lower the batch size or the group size", Told: "Halve `--per_device_train_batch_size` or `--train_group_size` (default 8).", Cost: "Fewer negatives: somewhat worse."})),
}
