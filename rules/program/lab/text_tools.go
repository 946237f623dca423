package lab

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Libraries for text beside those of large models.
var (
	// SimpleTransformers wraps Transformers with a dict of arguments.
	SimpleTransformers = program.Program{
		Name: "simpletransformers", Shown: "Simple Transformers", Work: "text-training", Edits: "code", Language: "python",
		Sources: program.Sources{"simpletransformers/simpletransformers/config/model_args.py": "train_batch_size eval_batch_size max_seq_length gradient_accumulation_steps process_count use_multiprocessing lazy_loading fp16"},
		Proofs:  []string{"simpletransformers/"},
		Steps: spelling{
			"lower_batch_size":  kit.ByPhase(step.Step{Kind: "python", Text: "model_args.train_batch_size = 2              # default 8\nmodel_args.gradient_accumulation_steps = 4\nmodel_args.eval_batch_size = 8                # default 100"}, step.Step{Kind: "python", Text: "model_args.eval_batch_size = 8   # default 100"}),
			"lower_context":     step.Paste("python", "model_args.max_seq_length = 128   # the default; half of the present value if yours is lower"),
			"mixed_precision":   step.Paste("python", "model_args.fp16 = True   # its default"),
			"lower_num_workers": step.Paste("python", "model_args.use_multiprocessing = False\nmodel_args.use_multiprocessing_for_evaluation = False\nmodel_args.process_count = 1\nmodel_args.lazy_loading = True   # classification, language modeling, T5"),
			"use_smaller_model": say("Use a distilled or base checkpoint, such as `distilroberta-base`, instead of a large one."),
		},
		Titles: map[string]string{"lower_num_workers": "Turn off multiprocessing, load lazily"},
		Like:   []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			{
				ID: "simpletransformers/features", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "All texts are turned into features before the first step, and all features stay in RAM. By default one process per CPU core (minus two) does this.",
				Not:      "A smaller batch size: the features of the whole data set are in RAM.",
				Cures:    fixes("lower_num_workers", "add_swap"), Sources: []string{"simpletransformers/simpletransformers/config/model_args.py"},
			},
			trainOf("simpletransformers", "Memory depends on `train_batch_size` (default 8) x `max_seq_length` (default 128). Evaluation during training uses `eval_batch_size`, 100 by default, so it can fail even if training fits.", "", "simpletransformers/simpletransformers/config/model_args.py", "lower_batch_size", "lower_context", "use_smaller_model"),
			titled("lower_context", "Shorten the texts", "what is cut off is not read", useOf("simpletransformers", "while predicting or evaluating", "`eval_batch_size` is 100 by default, twelve times the default `train_batch_size`.", "", "simpletransformers/simpletransformers/config/model_args.py", "lower_batch_size", "lower_context")),
		},
	}
	// BERTopic clusters embedded documents.
	BERTopic = program.Program{
		Name: "bertopic", Shown: "BERTopic", Work: "embedding", Edits: "code", Language: "python",
		Sources: program.Sources{"BERTopic/docs/faq.md": "low_memory calculate_probabilities min_df", "BERTopic/bertopic/_bertopic.py": "embeddings"},
		Proofs:  []string{"bertopic/"},
		Steps: spelling{
			"lower_batch_size": step.Paste("python", "embeddings = SentenceTransformer(\"all-MiniLM-L6-v2\").encode(docs, batch_size=16, show_progress_bar=True)\ntopics, probs = topic_model.fit_transform(docs, embeddings)"),
			"stream_dataset":   step.Paste("python", "topic_model = BERTopic(low_memory=True, calculate_probabilities=False,\n                       vectorizer_model=CountVectorizer(stop_words=\"english\", min_df=10))"),
			"lower_context":    step.Paste("python", "embedder.max_seq_length = 256   # embedder: your SentenceTransformer"),
		},
		Titles: map[string]string{"lower_context": "Limit the length of texts", "stream_dataset": "Set `low_memory=True` and leave out rare words", "lower_batch_size": "Embed beforehand, in small batches"},
		Costs:  map[string]string{"stream_dataset": "no probabilities per topic; rare words fall out", "lower_batch_size": "slower; the vectors are the same"},
		Cards: []cause.Card{
			{
				ID: "bertopic/ram", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "Three things grow with your documents: UMAP's graph; the table of documents x topics, with `calculate_probabilities=True`; and the word counts, with a column for each word (and each word pair, with `ngram_range=(1, 2)`).",
				Not:      "A smaller embedding batch size: it saves only GPU memory.",
				Cures: []cause.Cure{
					{Fix: "stream_dataset"},
					{Fix: "use_smaller_model", Title: "Fit on a sample, then assign the rest", Kind: "python", Text: "topic_model.fit(docs[:200000])\ntopics, _ = topic_model.transform(docs[200000:400000])   # in parts", Cost: "only topics of the sample are found"},
					{Fix: "add_swap"},
				},
				Sources: []string{"BERTopic/docs/faq.md"},
			},
			useOf("bertopic", "while embedding the documents", "BERTopic embeds 32 documents at a time, up to the model's maximum length (often 512, for some models 8,192 tokens). The clustering that follows runs on the CPU by default.", "", "BERTopic/bertopic/_bertopic.py", "lower_batch_size", "lower_context", "use_smaller_model"),
		},
	}
	// ParlAI trains dialogue agents; before the first step, and after a batch that
	// did not fit, it computes a dummy batch of the full size.
	ParlAI = program.Program{
		Name: "parlai", Shown: "ParlAI", Work: "text-training", Edits: "flags", Language: "python", Commands: []string{"parlai"},
		Sources: program.Sources{"ParlAI/parlai/core/torch_agent.py": "--truncate --text-truncate --label-truncate --fp16 --fp16-impl --optimizer --update-freq", "ParlAI/parlai/core/params.py": "--batchsize -bs -tr", "ParlAI/parlai/core/torch_generator_agent.py": "--beam-size"},
		Proofs:  []string{"parlai/core/", "parlai/scripts/", "parlai/agents/", "CUDA OOM: Lower batch size (-bs)"},
		Steps: spelling{
			"lower_batch_size": say("Halve `-bs` (`--batchsize`, per GPU), and add `--update-freq 2` to keep the effective batch size."),
			"lower_context":    say("Use `-tr 256` (`--truncate`; or `--text-truncate 256 --label-truncate 64`). Half the length needs half the logits and a quarter of the attention scores."),
			"mixed_precision":  say("Use `--fp16 true --fp16-impl mem_efficient`, with `--optimizer mem_eff_adam`: no 32-bit copy of the weights."),
		},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size (-bs)", "lower_context": "Truncate the texts (-tr)", "mixed_precision": "Train in memory-efficient 16 bit"},
		Costs:  map[string]string{"lower_context": "what is cut off is not read", "mixed_precision": "slightly less stable"},
		Like:   []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			while(saying(anyPhase(trainOf("parlai", "Before training, and after a failed batch, ParlAI runs a dummy batch of the largest size: `-bs` texts of `-tr` tokens. So a size that cannot fit fails at once. After \"skipping batch\" a real batch had failed before.", "Searching your data for a bad sample: the dummy batch is all ones.", "ParlAI/parlai/core/torch_generator_agent.py", "lower_batch_size", "lower_context", "mixed_precision")), "parlai/dummy",
				"_init_cuda_buffer", "_fake_forward_backward_pass", "init_cuda_buffer", "CUDA OOM: Lower batch size"), "on its test batch of the full size"),
			trainOf("parlai", "Memory depends on `-bs` (per GPU) x `-tr` tokens. The logits take another batch x length x vocabulary.", "", "ParlAI/parlai/core/torch_generator_agent.py", "lower_batch_size", "lower_context", "mixed_precision"),
			useOf("parlai", "while generating or evaluating", "It decodes `-bs` texts x `--beam-size` beams together.", "", "ParlAI/parlai/core/torch_generator_agent.py", "lower_batch_size", "lower_context"),
		},
	}
	// Flair tags text with stacked embeddings.
	Flair = program.Program{
		Name: "flair", Shown: "Flair", Work: "text-training", Edits: "code", Language: "python",
		Sources: program.Sources{"flair/flair/trainers/trainer.py": "mini_batch_size mini_batch_chunk_size embeddings_storage_mode eval_batch_size"},
		Proofs:  []string{"flair/trainers/", "flair/embeddings/", "flair/models/", "flair/nn/", "-packages/flair/"},
		Steps: spelling{
			"lower_batch_size":  kit.ByPhase(step.Step{Kind: "python", Text: "trainer.train(path, mini_batch_size=32, mini_batch_chunk_size=2, eval_batch_size=8)   # 2 at a time, the same result"}, step.Step{Kind: "python", Text: "tagger.predict(sentences, mini_batch_size=4)   # default 32"}),
			"lower_context":     step.Paste("python", "sentences = SegtokSentenceSplitter().split(text)   # sentences instead of whole texts\nembeddings = TransformerWordEmbeddings(name, allow_long_sentences=False)"),
			"empty_cache":       step.Paste("python", "trainer.train(path, embeddings_storage_mode=\"none\")   # \"gpu\" keeps all vectors on the GPU"),
			"lower_num_workers": step.Paste("python", "trainer.train(path, embeddings_storage_mode=\"none\", num_workers=0)   # \"cpu\", the default, keeps all vectors in RAM"),
			"use_smaller_model": say("Use a base model instead of xlm-roberta-large, and one embedding instead of a stack."),
		},
		Titles: map[string]string{"lower_batch_size": "Split the batch (`mini_batch_chunk_size`)", "lower_num_workers": "Do not keep the embeddings"},
		Like:   []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			trainOf("flair", "A batch (default 32 in `train()`, 4 in `fine_tune()`) is padded to its longest text and processed at once, unless you set `mini_batch_chunk_size`. `embeddings_storage_mode=\"gpu\"` also keeps all embeddings on the GPU.", "", "flair/flair/trainers/trainer.py", "lower_batch_size", "lower_context", "use_smaller_model"),
			titled("lower_batch_size", "Lower the batch size", "slower", titled("lower_context", "Split long texts into sentences", "none for most uses", useOf("flair", "while tagging", "By default it processes 32 sentences at a time, padded to the longest. One whole document passed as a single Sentence makes all of them that long.", "", "flair/flair/models/sequence_tagger_model.py", "lower_batch_size", "lower_context"))),
		},
	}
	// SpaCy is explosion's; others use it.
	SpaCy = program.Program{
		Name: "spacy", Shown: "spaCy", Work: "text-training", Edits: "code", Language: "python", Rank: 62,
		Sources: program.Sources{"spaCy/website/docs/api/transformer.mdx": "max_batch_items", "spaCy/spacy/language.py": "max_length batch_size n_process", "spaCy/website/docs/usage/memory-management.mdx": "memory_zone", "spaCy/website/docs/usage/training.mdx": "--components.transformer.max_batch_items --training.batcher.size"},
		Proofs:  []string{"-packages/spacy/", "spacy_transformers/", "spacy_curated_transformers/", "-m spacy train"},
		Steps: spelling{
			"lower_batch_size":  inSpacy,
			"lower_context":     kit.ByPhase(step.Step{Kind: "text", Text: "Split the long documents of the training corpus into paragraphs before `spacy convert`."}, step.Step{Kind: "python", Text: "docs = nlp.pipe(text.split(\"\\n\\n\"), batch_size=16)   # paragraphs instead of one long text"}),
			"lower_num_workers": step.Paste("python", "for doc in nlp.pipe(texts, n_process=1, batch_size=50): ...   # each process holds the model once more"),
			"empty_cache":       step.Paste("python", "with nlp.memory_zone():   # 3.8 and later: frees the strings of the block at its end\n    for doc in nlp.pipe(texts): ..."),
			"use_smaller_model": say("Use `en_core_web_sm` or `en_core_web_lg` instead of `en_core_web_trf`."),
		},
		Titles: map[string]string{"lower_num_workers": "Use one process", "lower_context": "Split long texts", "empty_cache": "Free finished texts (`memory_zone`)"},
		Costs:  map[string]string{"lower_context": "none for most uses", "lower_num_workers": "slower"}, Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{
			{
				ID: "spacy/ram", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong, If: func(c *ledger.Case) bool { return !c.Training() },
				Headline: "ran out of system memory (RAM)",
				Means:    "The parser and entity recogniser take about 1 GB per 100,000 characters of one text, spaCy says. Each process of `n_process` loads its own model. Docs that you collect in a list stay in RAM.",
				Not:      "A larger `nlp.max_length`: it only switches off the check.",
				Cures:    fixes("lower_context", "lower_num_workers", "empty_cache"), Sources: []string{"spaCy/spacy/errors.py", "spaCy/website/docs/usage/memory-management.mdx"},
			},
			trainOf("spacy", "A transformer batch is padded to its longest span and limited by `max_batch_items` (default 4,096). `[training.batcher]` sets the batch of documents. Texts with many numbers or much markup have more tokens than spaCy's words.", "", "spaCy/website/docs/api/transformer.mdx", "lower_batch_size", "lower_context", "use_smaller_model"),
			useOf("spacy", "while reading text", "All spans of a batch of documents go to the GPU, padded to the longest. Each Doc then keeps its vectors there, so a list of Docs can fill it.", "", "spaCy/website/docs/api/transformer.mdx", "lower_batch_size", "lower_context", "use_smaller_model"),
		},
	}
	// AllenNLP reads jsonnet files.
	AllenNLP = program.Program{
		Name: "allennlp", Shown: "AllenNLP", Work: "text-training", Edits: "flags", Language: "python", Commands: []string{"allennlp"},
		Sources: program.Sources{"allennlp/allennlp/training/gradient_descent_trainer.py": "num_gradient_accumulation_steps use_amp", "allennlp/allennlp/data/data_loaders/multiprocess_data_loader.py": "max_instances_in_memory batch_size", "allennlp/allennlp/commands/train.py": "--overrides"},
		Proofs:  []string{"allennlp/", "allennlp train ", "allennlp evaluate ", "allennlp predict "},
		Steps: spelling{
			"lower_batch_size":  say("In the jsonnet file: `batch_size: 4` in `data_loader` or its sampler, and in training `num_gradient_accumulation_steps: 8` in `trainer`."),
			"lower_context":     say("In the jsonnet file: `max_length: 256` in the reader or its tokenizer, if it has that. A sampler of type `max_tokens_sampler` with `max_tokens: 2048` limits the batch."),
			"mixed_precision":   say("In the jsonnet file: `use_amp: true` in `trainer`."),
			"lower_num_workers": say("In the jsonnet file: `max_instances_in_memory: 1000, num_workers: 0` in `data_loader`."),
		},
		Like: []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{stepOf("allennlp", "A batch is padded to its longest instance. Span models (such as coreference) grow with the square of a document's words, so one long document can be too much even at batch size 1.", "", "allennlp/allennlp/data/samplers/max_tokens_batch_sampler.py", "lower_batch_size", "lower_context", "mixed_precision"),
			useOf("allennlp", "while evaluating", "A batch is padded to its longest instance. Span models (such as coreference) grow with the square of a document's words, so one long document can be too much even at batch size 1.", "", "allennlp/allennlp/data/samplers/max_tokens_batch_sampler.py", "lower_batch_size", "lower_context"),
			{
				ID: "allennlp/ram", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "By default the reader keeps every instance of the data set in RAM, as Python objects much larger than the text. Each worker has its own copy.",
				Not:      "A smaller batch: all instances are read first.",
				Cures:    fixes("lower_num_workers", "add_swap"), Sources: []string{"allennlp/allennlp/data/data_loaders/multiprocess_data_loader.py"},
			}},
	}
	// ColBERT indexes and trains late interaction; RAGatouille runs it.
	ColBERT = program.Program{
		Name: "colbert", Shown: "ColBERT", Work: "embedding", Edits: "code", Language: "python",
		Sources: program.Sources{"cuda-c-programming-guide/environment-variables": "CUDA_VISIBLE_DEVICES", "ColBERT/colbert/infra/config/settings.py": "bsize index_bsize nbits doc_maxlen accumsteps kmeans_niters gpus"},
		Proofs:  []string{"colbert/indexing/", "colbert/modeling/", "colbert/infra/", "colbert/training/", "ragatouille/"},
		Steps: spelling{
			"lower_batch_size":  kit.ByPhase(step.Step{Kind: "python", Text: "config = ColBERTConfig(nbits=2, bsize=8, accumsteps=4)   # bsize: 32 by default"}, step.Step{Kind: "python", Text: "config = ColBERTConfig(nbits=2, index_bsize=16)   # 64 by default"}),
			"lower_context":     step.Paste("python", "config = ColBERTConfig(doc_maxlen=180)   # tokens of a passage; split longer ones"),
			"cpu_offload":       say("Hide the GPU with `CUDA_VISIBLE_DEVICES=\"\"`. K-means and encoding then run on the CPU."),
			"use_lower_quant":   step.Paste("python", "config = ColBERTConfig(nbits=1)   # bits a number in the index; 2 in most examples"),
			"lower_num_workers": step.Paste("python", "indexer.index(name=\"part1\", collection=passages[:1000000])   # then part2 with passages[1000000:2000000], and so on"),
		},
		Titles: map[string]string{"lower_context": "Shorten the passages (`doc_maxlen`)", "cpu_offload": "Run it on the CPU", "lower_num_workers": "Build several smaller indexes", "use_lower_quant": "Use fewer bits in the index"},
		Costs:  map[string]string{"lower_context": "what comes after is not searched", "lower_num_workers": "a search in each of them", "cpu_offload": "many times slower"}, Like: []*program.Program{&parts.DataAside},
		Cards: []cause.Card{
			saying(anyPhase(while(useOf("colbert", "", "Before indexing, k-means clusters a sample of all token vectors on the GPU at once, 128 numbers per token. The sample grows with the collection, not with the batch size.",
				"A smaller `index_bsize`: the sample does not depend on it.", "ColBERT/colbert/indexing/collection_indexer.py", "cpu_offload", "lower_num_workers", "lower_context"), "in k-means, before indexing")), "colbert/kmeans", "in _train_kmeans", "compute_faiss_kmeans", "in train_kmeans", "_concatenate_and_split_sample"),
			trainOf("colbert", "A batch is `bsize` queries with `nway` passages each: 32 x 64 passages of up to `doc_maxlen` tokens with ColBERTv2's settings.", "Fewer bits in the index: the index is made later.", "ColBERT/colbert/infra/config/settings.py", "lower_batch_size", "lower_context"),
			useOf("colbert", "while encoding passages", "It encodes `index_bsize` passages (default 64) of up to `doc_maxlen` tokens at a time.", "Fewer bits in the index: the index is made later.", "ColBERT/colbert/infra/config/settings.py", "lower_batch_size", "lower_context"),
		},
	}
	// OpenNMTPy is the PyTorch one.
	OpenNMTPy = program.Program{
		Name: "opennmt-py", Shown: "OpenNMT-py", Work: "text-training", Edits: "flags", Language: "python", Commands: []string{"onmt_train", "onmt_translate"},
		Sources: program.Sources{"OpenNMT-py/onmt/opts.py": "-max_generator_batches -src_seq_length -tgt_seq_length -rnn_size -word_vec_size -layers -src_vocab_size -tgt_vocab_size -batch_size -batch_type -accum_count -valid_batch_size -use_ckpting -model_dtype -num_workers -bucket_size -gpu_ranks -beam_size"},
		Proofs:  []string{"onmt/", "OpenNMT-py", "onmt_train", "cuda OOM - batch removed"},
		Steps: spelling{
			"lower_batch_size":       onmt("Add `-batch_size 32` (64 by default; sentences), or `-batch_type tokens -batch_size 2048`; and `-max_generator_batches 8` (32): scores of fewer words at a time.", "# 2.0 and later; before: -batch_type tokens -batch_size 2048 on the command line\nbatch_type: tokens\nbatch_size: 2048        # tokens, padding counted; half of yours\naccum_count: [8]\nvalid_batch_size: 256   # tokens too"),
			"lower_context":          onmt("Preprocess again with `-src_seq_length 50 -tgt_seq_length 50`: what is longer is left out.", "# 2.0 and later; before: -src_seq_length 50 -tgt_seq_length 50 in preprocess.py\ntransforms: [filtertoolong]\nsrc_seq_length: 150\ntgt_seq_length: 150"),
			"mixed_precision":        config("model_dtype: fp16   # 2.0 and later"),
			"use_smaller_model":      onmt("Halve `-rnn_size` and `-word_vec_size`, use fewer `-layers`, or a smaller vocabulary (`-src_vocab_size`, `-tgt_vocab_size` in preprocess.py). This needs a new training.", "# half of the present values; a new training\nhidden_size: 512   # before 3.0: rnn_size\nword_vec_size: 512\nlayers: 4"),
			"gradient_checkpointing": config("use_ckpting: [ffn, mha]   # 3.0 and later"),
			"lower_num_workers":      config("num_workers: 0\nbucket_size: 32768"),
		},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size and count it in tokens", "lower_context": "Leave out long sentences"},
		Like:   []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			saying(while(useOf("opennmt-py", "", "`-batch_size` sentences (30 by default) are translated together, each with `-beam_size` beams (5 by default) and padded to the longest.", "", "OpenNMT-py/onmt/opts.py", "lower_batch_size"), "while translating"), "opennmt-py/translate", "in translate_batch", "onmt_translate"),
			while(saying(stepOf("opennmt-py", "This is a warning: that batch was skipped, and training goes on. A few do no harm. Many mean that the model does not learn long sentences.", "", "OpenNMT-py/onmt/trainer.py", "lower_batch_size", "lower_context", "mixed_precision"), "opennmt-py/removed", "batch removed"), "on one batch and skipped it"),
			stepOf("opennmt-py", "By default (`batch_type: sents`) `batch_size` counts sentences, and all are padded to the longest. With `tokens` it limits the tokens instead. Output scores take tokens x vocabulary; weights and Adam's state grow with layers and vocabulary.", "", "OpenNMT-py/onmt/opts.py", "lower_batch_size", "use_smaller_model", "lower_context", "mixed_precision"),
		},
	}
	// Marian reserves its workspace in advance.
	Marian = program.Program{
		Name: "marian", Shown: "Marian", Work: "text-training", Edits: "flags", Language: "cpp", Commands: []string{"marian", "marian-decoder"},
		Sources: program.Sources{"marian-dev/src/training/training.h": "--max-length-crop", "marian-dev/src/common/config_parser.cpp": "--workspace --mini-batch-fit --mini-batch --maxi-batch --max-length --optimizer-delay --fp16 --gradient-checkpointing --shuffle-in-ram --mini-batch-words --sqlite"},
		Proofs:  []string{"[marian] ", "marian-dev/", "[memory] Extending reserved space to", "marian/src/tensors/"},
		Steps: spelling{
			"lower_batch_size":       say("Use `-w 6000 --mini-batch-fit --maxi-batch 1000`. It then fits batches into a workspace of 6000 MB. Leave 2 to 3 GB of the GPU free for parameters, gradients and Adam, which are not in the workspace."),
			"lower_context":          say("Use `--max-length 100`. Longer sentences are left out (with `--max-length-crop`: cut)."),
			"mixed_precision":        say("Use `--fp16`."),
			"gradient_checkpointing": say("Use `--gradient-checkpointing`."),
			"lower_num_workers":      say("Leave out `--shuffle-in-ram`. `--sqlite` keeps the corpus on disk."),
			"gradient_accumulation":  say("Use `--optimizer-delay 4` with a smaller workspace: the same batch in four parts."),
		},
		Titles: map[string]string{"lower_batch_size": "Fit batches into a smaller workspace (`--mini-batch-fit`)", "lower_context": "Leave out long sentences"},
		Costs:  map[string]string{"lower_context": "longer sentences are not learned"},
		Cards: []cause.Card{{
			ID: "marian/workspace", Kinds: append([]fact.Kind{fact.PlainMemory, fact.NativeAlloc}, cardFull...), Cause: cause.BatchTooLarge, Weight: cause.Strong, If: func(c *ledger.Case) bool { return !ledger.Crowded(c) },
			Headline: "ran out of GPU memory",
			Means:    "Marian reserves a workspace (`-w`, in MB) for a batch's activations and enlarges it if a batch does not fit. Parameters, gradients and Adam's state come on top. With a fixed `--mini-batch`, long sentences can overflow it.",
			Not:      "A larger `-w`: it leaves less room for parameters and Adam.",
			Cures:    fixes("lower_batch_size", "lower_context", "gradient_accumulation"), Sources: []string{"marian-dev/src/common/config_parser.cpp", "marian-dev/src/tensors/tensor_allocator.h"},
		}},
	}
	// Tensor2Tensor is Google's, on TensorFlow 1.
	Tensor2Tensor = program.Program{
		Name: "tensor2tensor", Shown: "Tensor2Tensor", Work: "text-training", Edits: "flags", Language: "python", Commands: []string{"t2t-trainer"},
		Sources: program.Sources{"tensor2tensor/README.md": "--hparams --hparams_set --worker_gpu", "tensor2tensor/tensor2tensor/layers/common_hparams.py": "batch_size max_length eval_drop_long_sequences", "tensor2tensor/tensor2tensor/utils/decoding.py": "--decode_hparams"},
		Proofs:  []string{"tensor2tensor/", "t2t-trainer", "t2t_trainer"},
		Steps: spelling{
			"lower_batch_size":  say("Use `--hparams='batch_size=1024'` (4096 in most sets): tokens per GPU, padding included. Decoding: `--decode_hparams='batch_size=8,beam_size=4'`."),
			"lower_context":     say("Use `--hparams='max_length=128,eval_drop_long_sequences=True'`. With `max_length` 0 a sample may be as long as the whole batch."),
			"use_smaller_model": say("Use `--hparams_set=transformer_base_single_gpu` instead of transformer_big."),
		},
		Titles: map[string]string{"lower_batch_size": "Lower `batch_size` (tokens)", "lower_context": "Leave out long sentences"},
		Costs:  map[string]string{"lower_context": "longer sentences are left out"},
		Cards: []cause.Card{{
			ID: "tensor2tensor/tokens", Kinds: []fact.Kind{fact.TFAlloc}, Cause: cause.BatchTooLarge, Weight: cause.Strong, If: func(c *ledger.Case) bool { return !ledger.Crowded(c) },
			Headline: "ran out of memory",
			Means:    "`batch_size` counts tokens per GPU, not sentences (4,096 in transformer_base). Unless `max_length` is set, a single sample can be as long as the whole batch, and attention grows with the square of its length.",
			Not:      "`allow_growth`: it changes when memory is reserved, not how much. More GPUs: each gets its own batch.",
			Cures:    fixes("lower_batch_size", "lower_context", "use_smaller_model"), Sources: []string{"tensor2tensor/README.md", "tensor2tensor/tensor2tensor/layers/common_hparams.py"},
		}},
	}
)

