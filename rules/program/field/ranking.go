package field

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// ranks are RecBole's words for an evaluation.
var ranks = []string{"_full_sort_batch_eval", "full_sort_predict", "in evaluate", "in _valid_epoch", "_neg_sample_batch_eval"}

// Recommenders, knowledge graphs, embeddings of words and neighbours.
var (
	RecBole = of(program.Program{
		Name: "recbole", Shown: "RecBole", Work: "data", Edits: "flags",
		Proofs: []string{"recbole/", "run_recbole"},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size", "stream_dataset": "Read fewer interactions and columns", "use_smaller_model": "Use smaller embeddings (embedding_size)", "mixed_precision": "Train in mixed precision (enable_amp)", "lower_resolution": "Evaluate on sampled items (uni100)"},
		Costs:  map[string]string{"lower_batch_size": "Slower; the same result.", "use_smaller_model": "Some accuracy.", "mixed_precision": "Usually no loss.", "lower_resolution": "Results cannot be compared with full ranking.", "stream_dataset": "Rare users and items are left out."},
		Steps: steps{
			"lower_batch_size": func(c *ledger.Case) []step.Step {
				if c.Near(ranks...) {
					return say("In the YAML or at the end of the command: `--eval_batch_size=256` (default 4096). The training stays as it is.")(c)
				}
				return say("In the YAML or at the end of the command: `--train_batch_size=512` (default 2048).")(c)
			},
			"stream_dataset":    say("In the YAML set `user_inter_num_interval: \"[5,inf)\"` and `item_inter_num_interval: \"[5,inf)\"`, and in `load_col` only the columns that the model needs. Sequence models: a shorter `MAX_ITEM_LIST_LENGTH` (default 50)."),
			"use_smaller_model": say("Use `--embedding_size=32`. Sequence models: `--MAX_ITEM_LIST_LENGTH=50`. Graph models: fewer `n_layers`."),
			"mixed_precision":   say("Add `--enable_amp=True`."),
			"lower_resolution":  say("In the YAML set `eval_args: {mode: uni100}`: it ranks 100 items per user instead of all."),
		},
		Sources: program.Sources{"RecBole/recbole/properties/overall.yaml": "--train_batch_size --eval_batch_size --enable_amp eval_args", "RecBole/recbole/properties/model": "--embedding_size n_layers", "RecBole/recbole/properties/dataset/sample.yaml": "--MAX_ITEM_LIST_LENGTH MAX_ITEM_LIST_LENGTH user_inter_num_interval item_inter_num_interval load_col"},
	}, []shortage{{
		id: "evaluation", said: ranks, source: "RecBole/recbole/trainer/trainer.py",
		means: "Evaluation ranks all items for each user of a batch: users x items x 4 bytes. Models without their own `full_sort_predict` score every pair, which needs many times that.",
		fixes: []string{"lower_batch_size", "lower_resolution", "use_smaller_model"},
		done:  []string{"mixed_precision"},
	}, {
		means:  "Memory grows with batch size x embedding size. Graph models (LightGCN, NGCF) compute all users and items in each step, whatever the batch size. Sequence models also keep scores of all items: batch x items x 4 bytes.",
		fixes:  []string{"lower_batch_size", "use_smaller_model", "kill_stale_process", "mixed_precision"},
		source: "RecBole/recbole/properties/overall.yaml",
	}}, one(shortage{
		means:  "Interactions are kept as tensors and as a table. For sequence models each prefix of a user's history becomes a row, so it grows with the square of the history. Each `worker` has its own copy.",
		not:    "A smaller batch or embedding: the data set itself fills the RAM.",
		fixes:  []string{"stream_dataset", "raise_pagefile", "add_swap", "raise_memory_limit"},
		source: "RecBole/recbole/properties/overall.yaml",
	}))

	PyKEEN = of(program.Program{
		Name: "pykeen", Shown: "PyKEEN", Work: "graph", Edits: "code",
		Proofs: []string{"pykeen/", "pykeen.pipeline"},
		Titles: map[string]string{"gradient_accumulation": "Split the batch (sub_batch_size)", "lower_batch_size": "Lower the batch size, in evaluation too", "use_smaller_model": "Use smaller embeddings (embedding_dim)", "lower_resolution": "Train on sampled negatives (sLCWA)"},
		Costs:  map[string]string{"gradient_accumulation": "Slower; the same result.", "lower_batch_size": "Slower.", "use_smaller_model": "Some accuracy.", "lower_resolution": "Other results: it is another training method."},
		Steps: steps{
			"gradient_accumulation": python("pipeline(..., training_kwargs=dict(batch_size=256, sub_batch_size=32))   # not for models with batch normalization"),
			"lower_batch_size": func(c *ledger.Case) []step.Step {
				if c.Near("pykeen/evaluation/", "Evaluating on ") {
					return python("pipeline(..., evaluation_kwargs=dict(batch_size=16))   # less if it fails again")(c)
				}
				return half("pipeline(..., training_kwargs=dict(batch_size={n}))", 64, "batch_size")(c)
			},
			"use_smaller_model": say("Use `model_kwargs=dict(embedding_dim=64)`. RESCAL and TuckER keep a matrix per relation: embedding_dim squared."),
			"lower_resolution":  say("Use `training_loop=\"sLCWA\"` with `negative_sampler_kwargs=dict(num_negs_per_pos=8)`. LCWA scores every entity for each triple."),
		},
		Sources: program.Sources{"pykeen/docs/source/tutorial/performance.rst": "sub_batch_size slice_size automatic_memory_optimization", "pykeen/src/pykeen/evaluation/evaluator.py": "batch_size slice_size"},
	}, []shortage{{
		id: "evaluation", said: []string{"pykeen/evaluation/", "Evaluating on "}, source: "pykeen/src/pykeen/evaluation/evaluator.py",
		means: "Training is over. The evaluation scores all entities for each triple of a batch: batch x entities x embedding. Without a batch size of its own PyKEEN searches for the largest that fits, and its \"out of memory\" lines are normal: it counts only if the run stops.",
		not:   "A smaller batch in training, or `sub_batch_size`.",
		fixes: []string{"lower_batch_size", "kill_stale_process", "use_smaller_model"},
		done:  []string{"gradient_accumulation", "lower_resolution"},
	}, {
		means:  "LCWA training and every evaluation score all entities for each triple: batch x entities x embedding. While PyKEEN searches for the largest batch that fits, \"out of memory\" is normal. It counts only if the run stops with it.",
		fixes:  []string{"gradient_accumulation", "lower_batch_size", "kill_stale_process", "lower_resolution", "use_smaller_model"},
		source: "pykeen/docs/source/tutorial/performance.rst",
	}}, one(shortage{
		means:  "The triples, inverse ones too, are kept as arrays, and filtered evaluation indexes all known ones. On the CPU the scores of a batch take batch x entities x 4 bytes.",
		fixes:  []string{"lower_batch_size", "lower_resolution", "use_smaller_model"},
		source: "pykeen/docs/source/tutorial/performance.rst",
	}))

	DLRM = of(program.Program{
		Name: "dlrm", Shown: "DLRM", Work: "data", Edits: "flags",
		Proofs: []string{"dlrm_s_pytorch.py", "dlrm_data_pytorch.py", "dlrm_main.py", "torchrec_dlrm/", "dlrm/tricks/"},
		Titles: map[string]string{"use_smaller_model": "Use smaller embedding tables", "lower_batch_size": "Lower the batch size", "shard_training": "Divide the tables among cards", "stream_dataset": "Read the data from disk (--memory-map)"},
		Costs:  map[string]string{"use_smaller_model": "Some accuracy.", "lower_batch_size": "Slower.", "shard_training": "Needs more cards.", "stream_dataset": "Slower."},
		Steps: steps{
			"use_smaller_model": say("Use `--max-ind-range 10000000` (the maximum rows of a table) and `--arch-sparse-feature-size 64`. Or use `--qr-flag` or `--md-flag`, which factor the tables."),
			"lower_batch_size":  say("Lower `--mini-batch-size` and `--test-mini-batch-size`."),
			"shard_training":    say("`python -m torch.distributed.launch --nproc_per_node=8 dlrm_s_pytorch.py ...` with your own options divides the tables among the ranks."),
			"stream_dataset":    say("Use `--memory-map` (Criteo Terabyte) and `--num-workers 0`. For a sample of the data: `--data-sub-sample-rate 0.875`."),
		},
		Sources: program.Sources{"dlrm/dlrm_s_pytorch.py": "--max-ind-range --arch-sparse-feature-size --qr-flag --md-flag --mini-batch-size --test-mini-batch-size --memory-map --num-workers --data-sub-sample-rate", "dlrm/README.md": "--nproc_per_node"},
	}, one(shortage{
		means:  "The embedding tables need the most: rows x `--arch-sparse-feature-size` x 4 bytes, as much again for gradients unless they are sparse, plus optimizer state. 100 million rows of 128 numbers are 47.7 GiB.",
		fixes:  []string{"use_smaller_model", "shard_training", "kill_stale_process", "lower_batch_size"},
		source: "dlrm/dlrm_s_pytorch.py",
	}), one(shortage{
		means:  "The tables are created in RAM first: rows x feature size x 4 bytes. The preprocessing of Criteo keeps a day's file and its counts.",
		fixes:  []string{"use_smaller_model", "stream_dataset", "add_swap"},
		source: "dlrm/README.md",
	}))

	TorchRec = of(program.Program{
		Name: "torchrec", Shown: "TorchRec", Work: "data", Edits: "code",
		Proofs: []string{"torchrec/", "fbgemm_gpu/split_table", "Unable to find a plan for this model"},
		Titles: map[string]string{"cpu_offload": "Keep large tables in RAM, with a cache on the card", "shard_training": "Shard the largest tables by rows", "lower_batch_size": "Lower the batch size", "half_precision": "Keep the tables in 16 bit"},
		Costs:  map[string]string{"cpu_offload": "Slower.", "shard_training": "Needs more cards.", "lower_batch_size": "Slower.", "half_precision": "Hardly any loss."},
		Steps: steps{
			"cpu_offload":      python("constraints = {\"large_table\": ParameterConstraints(\n    compute_kernels=[EmbeddingComputeKernel.FUSED_UVM_CACHING.value], cache_params=CacheParams(load_factor=0.1))}   # your table's name\nplanner = EmbeddingShardingPlanner(topology=topology, constraints=constraints)"),
			"shard_training":   say("Set `ShardingType.ROW_WISE` or `TABLE_ROW_WISE` in the constraints of the largest tables, and use more ranks. A table that is not divided has to fit on one GPU."),
			"lower_batch_size": say("Use a smaller batch per rank: pooled outputs and all-to-all buffers take batch x features x embedding."),
			"half_precision":   say("Use `data_type=DataType.FP16` in `EmbeddingBagConfig`, and row-wise Adagrad (`EmbOptimType.EXACT_ROWWISE_ADAGRAD`) instead of Adam, which keeps two more numbers per weight."),
		},
		Sources: program.Sources{"torchrec/torchrec/distributed/planner/types.py": "ParameterConstraints CacheParams", "torchrec/torchrec/distributed/embedding_types.py": "FUSED_UVM_CACHING", "torchrec/torchrec/distributed/types.py": "ROW_WISE TABLE_ROW_WISE", "torchrec/torchrec/distributed/planner/planners.py": "EXACT_ROWWISE_ADAGRAD"},
	}, one(shortage{
		means:  "The embedding tables usually need the most: rows x dimension x 4 bytes, plus optimizer state (Adam: twice as much). The planner divides them by the GPU memory in its `Topology` (`hbm_cap`). It does not count activations of a large batch or communication buffers.",
		fixes:  []string{"cpu_offload", "shard_training", "half_precision", "lower_batch_size"},
		source: "torchrec/torchrec/distributed/planner/planners.py",
	}), nil)

	UMAP = of(program.Program{
		Name: "umap", Shown: "UMAP", Work: "data", Edits: "code",
		Proofs: []string{"umap/umap_.py", "umap/layouts.py", "umap/spectral.py", "pynndescent/", "umap/parametric_umap.py"},
		Titles: map[string]string{"lower_resolution": "Reduce to fewer columns first (PCA)", "half_precision": "Pass features instead of distances", "use_smaller_model": "Initialise with PCA instead of spectral (init=\"pca\")", "stream_dataset": "Fit on a sample, transform the rest"},
		Costs:  map[string]string{"lower_resolution": "Usually little loss.", "use_smaller_model": "The layout may differ.", "half_precision": "Some rewriting.", "stream_dataset": "Rare groups may be missed."},
		Steps: steps{
			"lower_resolution":  say("Reduce to 50 columns with PCA, as float32. Keep `n_neighbors=15` and `low_memory=True` (both are the default)."),
			"use_smaller_model": python("reducer = umap.UMAP(init=\"pca\", low_memory=True, n_jobs=4)   # \"random\" needs least; the spectral start computes eigenvectors of all points"),
			"half_precision":    say("Give UMAP the features and a metric instead of distances (`metric=\"cosine\"`, or your own function compiled with numba): it then computes only the neighbours. Or pass a sparse matrix of neighbours."),
			"stream_dataset":    python("reducer = umap.UMAP().fit(X[rng.choice(len(X), 100_000, replace=False)])   # rng = np.random.default_rng(0)\nparts = [reducer.transform(x) for x in np.array_split(X, 50)]"),
		},
		Sources: program.Sources{"umap/umap/umap_.py": "low_memory n_neighbors init n_jobs"},
	}, nil, []shortage{{
		id: "precomputed", said: []string{"metric='precomputed'", "metric=\"precomputed\""}, source: "umap/umap/umap_.py", whole: true,
		means: "`metric=\"precomputed\"` takes the matrix of all distances, points squared: 100,000 points take 37 GiB in 32 bit and 75 in 64, and UMAP makes a copy in 32 bit.",
		not:   "Fewer columns: only distances go in.",
		fixes: []string{"half_precision", "stream_dataset", "add_swap"},
		done:  []string{"lower_resolution", "use_smaller_model"},
	}, {
		means:  "Below 4096 points UMAP creates the matrix of all distances; above that a graph of neighbours: points x `n_neighbors`, several times, plus a 32-bit copy of the data. A precomputed metric needs the full matrix: 100,000 points squared are 75 GiB in 64 bit.",
		fixes:  []string{"lower_resolution", "stream_dataset", "use_smaller_model", "add_swap"},
		source: "umap/umap/umap_.py",
	}})

	HDBSCAN = of(program.Program{
		Name: "hdbscan", Shown: "HDBSCAN", Work: "data", Edits: "code",
		Proofs: []string{"hdbscan/hdbscan_.py", "hdbscan/prediction.py", "hdbscan/robust_single_linkage_.py", "hdbscan/_hdbscan", "cluster/_hdbscan/hdbscan.py"},
		Titles: map[string]string{"lower_resolution": "Reduce the columns, and use a tree", "lower_num_workers": "Use one process", "stream_dataset": "Cluster a sample, predict the rest"},
		Costs:  map[string]string{"lower_resolution": "Distances are those after the reduction.", "lower_num_workers": "Slower.", "stream_dataset": "Small clusters may be missed."},
		Steps: steps{
			"lower_resolution":  python("clusterer = hdbscan.HDBSCAN(metric=\"euclidean\", algorithm=\"boruvka_kdtree\", min_cluster_size=50)   # X: 20 to 50 columns at most (PCA, UMAP), float64; for cosine, normalise the rows first"),
			"lower_num_workers": say("Use `core_dist_n_jobs=1` (default 4): each process has its own tree."),
			"stream_dataset":    python("clusterer = hdbscan.HDBSCAN(prediction_data=True).fit(sample)\nlabels, strength = hdbscan.approximate_predict(clusterer, rest)   # in parts"),
		},
		Sources: program.Sources{"hdbscan/hdbscan/hdbscan_.py": "algorithm core_dist_n_jobs prediction_data"},
	}, nil, []shortage{{
		id: "distances", said: []string{"_hdbscan_generic"}, source: "hdbscan/hdbscan/hdbscan_.py", whole: true,
		means: "This metric or algorithm makes the matrix of all distances, points squared: 50,000 points take 18.6 GiB in 64 bit, 100,000 take 75, plus copies. Only metrics that its trees know (euclidean, manhattan and the like) do without.",
		not:   "A larger `min_cluster_size`.",
		fixes: []string{"lower_resolution", "stream_dataset", "add_swap"},
	}, {
		means:  "Euclidean distances in few columns use trees. With other metrics (cosine, precomputed, most for strings) it creates the matrix of all distances: 50,000 points squared are 18.6 GiB in 64 bit, plus copies. `all_points_membership_vectors` needs points x clusters.",
		fixes:  []string{"lower_resolution", "stream_dataset", "lower_num_workers"},
		source: "hdbscan/hdbscan/hdbscan_.py",
	}})

	Gensim = of(program.Program{
		Name: "gensim", Work: "data", Edits: "code",
		Proofs: []string{"gensim/models/", "gensim/corpora/", "gensim/similarities/", "gensim/matutils.py", "INFO : collecting all words"},
		Titles: map[string]string{"lower_resolution": "Use fewer words and shorter vectors", "stream_dataset": "Stream the sentences, load fewer vectors", "use_mmap": "Memory-map the vectors (mmap=\"r\")"},
		Costs:  map[string]string{"lower_resolution": "Rare words are left out.", "stream_dataset": "Rare words are left out.", "use_mmap": "Slow at first access."},
		Steps: steps{
			"lower_resolution": python("model = Word2Vec(sentences, min_count=10, max_final_vocab=500_000, vector_size=100)   # Doc2Vec also has a vector per tag"),
			"stream_dataset":   python("sentences = LineSentence(\"corpus.txt\")   # your file: an iterator, no list\nwv = KeyedVectors.load_word2vec_format(\"vectors.bin\", binary=True, limit=500_000)"),
			"use_mmap":         python("wv.save(\"vectors.kv\")\nwv = KeyedVectors.load(\"vectors.kv\", mmap=\"r\")   # shared by all processes"),
		},
		Sources: program.Sources{"gensim/gensim/models/word2vec.py": "min_count max_final_vocab max_vocab_size vector_size", "gensim/gensim/models/keyedvectors.py": "limit load_word2vec_format", "gensim/gensim/utils.py": "mmap"},
	}, nil, one(shortage{
		means:  "Vectors take words x dimensions x 4 bytes, and two to three times that in training: 3 million words of 300 numbers are 3.35 GiB. FastText adds `bucket` (2 million) x dimensions: 2.2 GiB at 300. `MatrixSimilarity` and `corpus2dense` create dense matrices.",
		fixes:  []string{"stream_dataset", "lower_resolution", "use_mmap", "add_swap"},
		source: "gensim/gensim/models/word2vec.py",
	}))

	FastText = of(program.Program{
		Name: "fasttext", Shown: "fastText", Work: "data", Edits: "flags",
		Proofs:   []string{"fasttext supervised", "fasttext skipgram", "fasttext cbow", "fasttext/FastText.py", "fasttext_pybind", "fasttext::", "fastText/"},
		Commands: []string{"fasttext"},
		Titles:   map[string]string{"lower_resolution": "Lower -bucket and -dim", "use_smaller_model": "Use a compressed or reduced model", "lower_num_workers": "Keep fewer words (-minCount)"},
		Costs:    map[string]string{"lower_resolution": "Some accuracy, rare words most.", "use_smaller_model": "A little accuracy.", "lower_num_workers": "Rare words are left out."},
		Steps: steps{
			"lower_resolution":  say("Use `-bucket 200000 -dim 100` (default 2 million and 100; published vectors have 300). `-maxn 0 -wordNgrams 1` needs no buckets at all."),
			"use_smaller_model": say("Your own supervised model: `fasttext quantize -output model -input train.txt -qnorm -retrain -cutoff 100000`. Published vectors: `fasttext.util.reduce_model(ft, 100)` on a machine that can load them once, or `cc.*.vec` with `limit=` in gensim."),
			"lower_num_workers": say("Use `-minCount 10` and `-minCountLabel 10`."),
		},
		Sources: program.Sources{"fastText/src/args.cc": "-bucket -dim -maxn -wordNgrams -minCount -minCountLabel -qnorm -retrain -cutoff"},
	}, nil, one(shortage{
		means:  "It needs (words + buckets) x dimensions x 4 bytes, plus words x dimensions x 4 for the output: 2 million words and as many buckets at 300 dimensions are 4.5 GiB plus 2.2. Loading cc.en.300.bin takes its 7 GB.",
		fixes:  []string{"lower_resolution", "use_smaller_model", "lower_num_workers", "add_swap"},
		source: "fastText/src/args.cc",
	}))

	GraphStorm = of(program.Program{
		Name: "graphstorm", Shown: "GraphStorm", Work: "graph", Edits: "flags",
		Proofs: []string{"graphstorm/", "graphstorm.run"},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size", "lower_context": "Sample fewer neighbours (--fanout)", "use_smaller_model": "Use a narrower model (--hidden-size)", "shard_training": "Use more partitions and machines", "half_precision": "Keep smaller features"},
		Costs:  map[string]string{"lower_batch_size": "Slower.", "lower_context": "Some accuracy.", "use_smaller_model": "Some accuracy."},
		Steps: steps{
			"lower_batch_size":  say("Use `--batch-size 128` and `--eval-batch-size 512`."),
			"lower_context":     say("Use `--fanout \"10,5\"`, then half of it (and `--eval-fanout`) with `--num-layers 2`: the neighbours multiply with each layer."),
			"shard_training":    say("Partition the graph again into more parts (as many as machines), and run on those."),
			"half_precision":    say("Store features as float16, and leave out those that you do not train on, when you build the graph."),
			"use_smaller_model": say("Use `--hidden-size 128`. For text features use a smaller language model, or embeddings computed once."),
		},
		Sources: program.Sources{"graphstorm/python/graphstorm/config/argument.py": "--batch-size --eval-batch-size --fanout --eval-fanout --num-layers --hidden-size"},
	}, one(shortage{
		means:  "Memory grows with batch size x the fanouts of all layers multiplied x `--hidden-size`, for each edge type.",
		not:    "More graph partitions: they divide RAM, not a batch.",
		fixes:  []string{"lower_batch_size", "lower_context", "kill_stale_process", "use_smaller_model"},
		source: "graphstorm/python/graphstorm/config/argument.py",
	}), one(shortage{
		means:  "Each machine keeps its partition of the graph with all node and edge features in RAM, beside the samplers of its trainers. Learnable embeddings of nodes without features come on top.",
		not:    "A smaller batch or fanout: they save GPU memory.",
		fixes:  []string{"shard_training", "half_precision", "add_swap"},
		source: "graphstorm/python/graphstorm/config/argument.py",
	}))
)
