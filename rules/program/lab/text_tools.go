package lab

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
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
			"lower_batch_size":  step.Paste("python", "model_args.train_batch_size = 2              # default 8\nmodel_args.gradient_accumulation_steps = 4\nmodel_args.eval_batch_size = 8                # default 100"),
			"lower_context":     step.Paste("python", "model_args.max_seq_length = 128   # the default; half of the present value if yours is lower"),
			"mixed_precision":   step.Paste("python", "model_args.fp16 = True   # its default"),
			"lower_num_workers": step.Paste("python", "model_args.use_multiprocessing = False\nmodel_args.use_multiprocessing_for_evaluation = False\nmodel_args.process_count = 1\nmodel_args.lazy_loading = True   # classification, language modeling, T5"),
			"use_smaller_model": say("A distilled or base checkpoint instead of a large one (`distilroberta-base`)."),
		},
		Titles: map[string]string{"lower_num_workers": "Turn off multiprocessing, load lazily"},
		Like:   []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{
			{
				ID: "simpletransformers/features", Kinds: trainer.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "All texts are turned into features before the first step, by default in as many processes as CPU cores less two, and all features stay in RAM.",
				Not:      "A smaller batch: the features of the whole data set are in RAM.",
				Cures:    fixes("lower_num_workers", "add_swap"), Sources: []string{"simpletransformers/simpletransformers/config/model_args.py"},
			},
			trainOf("simpletransformers", "`train_batch_size` (default 8) x `max_seq_length` (default 128) decides. Evaluation during training runs with `eval_batch_size`, 100 by default, so it can fail where training fits.", "", "simpletransformers/simpletransformers/config/model_args.py", "lower_batch_size", "lower_context", "use_smaller_model"),
			useOf("simpletransformers", "while it predicted or evaluated", "`eval_batch_size` is 100 by default, twelve times the `train_batch_size` of 8.", "", "simpletransformers/simpletransformers/config/model_args.py", "lower_batch_size", "lower_context"),
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
		Titles: map[string]string{"stream_dataset": "Set `low_memory=True`, leave out rare words", "lower_batch_size": "Embed beforehand, in small batches"},
		Costs:  map[string]string{"stream_dataset": "no probabilities per topic; rare words fall out", "lower_batch_size": "slower; the vectors are the same"},
		Cards: []cause.Card{
			{
				ID: "bertopic/ram", Kinds: trainer.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "Three things grow with the documents: UMAP's graph, the table of documents x topics with `calculate_probabilities=True`, and the word counts, with a column for each word of the corpus (and each pair of words with `ngram_range=(1, 2)`).",
				Not:      "A smaller embedding batch size: it saves GPU memory.",
				Cures: []cause.Cure{
					{Fix: "stream_dataset"},
					{Fix: "use_smaller_model", Title: "Fit on a sample, then assign the rest", Kind: "python", Text: "topic_model.fit(docs[:200000])\ntopics, _ = topic_model.transform(docs[200000:400000])   # in pieces", Cost: "topics come from the sample"},
					{Fix: "add_swap"},
				},
				Sources: []string{"BERTopic/docs/faq.md"},
			},
			useOf("bertopic", "while it embedded the documents", "Documents are embedded 32 at a time, the longest first, up to the model's maximum length (512 or 8,192 tokens). The clustering that follows runs on the CPU.", "", "BERTopic/bertopic/_bertopic.py", "lower_batch_size", "lower_context", "use_smaller_model"),
		},
	}
	// ParlAI trains dialogue agents; before the first step, and after a batch that
	// did not fit, it computes a dummy batch of the full size.
	ParlAI = program.Program{
		Name: "parlai", Shown: "ParlAI", Work: "text-training", Edits: "flags", Language: "python", Commands: []string{"parlai"},
		Sources: program.Sources{"ParlAI/parlai/core/torch_agent.py": "--truncate --text-truncate --label-truncate --fp16 --fp16-impl --optimizer --update-freq", "ParlAI/parlai/core/params.py": "--batchsize -bs -tr", "ParlAI/parlai/core/torch_generator_agent.py": "--beam-size"},
		Proofs:  []string{"parlai/core/", "parlai/scripts/", "parlai/agents/", "CUDA OOM: Lower batch size (-bs)"},
		Steps: spelling{
			"lower_batch_size": say("Halve `-bs` (`--batchsize`), which counts for each GPU, and add `--update-freq 2` for the same result."),
			"lower_context":    say("`-tr 256` (`--truncate`; or `--text-truncate 256 --label-truncate 64`): half the length is half of the logits, a quarter of the attention scores."),
			"mixed_precision":  say("`--fp16 true --fp16-impl mem_efficient`, with `--optimizer mem_eff_adam`: no 32-bit copy of the weights."),
		},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size (-bs)", "lower_context": "Truncate the texts (-tr)", "mixed_precision": "Train in memory-efficient 16 bit"},
		Costs:  map[string]string{"lower_context": "what is cut off is not read", "mixed_precision": "slightly less stable"},
		Like:   []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{
			while(saying(anyPhase(trainOf("parlai", "Before training (`_init_cuda_buffer`), and after a batch that failed, ParlAI computes a dummy batch of the largest size, `-bs` texts of `-tr` tokens, so that a size which cannot fit fails at once. After a failed batch (\"skipping batch\") the real one was too large first.", "Looking for a bad sample: the dummy batch is all ones.", "ParlAI/parlai/core/torch_generator_agent.py", "lower_batch_size", "lower_context", "mixed_precision")), "parlai/dummy",
				"_init_cuda_buffer", "_fake_forward_backward_pass", "init_cuda_buffer", "CUDA OOM: Lower batch size"), "on a dummy batch of the full size"),
			trainOf("parlai", "`-bs` (on each GPU) x `-tr` tokens decides, and the logits take length x vocabulary on top.", "", "ParlAI/parlai/core/torch_generator_agent.py", "lower_batch_size", "lower_context", "mixed_precision"),
			useOf("parlai", "while it generated or evaluated", "`-bs` texts x beams (`--beam-size`) are decoded together.", "", "ParlAI/parlai/core/torch_generator_agent.py", "lower_batch_size", "lower_context"),
		},
	}
	// Flair tags text with stacked embeddings.
	Flair = program.Program{
		Name: "flair", Shown: "Flair", Work: "text-training", Edits: "code", Language: "python",
		Sources: program.Sources{"flair/flair/trainers/trainer.py": "mini_batch_size mini_batch_chunk_size embeddings_storage_mode eval_batch_size"},
		Proofs:  []string{"flair/trainers/", "flair/embeddings/", "flair/models/", "flair/nn/", "-packages/flair/"},
		Steps: spelling{
			"lower_batch_size":  step.Paste("python", "trainer.train(path, mini_batch_size=32, mini_batch_chunk_size=2, eval_batch_size=8)   # 2 at a time, the same result\ntagger.predict(sentences, mini_batch_size=4)   # using it; default 32"),
			"lower_context":     step.Paste("python", "sentences = SegtokSentenceSplitter().split(text)   # sentences instead of whole texts\nembeddings = TransformerWordEmbeddings(name, allow_long_sentences=False)"),
			"empty_cache":       step.Paste("python", "trainer.train(path, embeddings_storage_mode=\"none\")   # \"gpu\" keeps all vectors on the GPU"),
			"lower_num_workers": step.Paste("python", "trainer.train(path, embeddings_storage_mode=\"none\", num_workers=0)   # \"cpu\", the default, keeps all vectors in RAM"),
			"use_smaller_model": say("A base model instead of xlm-roberta-large, and one embedding instead of a stack."),
		},
		Titles: map[string]string{"lower_batch_size": "Split the batch (`mini_batch_chunk_size`)", "lower_num_workers": "Do not keep the embeddings"},
		Like:   []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{
			trainOf("flair", "A batch (default 32 in train(), 4 in fine_tune()) goes through in one piece unless `mini_batch_chunk_size` is set, and is padded to its longest text. `embeddings_storage_mode=\"gpu\"` also keeps the embeddings of every sentence on the GPU.", "", "flair/flair/trainers/trainer.py", "lower_batch_size", "lower_context", "use_smaller_model"),
			useOf("flair", "while it tagged", "By default 32 sentences go in at a time, padded to the longest: a whole document as one Sentence pads all of them.", "", "flair/flair/models/sequence_tagger_model.py", "lower_batch_size", "lower_context"),
		},
	}
	// SpaCy is explosion's; others use it.
	SpaCy = program.Program{
		Name: "spacy", Shown: "spaCy", Work: "text-training", Edits: "code", Language: "python", Rank: 62,
		Sources: program.Sources{"spaCy/website/docs/api/transformer.mdx": "max_batch_items", "spaCy/spacy/language.py": "max_length batch_size n_process", "spaCy/website/docs/usage/memory-management.mdx": "memory_zone", "spaCy/website/docs/usage/training.mdx": "--components.transformer.max_batch_items --training.batcher.size"},
		Proofs:  []string{"-packages/spacy/", "spacy_transformers/", "spacy_curated_transformers/", "-m spacy train"},
		Steps: spelling{
			"lower_batch_size":  inSpacy,
			"lower_context":     apps.ByPhase(step.Step{Kind: "text", Text: "Split the long documents of the training corpus into paragraphs before `spacy convert`."}, step.Step{Kind: "python", Text: "docs = nlp.pipe(text.split(\"\\n\\n\"), batch_size=16)   # paragraphs instead of one long text"}),
			"lower_num_workers": step.Paste("python", "for doc in nlp.pipe(texts, n_process=1, batch_size=50): ...   # each process holds the model once more"),
			"empty_cache":       step.Paste("python", "with nlp.memory_zone():   # 3.8 and later: frees the strings of the block at its end\n    for doc in nlp.pipe(texts): ..."),
			"use_smaller_model": say("`en_core_web_sm` or `en_core_web_lg` instead of `en_core_web_trf`."),
		},
		Titles: map[string]string{"lower_num_workers": "Use one process", "lower_context": "Split long texts", "empty_cache": "Free finished texts (`memory_zone`)"},
		Costs:  map[string]string{"lower_context": "none for most uses", "lower_num_workers": "slower"}, Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{
			{
				ID: "spacy/ram", Kinds: trainer.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong, If: func(c *ledger.Case) bool { return !c.Training() },
				Headline: "ran out of system memory (RAM)",
				Means:    "By spaCy's own figure parser and entity recogniser take about 1 GB for each 100,000 characters of one text. Each process of `n_process` loads the model, and the Docs of a list and every new word stay in RAM.",
				Not:      "A larger `nlp.max_length`: it only removes the check.",
				Cures:    fixes("lower_context", "lower_num_workers", "empty_cache"), Sources: []string{"spaCy/spacy/errors.py", "spaCy/website/docs/usage/memory-management.mdx"},
			},
			trainOf("spacy", "A batch of the transformer is padded to its longest span; `max_batch_items` (4,096) caps it, and `[training.batcher]` sets the batch of documents. spaCy counts words; the transformer's tokens are more, most of all in texts with numbers or markup.", "", "spaCy/website/docs/api/transformer.mdx", "lower_batch_size", "lower_context", "use_smaller_model"),
			useOf("spacy", "while it read text", "All spans of a batch of documents (128 by default on the transformer) go to the GPU, padded to the longest; each Doc then keeps its vectors there.", "", "spaCy/website/docs/api/transformer.mdx", "lower_batch_size", "lower_context", "use_smaller_model"),
		},
	}
	// AllenNLP reads jsonnet files.
	AllenNLP = program.Program{
		Name: "allennlp", Shown: "AllenNLP", Work: "text-training", Edits: "flags", Language: "python", Commands: []string{"allennlp"},
		Sources: program.Sources{"allennlp/allennlp/training/gradient_descent_trainer.py": "num_gradient_accumulation_steps use_amp", "allennlp/allennlp/data/data_loaders/multiprocess_data_loader.py": "max_instances_in_memory batch_size", "allennlp/allennlp/commands/train.py": "--overrides"},
		Proofs:  []string{"allennlp/"},
		Steps: spelling{
			"lower_batch_size":  say("In the jsonnet file: `batch_size: 4` in `data_loader` or its sampler, and `num_gradient_accumulation_steps: 8` in `trainer`."),
			"lower_context":     say("In the jsonnet file: `max_length: 256` in the reader or its tokenizer, where it has one; a sampler of type `max_tokens_sampler` with `max_tokens: 2048` caps the batch."),
			"mixed_precision":   say("In the jsonnet file: `use_amp: true` in `trainer`."),
			"lower_num_workers": say("In the jsonnet file: `max_instances_in_memory: 1000, num_workers: 0` in `data_loader`."),
		},
		Like:  []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{stepOf("allennlp", "A batch is padded to its longest instance. Span models (coreference, SRL) grow with the square of the words of a document, so one long document can be too much even at batch size 1.", "", "allennlp/allennlp/data/samplers/max_tokens_batch_sampler.py", "lower_batch_size", "lower_context", "mixed_precision")},
	}
	// ColBERT indexes and trains late interaction; RAGatouille runs it.
	ColBERT = program.Program{
		Name: "colbert", Shown: "ColBERT", Work: "embedding", Edits: "code", Language: "python",
		Sources: program.Sources{"cuda-c-programming-guide/environment-variables": "CUDA_VISIBLE_DEVICES", "ColBERT/colbert/infra/config/settings.py": "bsize index_bsize nbits doc_maxlen accumsteps kmeans_niters gpus"},
		Proofs:  []string{"colbert/indexing/", "colbert/modeling/", "colbert/infra/", "colbert/training/", "ragatouille/"},
		Steps: spelling{
			"lower_batch_size":  step.Paste("python", "config = ColBERTConfig(nbits=2, index_bsize=16, bsize=8, accumsteps=4)   # defaults 64 for indexing, 32 for training"),
			"lower_context":     step.Paste("python", "config = ColBERTConfig(doc_maxlen=180)   # tokens of a passage; split longer ones"),
			"cpu_offload":       say("Hide the GPU: `CUDA_VISIBLE_DEVICES=\"\"`, so that k-means and encoding run on the CPU."),
			"use_lower_quant":   step.Paste("python", "config = ColBERTConfig(nbits=1)   # bits a number in the index; 2 in most examples"),
			"lower_num_workers": step.Paste("python", "config = ColBERTConfig(nbits=1, index_bsize=16)\nindexer.index(name=\"part1\", collection=passages[:1000000])   # several indexes"),
		},
		Titles: map[string]string{"cpu_offload": "Run it on the CPU", "lower_num_workers": "Build several smaller indexes", "use_lower_quant": "Use fewer bits in the index"},
		Costs:  map[string]string{"lower_context": "what comes after is not searched", "lower_num_workers": "a search in each of them", "cpu_offload": "many times slower"}, Like: []*program.Program{&trainer.DataAside},
		Cards: []cause.Card{
			saying(anyPhase(while(useOf("colbert", "", "Before indexing, a sample of the passages' vectors is clustered on the GPU all at once: 128 numbers of 16 to 32 bit for each token. It grows with the collection, not with the batch size.",
				"A smaller `index_bsize`: the sample does not depend on it.", "ColBERT/colbert/indexing/collection_indexer.py", "cpu_offload", "lower_num_workers", "lower_context"), "in k-means over a sample of vectors")), "colbert/kmeans", "in _train_kmeans", "compute_faiss_kmeans", "in train_kmeans", "_concatenate_and_split_sample"),
			trainOf("colbert", "A batch is `bsize` queries with `nway` passages each: 32 x 64 passages of `doc_maxlen` tokens with the settings of v2.", "Fewer bits in the index: the index is made later.", "ColBERT/colbert/infra/config/settings.py", "lower_batch_size", "lower_context"),
			useOf("colbert", "while it encoded passages", "`index_bsize` passages (default 64) of up to `doc_maxlen` tokens are encoded at a time.", "Fewer bits in the index: the index is made later.", "ColBERT/colbert/infra/config/settings.py", "lower_batch_size", "lower_context"),
		},
	}
	// OpenNMTPy is the PyTorch one.
	OpenNMTPy = program.Program{
		Name: "opennmt-py", Shown: "OpenNMT-py", Work: "text-training", Edits: "flags", Language: "python", Commands: []string{"onmt_train", "onmt_translate"},
		Sources: program.Sources{"OpenNMT-py/onmt/opts.py": "-max_generator_batches -src_seq_length -tgt_seq_length -rnn_size -word_vec_size -layers -src_vocab_size -tgt_vocab_size -batch_size -batch_type -accum_count -valid_batch_size -use_ckpting -model_dtype -num_workers -bucket_size -gpu_ranks"},
		Proofs:  []string{"onmt/", "OpenNMT-py", "onmt_train", "cuda OOM - batch removed"},
		Steps: spelling{
			"lower_batch_size":       onmt("Add `-batch_size 32` (64 by default; sentences), or `-batch_type tokens -batch_size 2048`; and `-max_generator_batches 8` (32): scores of fewer words at a time.", "# 2.0 and later; before: -batch_type tokens -batch_size 2048 on the command line\nbatch_type: tokens\nbatch_size: 2048        # tokens, padding counted; half of yours\naccum_count: [8]\nvalid_batch_size: 256   # tokens too"),
			"lower_context":          onmt("Preprocess again with `-src_seq_length 50 -tgt_seq_length 50`: what is longer is left out.", "# 2.0 and later; before: -src_seq_length 50 -tgt_seq_length 50 in preprocess.py\ntransforms: [filtertoolong]\nsrc_seq_length: 150\ntgt_seq_length: 150"),
			"mixed_precision":        config("model_dtype: fp16   # 2.0 and later"),
			"use_smaller_model":      onmt("Half of the present `-rnn_size` and `-word_vec_size`, fewer `-layers`, or a smaller vocabulary (`-src_vocab_size`, `-tgt_vocab_size` in preprocess.py): weights, gradients and Adam's state shrink with it.", "# half of the present values; a new training\nhidden_size: 512   # before 3.0: rnn_size\nword_vec_size: 512\nlayers: 4"),
			"gradient_checkpointing": config("use_ckpting: [ffn, mha]   # 3.0 and later"),
			"lower_num_workers":      config("num_workers: 0\nbucket_size: 32768"),
		},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size, count it in tokens", "lower_context": "Leave out long sentences"},
		Like:   []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{
			saying(stepOf("opennmt-py", "This is a warning: that batch was left out, and training goes on. A few do no harm; many mean that long sentences are not learned.", "", "OpenNMT-py/onmt/trainer.py", "lower_batch_size", "lower_context", "mixed_precision"), "opennmt-py/removed", "batch removed"),
			stepOf("opennmt-py", "With `batch_type: sents`, the default, `batch_size` counts sentences, padded to the longest; with `tokens` it is a cap. Weights, gradients and Adam's state grow with layers and vocabulary, the output scores with tokens x vocabulary.", "", "OpenNMT-py/onmt/opts.py", "lower_batch_size", "use_smaller_model", "lower_context", "mixed_precision"),
		},
	}
	// Marian reserves its workspace in advance.
	Marian = program.Program{
		Name: "marian", Shown: "Marian", Work: "text-training", Edits: "flags", Language: "cpp", Commands: []string{"marian", "marian-decoder"},
		Sources: program.Sources{"marian-dev/src/training/training.h": "--max-length-crop", "marian-dev/src/common/config_parser.cpp": "--workspace --mini-batch-fit --mini-batch --maxi-batch --max-length --optimizer-delay --fp16 --gradient-checkpointing --shuffle-in-ram --mini-batch-words --sqlite"},
		Proofs:  []string{"[marian] ", "marian-dev/", "[memory] Extending reserved space to", "marian/src/tensors/"},
		Steps: spelling{
			"lower_batch_size":       say("`-w 6000 --mini-batch-fit --maxi-batch 1000`: it fits batches into a workspace of so many MB. Leave 2 to 3 GB of the GPU outside it: parameters, gradients and Adam are not in it."),
			"lower_context":          say("`--max-length 100` (and `--max-length-crop`): what is longer is left out."),
			"mixed_precision":        say("`--fp16`."),
			"gradient_checkpointing": say("`--gradient-checkpointing`."),
			"lower_num_workers":      say("Leave out `--shuffle-in-ram`; `--sqlite` keeps the corpus on disk."),
			"gradient_accumulation":  say("`--optimizer-delay 4` with a smaller workspace: the same batch in four pieces."),
		},
		Titles: map[string]string{"lower_batch_size": "Fit batches into a smaller workspace (`--mini-batch-fit`)", "lower_context": "Leave out long sentences"},
		Costs:  map[string]string{"lower_context": "longer sentences are not learned"},
		Cards: []cause.Card{{
			ID: "marian/workspace", Kinds: append([]fact.Kind{fact.PlainMemory, fact.NativeAlloc}, cardFull...), Cause: cause.BatchTooLarge, Weight: cause.Strong, If: func(c *ledger.Case) bool { return !ledger.Crowded(c) },
			Headline: "ran out of memory on the GPU",
			Means:    "Marian reserves a workspace (`-w`, in MB) for the activations of a batch and enlarges it when a batch does not fit. Parameters, gradients and Adam's state are outside it. With a fixed `--mini-batch` the longest sentences decide; `--mini-batch-fit` sizes batches by the workspace.",
			Not:      "A larger `-w`: it leaves less room for the parameters.",
			Cures:    fixes("lower_batch_size", "lower_context", "gradient_accumulation"), Sources: []string{"marian-dev/src/common/config_parser.cpp", "marian-dev/src/tensors/tensor_allocator.h"},
		}},
	}
	// Tensor2Tensor is Google's, on TensorFlow 1.
	Tensor2Tensor = program.Program{
		Name: "tensor2tensor", Shown: "Tensor2Tensor", Work: "text-training", Edits: "flags", Language: "python", Commands: []string{"t2t-trainer"},
		Sources: program.Sources{"tensor2tensor/README.md": "--hparams --hparams_set --worker_gpu", "tensor2tensor/tensor2tensor/layers/common_hparams.py": "batch_size max_length eval_drop_long_sequences", "tensor2tensor/tensor2tensor/utils/decoding.py": "--decode_hparams"},
		Proofs:  []string{"tensor2tensor/", "t2t-trainer", "t2t_trainer"},
		Steps: spelling{
			"lower_batch_size":  say("`--hparams='batch_size=1024'` (4096 in most sets): tokens on one GPU, padding counted. Decoding: `--decode_hparams='batch_size=8,beam_size=4'`."),
			"lower_context":     say("`--hparams='max_length=128,eval_drop_long_sequences=True'`: with `max_length` 0 a sample may be as long as the batch."),
			"use_smaller_model": say("`--hparams_set=transformer_base_single_gpu` instead of transformer_big."),
		},
		Titles: map[string]string{"lower_batch_size": "Lower `batch_size` (tokens)", "lower_context": "Leave out long sentences"},
		Costs:  map[string]string{"lower_context": "longer sentences are left out"},
		Cards: []cause.Card{{
			ID: "tensor2tensor/tokens", Kinds: []fact.Kind{fact.TFAlloc}, Cause: cause.BatchTooLarge, Weight: cause.Strong, If: func(c *ledger.Case) bool { return !ledger.Crowded(c) },
			Headline: "ran out of memory",
			Means:    "`batch_size` counts tokens on one GPU, not sentences (4,096 in transformer_base). A sample can be as long as the whole batch unless `max_length` is set, and attention grows with the square of its length.[[ {asked} was refused in one piece.]]",
			Not:      "`allow_growth`: it changes when memory is reserved, not how much is needed. More cards: each gets a batch of its own.",
			Cures:    fixes("lower_batch_size", "lower_context", "use_smaller_model"), Sources: []string{"tensor2tensor/README.md", "tensor2tensor/tensor2tensor/layers/common_hparams.py"},
		}},
	}
)

// inSpacy is a smaller batch in the config file or in code.
var inSpacy = apps.ByPhase(step.Step{Kind: "config", Text: "[components.transformer]\nmax_batch_items = 1024\n\n[training.batcher]\nsize = 500   # of batch_by_padded; half of yours"}, step.Step{Kind: "python", Text: "docs = nlp.pipe(texts, batch_size=16)   # 128 on the transformer\nnlp.get_pipe(\"transformer\").cfg[\"max_batch_items\"] = 1024   # or config= when it is made"})

// onmtBefore are files of OpenNMT-py before 0.2 (June 2018), which has options
// with one dash on train.py and preprocess.py in place of a YAML file.
var onmtBefore = []string{"onmt/Optim.py", "onmt/Trainer.py", "onmt/Models.py", "onmt/Loss.py", "onmt/IO.py"}

// onmt is a step of OpenNMT-py's for its versions before 0.2, and since 2.0.
func onmt(before, since string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		for _, x := range c.Facts.Code {
			if slices.ContainsFunc(onmtBefore, func(file string) bool { return strings.HasSuffix(x.File, file) }) {
				return []step.Step{{Kind: "text", Text: before}}
			}
		}
		return []step.Step{{Kind: "config", Text: since}}
	}
}
