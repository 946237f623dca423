package fronts

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Chats is what programs share that chat over documents: the model runs
// elsewhere as a rule, and what they run themselves are embeddings.
var Chats = program.Program{
	Work: "text-inference", Edits: "admin", Language: "python",
	Titles: map[string]string{"lower_batch_size": "Embed fewer chunks at a time", "cpu_offload": "Run the embedding model on the CPU", "use_smaller_model": "Use a smaller embedding model"},
	Costs:  map[string]string{"lower_batch_size": "Reading documents takes longer.", "cpu_offload": "Reading documents takes several times longer.", "use_smaller_model": "Documents must be indexed again."},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"cpu_offload":       kit.NoCard,
		"lower_batch_size":  step.Paste("text", "Add documents in smaller portions, and large ones in parts."),
		"use_smaller_model": step.Paste("text", "Choose a smaller embedding model in its settings; documents are read again."),
	},
	Sources: kit.Visible,
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: cause.InOrder("lower_batch_size", "cpu_offload", "close_other_apps", "use_smaller_model"),
		cause.ModelTooLarge: cause.InOrder("cpu_offload", "close_other_apps", "use_smaller_model"),
		cause.Unknown:       cause.InOrder("close_other_apps", "lower_batch_size", "cpu_offload"),
	},
}

// OpenWebUI runs embeddings and a reranker beside the chat.
var OpenWebUI = program.Program{
	Name: "open-webui", Shown: "Open WebUI",
	Proofs: []string{"open_webui/"},
	Like:   []*program.Program{&Chats},
	Sources: program.Sources{
		"open-webui/backend/open_webui/config.py": "RAG_EMBEDDING_BATCH_SIZE RAG_RERANKING_MODEL RAG_EMBEDDING_MODEL",
		"open-webui/Dockerfile":                   "USE_CUDA_DOCKER",
	},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_batch_size":  step.Paste("ui", "Admin Panel, Settings, Documents: Embedding Batch Size 1"),
		"cpu_offload":       step.Paste("config", "# docker compose: the image open-webui:main instead of :cuda, or\nUSE_CUDA_DOCKER: \"false\""),
		"use_smaller_model": step.Paste("ui", "Admin Panel, Settings, Documents: a smaller Embedding Model (sentence-transformers/all-MiniLM-L6-v2), Reranking Model empty; then Reindex"),
	},
	Cards: kit.Cards(
		cause.Card{
			ID: "open-webui/embedding", Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return c.In("open-webui") }, Cause: cause.BatchTooLarge, Weight: cause.Likely,
			Headline: "ran out of GPU memory in its own process, not in the chat model's",
			Means:    "Open WebUI runs its own embedding and reranking models on the GPU to read your documents. They compete with the chat model: if Ollama uses the same GPU, `ollama ps` shows how much it takes.",
			Cures: []cause.Cure{
				kit.Cure("cpu_offload", "Run embeddings on the CPU or in Ollama", "ui", "Use the image open-webui:main instead of :cuda; or Admin Panel, Settings, Documents: Embedding Model Engine Ollama (then index the documents again)", "Slower indexing on the CPU."),
				kit.Cure("lower_batch_size", "Lower Embedding Batch Size to 1", "ui", "Admin Panel, Settings, Documents: Embedding Batch Size 1, and Reranking Model empty", "Indexing takes longer."),
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/open-webui/open-webui/issues/16873", "https://github.com/open-webui/open-webui/issues/12150", "https://github.com/open-webui/open-webui/issues/10577"},
		},
		cause.Card{
			ID: "open-webui/ram", Kinds: kit.OffRAM, If: func(c *ledger.Case) bool { return c.In("open-webui") }, Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "ran out of system memory (RAM)",
			Means:    "Without a GPU, Open WebUI keeps its embedding and reranking models in RAM (a reranker such as bge-reranker-v2-m3 takes about 2.5 GB). Large uploads come on top.",
			Cures: []cause.Cure{
				kit.Cure("use_smaller_model", "Turn off the reranking model", "ui", "Admin Panel, Settings, Documents: Reranking Model empty, or hybrid search off", "Slightly worse hits."),
				kit.Cure("raise_memory_limit", "Raise the container's memory limit", "config", "# docker compose, the service\nmem_limit: 6g", "Less RAM for other programs."),
			},
			Sources: []string{"https://github.com/open-webui/open-webui/issues/12150"},
		},
	),
}