// inSpacy is a smaller batch in the config file or in code.
var inSpacy = kit.ByPhase(step.Step{Kind: "config", Text: "[components.transformer]\nmax_batch_items = 1024\n\n[training.batcher]\nsize = 500   # of batch_by_padded; half of yours"}, step.Step{Kind: "python", Text: "docs = nlp.pipe(texts, batch_size=16)   # 128 on the transformer\nnlp.get_pipe(\"transformer\").cfg[\"max_batch_items\"] = 1024   # or config= when it is made"})

// onmtBefore are files of OpenNMT-py before 0.2 (June 2018), which has options
// with one dash on train.py and preprocess.py in place of a YAML file.
var onmtBefore = []string{"onmt/Optim.py", "onmt/Trainer.py", "onmt/Models.py", "onmt/Loss.py", "onmt/IO.py"}

// onmt is a step of OpenNMT-py's for its versions before 0.2, and since 2.0.
func onmt(before, since string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		if cures.Mentions("onmt_translate", "translate.py")(c) && strings.Contains(since, "batch_size") {
			return []step.Step{{Kind: "text", Text: "Use `-batch_size 8` and a smaller `-beam_size`, and split sentences of several hundred words."}}
		}
		for _, x := range c.Facts.Code {
			if slices.ContainsFunc(onmtBefore, func(file string) bool { return strings.HasSuffix(x.File, file) }) {
				return []step.Step{{Kind: "text", Text: before}}
			}
		}
		return []step.Step{{Kind: "config", Text: since}}
	}
}
