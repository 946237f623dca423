package cluster

import (
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

const (
	chatchatModels  = "Langchain-Chatchat/configs/model_config.py.example"
	chatchatWorkers = "Langchain-Chatchat/configs/server_config.py.example"
	chatchatFirst   = "Langchain-Chatchat/configs/model_config.py"
)

// notLoaded is what langchain-ChatGLM, its first versions, says in its page and
// log after any failure of a start (webui.py, init_model).
const notLoaded = "模型未成功加载"

// Chatchat answers from documents, with a model that it loads itself (0.1) or in
// a worker of FastChat's (0.2). From 0.3 on another server loads it.
var Chatchat = program.Program{
	Name: "langchain-chatchat", Shown: "Langchain-Chatchat", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs:  []string{"Langchain-Chatchat Configuration", "Langchain-Chatchat/", "langchain-ChatGLM/", notLoaded},
	Sources: program.Sources{chatchatModels: "LLM_MODELS MODEL_PATH EMBEDDING_DEVICE EMBEDDING_MODEL HISTORY_LEN", chatchatWorkers: "load_8bit num_gpus max_gpu_memory", chatchatFirst: "LLM_MODEL", "Langchain-Chatchat/init_database.py": "--increament"},
	Cards: []cause.Card{
		{
			ID: "langchain-chatchat/first", Kinds: fastchatCard, Said: []string{notLoaded}, Figures: chatchatFigures,
			Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "did not load the model: GPU memory ran out",
			Means:    "At 16 bit a model takes 2 GB per billion parameters. ChatGLM-6B, the default, needs 13 GB; at 8 bit 10 GB and at 4 bit 6 GB. The embedding model is on the GPU too.",
			Not:      "Loading the same model again with the button; PyTorch's allocator settings.",
			Cures: []cause.Cure{
				{Fix: "use_lower_quant", Title: "Choose a 4-bit model", Told: "In the tab 模型配置 choose `chatglm-6b-int4`, then 加载模型. Or set it before the start in configs/model_config.py:", Kind: "config", Text: "LLM_MODEL = \"chatglm-6b-int4\"   # or chatglm2-6b-int4, where llm_model_dict has it", Cost: "slight loss of quality"},
				chatchatSearch,
				{Fix: "use_smaller_model", Title: "Or choose a smaller model", Told: "The list is `llm_model_dict` in the same file. Restart first: a half-loaded model may stay on the GPU.", Cost: "lower quality"},
			},
			Sources: []string{chatchatFirst, "ChatGLM-6B/README_en.md"},
		},
		{
			ID: "langchain-chatchat/documents", Kinds: fastchatCard, Said: []string{"embeddings_api", "添加到向量库", "kb_doc_api", "kb_cache/", "docs2vs", "folder2db"}, Figures: chatchatFigures,
			Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory while adding documents to the knowledge base",
			Means:    "The embedding model computes the pieces of a document on the GPU, beside {model}, which has taken its part already. It needed {asked} more.",
			Not:      "A smaller LLM alone, if the GPU holds it now: the documents are what did not fit.",
			Cures: []cause.Cure{
				{Fix: "cpu_offload", Title: "Compute the embeddings on the CPU", Told: "In configs/model_config.py, then restart:", Kind: "config", Text: "EMBEDDING_DEVICE = \"cpu\"", Cost: "slower adding and search"},
				{Fix: "use_smaller_model", Title: "Or use a smaller embedding model", Told: "Set `EMBEDDING_MODEL` there to `bge-small-zh-v1.5`: a tenth of bge-large. The knowledge base must be built again.", Cost: "slightly worse search"},
				{Fix: "lower_batch_size", Title: "Or add the documents without the LLM", Told: "Stop Chatchat; in 0.2 this adds files of the content folder that are not in yet:", Kind: "shell", Text: "python init_database.py --increament", Cost: "no chat meanwhile"},
			},
			Sources: []string{chatchatModels, "Langchain-Chatchat/init_database.py"},
		},
		{
			ID: "langchain-chatchat/load", Kinds: fastchatCard, Said: []string{"Loading the model ["}, Unsaid: []string{"POST /worker_generate_stream", "POST /chat/"}, Figures: chatchatFigures,
			Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "did not load {model}[[: at 16 bit it does not fit in {too_small}]]",
			Means:    "It was loading {model}[[, by default at 16 bit: {rate}]][[, here about {at16}]]. The embedding model takes about 1 GiB more if it is on the same GPU.",
			Not:      "A smaller batch or a shorter conversation: you have not asked anything yet.",
			Cures: []cause.Cure{
				{Fix: "kill_stale_process", Title: "Check what else is on the GPU", If: chatchatFits, Told: "By its name the model should fit. Look for an earlier start, or a second model in `LLM_MODELS`: all of them are loaded.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
				chatchatFourBit, chatchatSplit,
				chatchatEight, chatchatSearch,
			},
			Sources: []string{chatchatModels, chatchatWorkers, "https://github.com/lm-sys/FastChat/blob/main/fastchat/serve/model_worker.py"},
		},
		{
			ID: "langchain-chatchat/use", Kinds: fastchatCard,
			Cause: cause.ContextTooLong, Weight: cause.Strong, Figures: chatchatFigures,
			Headline: "ran out of GPU memory",
			Means:    "The GPU holds the model (2 GB per billion parameters at 16 bit, the default), the embedding model, and for each question its documents, the history and the answer. If it fails before the first question, the model is too large.",
			Cures:    []cause.Cure{chatchatShort, chatchatFourBit, chatchatSearch, chatchatSplit},
			Sources:  []string{chatchatModels, chatchatWorkers},
		},
	},
}

// How its settings are changed: files that are read at the start.
var (
	chatchatFourBit = cause.Cure{Fix: "use_lower_quant", If: func(c *ledger.Case) bool { return ledger.Quantised(c) == "" }, Title: "Load a 4-bit version of the model", Cost: "slight loss of quality", Told: "It needs about 0.6 GB per billion parameters. In configs/model_config.py put the folder of its Int4 (GPTQ) version into `MODEL_PATH[\"llm_model\"]` and its name into `LLM_MODELS`."}
	chatchatEight   = cause.Cure{Fix: "load_in_8bit", Title: "Or load it in 8 bit", Cost: "slower", Told: "It needs half of 16 bit. In configs/server_config.py, `FSCHAT_MODEL_WORKERS`, below `\"default\"`:", Kind: "config", Text: "\"load_8bit\": True,"}
	chatchatSplit   = cause.Cure{Fix: "multi_gpu", Title: "Or split it over two GPUs", Cost: "needs a second GPU", Told: "In configs/server_config.py, `FSCHAT_MODEL_WORKERS`, below `\"default\"`; leave a sixth of each GPU free:", Kind: "config", Text: "\"gpus\": \"0,1\", \"num_gpus\": 2, \"max_gpu_memory\": \"{each}GiB\","}
	chatchatSearch  = cause.Cure{Fix: "cpu_offload", Title: "Move the embedding model to the CPU", Cost: "slower search", Told: "Set `EMBEDDING_DEVICE = \"cpu\"` in configs/model_config.py. That frees about 1 GiB with the large ones; alone it is not enough if the weights do not fit."}
	chatchatShort   = cause.Cure{Fix: "lower_context", Title: "Ask with less history and fewer documents", Cost: "the model sees less", Told: "Lower `HISTORY_LEN` in configs/model_config.py, set `VECTOR_SEARCH_TOP_K = 2` (in 0.2 in kb_config.py), or start a new conversation."}
)

// chatchatFigures are the model's name, its weights at 16 bit, and the card where
// that is more than it has.
func chatchatFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"rate": "2 GB per billion parameters", "model": "the model", "at16": "", "too_small": "", "each": "20"} // of 24
	if total := ledger.SizeOf(c.F().Total); total > 0 {
		out["each"] = strconv.FormatInt(max(1, total*5/6>>30), 10)
	}
	if c.Model != nil && c.Model.Name != "" {
		out["model"] = c.Model.Name
	}
	if ledger.Quantised(c) != "" {
		out["rate"] = ""
	}
	if w := chatchatWeights(c); w > 0 {
		out["at16"] = units.Amount(w)
		if total := ledger.SizeOf(c.F().Total); total > 0 && w > total {
			out["too_small"] = units.Amount(total)
		}
	}
	return out
}

// chatchatWeights are those of the model at 16 bit, 0 where its name tells no size
// or fewer bits.
func chatchatWeights(c *ledger.Case) int64 {
	if w, ok := ledger.WeightsIn(c, "bf16"); ok && ledger.Quantised(c) == "" {
		return w
	}
	return 0
}

// chatchatFits: the card has room for the weights and a conversation.
func chatchatFits(c *ledger.Case) bool {
	w := chatchatWeights(c)
	return w > 0 && w+ledger.BesideWeights < ledger.SizeOf(c.F().Total)
}