// H2OGPT loads several models beside the chat model.
var H2OGPT = program.Program{
	Name: "h2ogpt", Shown: "h2oGPT", Edits: "flags",
	Proofs:  []string{"h2ogpt/src/", "h2ogpt/generate.py", "src/gpt_langchain.py", "gradio_runner.py", "--score_model=", "--top_k_docs="},
	Like:    []*program.Program{&Chats},
	Sources: program.Sources{"h2ogpt/docs/FAQ.md": "--load_4bit --max_seq_len --score_model --embedding_gpu_id --base_model --enable_tts --enable_stt --hf_embedding_model --top_k_docs --max_new_tokens"},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"load_in_4bit":      step.Paste("shell", "python generate.py --base_model=meta-llama/Meta-Llama-3-8B-Instruct --load_4bit=True --score_model=None   # your own --base_model"),
		"lower_context":     step.Paste("config", "--max_seq_len=4096"),
		"cpu_offload":       step.Paste("config", "--embedding_gpu_id=cpu --score_model=None"),
		"lower_batch_size":  step.Paste("config", "--embedding_gpu_id=cpu"),
		"use_smaller_model": step.Paste("config", "--score_model=None --enable_tts=False --enable_stt=False"),
	},
	Titles: map[string]string{"use_smaller_model": "Turn off score and speech models"},
	Cards: kit.Cards(cause.Card{
		ID: "h2ogpt/documents", Kinds: kit.OnCard, Said: []string{"--top_k_docs=-1"}, If: func(c *ledger.Case) bool { return c.In("h2ogpt") && !kit.Training(c) }, Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "ran out of GPU memory; prompts are filled with documents",
		Means:    "`--top_k_docs=-1` fills each prompt with as many document chunks as the model's context holds. The KV cache and attention grow with that, and `--num_async` above 1 runs several such prompts at once.",
		Not:      "A shorter question: the documents fill the prompt.",
		Cures: []cause.Cure{
			kit.Cure("lower_context", "Put fewer document chunks into the prompt", "config", "--top_k_docs=4 --num_async=1", "Summaries of long documents see less at a time."),
			kit.Cure("load_in_4bit", "Load the chat model in 4 bit", "config", "--load_4bit=True", "Slight loss of quality; instead of --load_8bit."),
			kit.Cure("cpu_offload", "Embed on the CPU", "config", "--embedding_gpu_id=cpu --score_model=None", "Slower indexing."),
		},
		Sources: []string{"https://github.com/h2oai/h2ogpt/blob/main/docs/FAQ.md", "https://github.com/h2oai/h2ogpt/issues/694"},
	}, cause.Card{
		ID: "h2ogpt/models", Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return c.In("h2ogpt") && !kit.Training(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Means: "h2oGPT loads more than the chat model: an embedding model, a score model, and speech models if they are on. Its FAQ advises turning these off when GPU memory is short.",
		Cures: []cause.Cure{
			kit.Cure("cpu_offload", "Turn off score and speech models, embed on the CPU", "config", "--score_model=None --embedding_gpu_id=cpu --enable_tts=False --enable_stt=False", "No scores, no speech; slower indexing."),
			kit.Cure("load_in_4bit", "Load the chat model in 4 bit", "config", "--load_4bit=True", "Slight loss of quality."),
			kit.Cure("lower_context", "Lower `max_seq_len`", "config", "--max_seq_len=4096", "Less of the documents for each answer."),
		},
		Sources: []string{"https://github.com/h2oai/h2ogpt/blob/main/docs/FAQ.md"},
	}),
}

// PrivateGPT before its rewrite ran llama.cpp and embeddings in its process.
var PrivateGPT = program.Program{
	Name: "private-gpt", Shown: "PrivateGPT",
	Proofs: []string{"private_gpt/", "privateGPT.py"},
	Like:   []*program.Program{&Chats},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"fewer_gpu_layers": step.Paste("config", "# private_gpt/components/llm/llm_component.py (0.x): -1 puts all layers on the GPU\nn_gpu_layers: 20"),
		"lower_context":    step.Paste("config", "# settings.yaml\nllm:\n  context_window: 3900"),
		"lower_batch_size": step.Paste("config", "# settings.yaml\nembedding:\n  ingest_mode: simple"),
		"lower_parallel":   step.Paste("config", "# settings.yaml\nembedding:\n  ingest_mode: simple"),
	},
	Cards: kit.Cards(cause.Card{
		ID: "private-gpt/load", Kinds: append([]fact.Kind{fact.GGMLAlloc, fact.GGMLRuntime, fact.LlamaCaller}, kit.OnCard...), If: func(c *ledger.Case) bool { return c.In("private-gpt") && !c.Root(kit.InRAM...) },
		Cause: cause.ModelTooLarge, Weight: cause.Good,
		Means: "PrivateGPT 0.x runs the chat model with llama-cpp-python by default, with all layers on the GPU. The embedding model uses the same GPU.",
		Cures: []cause.Cure{
			kit.Cure("fewer_gpu_layers", "Lower `n_gpu_layers`", "text", "In private_gpt/components/llm/llm_component.py change `\"n_gpu_layers\": -1` to 20. If that runs, raise it step by step.", "Slower."),
			kit.Cure("cpu_offload", "Run the models with Ollama", "shell", "PGPT_PROFILES=ollama make run", "Another program to install; it splits layers by itself."),
			kit.LookAtCard,
		},
		Sources: []string{"https://github.com/zylon-ai/private-gpt/blob/v0.6.2/private_gpt/components/llm/llm_component.py"},
	}, cause.Card{
		ID: "private-gpt/pool", Kinds: []fact.Kind{fact.GGMLPool}, Said: []string{"privateGPT.py"},
		Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "overran a fixed-size memory pool inside llama.cpp",
		Means: "Neither RAM nor GPU memory is short. This first version of PrivateGPT uses a llama.cpp of 2023 with memory pools of a fixed size, and a long prompt or a large batch can need more.",
		Not:   "More RAM or fewer GPU layers: the pool keeps its size.",
		Cures: []cause.Cure{
			kit.Cure("lower_batch_size", "Lower the batch and the passages in `.env`", "config", "# .env; lower values if yours are these already\nMODEL_N_BATCH=8\nTARGET_SOURCE_CHUNKS=2", "Slower prompts, less of the documents for each answer."),
			kit.Cure("upgrade_version", "Update llama-cpp-python", "shell", "pip install -U --no-cache-dir llama-cpp-python   # then a GGUF of the same model instead of a `.bin` file", "A new model file; LangChain may need an update too."),
			kit.Cure("lower_context", "Lower `MODEL_N_CTX`", "text", "In `.env`, half of the present value.", "Shorter questions and passages."),
		},
		Sources: []string{"https://github.com/zylon-ai/private-gpt/blob/primordial/privateGPT.py", "https://github.com/zylon-ai/private-gpt/issues/885"},
	}),
}

// Khoj embeds notes; its chat model is offline only if asked for.
var Khoj = program.Program{
	Name: "khoj", Work: "text-inference", Edits: "flags", Language: "python", Shown: "Khoj",
	Proofs: []string{"khoj/processor/", "khoj/search_type/", "-packages/khoj/", "khoj.routers", "khoj.utils", "khoj.main"},
	Like:   []*program.Program{&Chats},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_context":     step.Paste("ui", "Admin panel (/server/admin), Chat Models: Max prompt size lower"),
		"use_smaller_model": step.Paste("ui", "Admin panel (/server/admin), Search Model Configs: a smaller bi-encoder and cross-encoder"),
	},
	Cards: kit.Cards(cause.Card{
		ID: "khoj/embed", Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return c.In("khoj") }, Cause: cause.BatchTooLarge, Weight: cause.Good,
		Means: "Khoj indexes and searches your files with PyTorch models on the GPU, if there is one. Most often a large sync, or another model on the same GPU, takes the memory.",
		Cures: []cause.Cure{
			kit.LookAtCard,
			kit.Cure("cpu_offload", "Hide the GPU from Khoj", "env", "export CUDA_VISIBLE_DEVICES=\"\"", "Slower indexing; chat models elsewhere are not affected."),
			kit.Cure("use_smaller_model", "Use a smaller search model", "ui", "Admin panel (/server/admin), Search Model Configs: a smaller bi-encoder", "Files are indexed again."),
		},
		Sources: []string{"https://github.com/khoj-ai/khoj/blob/master/src/khoj/processor/embeddings.py", "https://github.com/khoj-ai/khoj/blob/master/src/khoj/utils/helpers.py"},
	}),
}
