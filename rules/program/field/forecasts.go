package field

import "github.com/oomdoc/oomdoc/rules/program"

// Programs that forecast, and those that learn from tables.
var (
	// TimeSeriesLibrary is thuml's, with Informer, Autoformer and the forks that
	// keep their exp_*.py and run.py.
	TimeSeriesLibrary = of(program.Program{
		Name: "time-series-library", Shown: "The forecaster", Work: "data", Edits: "flags",
		Proofs: []string{"exp/exp_long_term_forecasting.py", "exp/exp_informer.py", "exp/exp_main.py", "exp/exp_long_term_forecasting", "exp/exp_imputation.py", "exp/exp_anomaly_detection.py", "main_informer.py", "Informer2020/", "Time-Series-Library/", "layers/AutoCorrelation.py", "layers/SelfAttention_Family.py"},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size", "lower_context": "Use a shorter window (--seq_len)", "use_smaller_model": "Use a narrower model (--d_model, --d_ff)", "mixed_precision": "Train in mixed precision (--use_amp)", "stream_dataset": "Sum up the errors instead of keeping all forecasts", "lower_num_workers": "Use no loader workers"},
		Costs:  map[string]string{"lower_batch_size": "Slower.", "lower_context": "The model sees less history.", "use_smaller_model": "Some accuracy.", "mixed_precision": "Usually no loss.", "stream_dataset": "A few lines of code."},
		Steps: steps{
			"lower_batch_size":  say("Lower `--batch_size` (default 32), down to 1 if needed. Data sets with many series (traffic: 862, electricity: 321) often need 4 to 16."),
			"lower_context":     say("Use `--seq_len 96`; for Informer also `--label_len 48`. Full attention grows with the square of the length; Informer's `--attn prob` does not."),
			"use_smaller_model": say("Use `--d_model 256 --d_ff 512 --e_layers 2`. For TimesNet with many series: `--d_model 32 --d_ff 32 --top_k 3`."),
			"mixed_precision":   say("Add `--use_amp`."),
			"lower_num_workers": say("Use `--num_workers 0` (default 10 in Time-Series-Library)."),
			"stream_dataset":    say("`test` in `exp_*.py` collects the forecasts of all windows in `preds` and `trues`, then joins them. Add up squared and absolute errors per batch instead, or keep only every tenth window as float32."),
		},
		Sources: program.Sources{"Time-Series-Library/run.py": "--batch_size --seq_len --d_model --d_ff --e_layers --top_k --use_amp --num_workers", "Informer2020/main_informer.py": "--label_len --attn --factor"},
	}, one(shortage{
		means:  "Memory grows with batch size x series x window length x `--d_model`. PatchTST and Crossformer multiply the batch by the number of series, and iTransformer has one token per series: 862 series take a hundred times as much as 7.",
		fixes:  []string{"lower_batch_size", "kill_stale_process", "use_smaller_model", "lower_context", "mixed_precision"},
		source: "Time-Series-Library/run.py",
	}), one(shortage{
		means:  "The test keeps the forecasts of all windows and then joins them: windows x `pred_len` x series x 4 bytes, for forecasts and for truths. 5,000 windows x 720 x 862 are 11.6 GiB for one of them. Each loader worker also has its own copy of the data.",
		fixes:  []string{"stream_dataset", "lower_num_workers", "add_swap"},
		source: "Time-Series-Library/exp/exp_long_term_forecasting.py",
	}))

	Darts = of(program.Program{
		Name: "darts", Shown: "Darts", Work: "data", Edits: "code",
		Proofs: []string{"darts/models/forecasting/", "darts/utils/data/", "darts/timeseries.py", "darts/dataprocessing/"},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size and num_samples", "lower_context": "Use shorter chunks", "half_precision": "Convert the series to 32 bit", "stream_dataset": "Use fewer training rows per series"},
		Costs:  map[string]string{"lower_batch_size": "Slower.", "lower_context": "The model sees less history.", "half_precision": "Usually no loss.", "stream_dataset": "Older data are left out."},
		Steps: steps{
			"lower_batch_size":  say("Set `batch_size=8` in the model (default 32), and `model.predict(n, batch_size=8, num_samples=50)`. For `historical_forecasts` use a larger `stride`."),
			"lower_context":     say("Use a shorter `input_chunk_length` and `output_chunk_length`. TFT and Transformer grow with the square of the length."),
			"half_precision":    python("series = series.astype(np.float32)   # target and covariates, before fit: halves data and model"),
			"lower_num_workers": say("Use `n_jobs=1`, and no `num_workers` in `dataloader_kwargs`."),
			"stream_dataset":    say("Use `model.fit(series, max_samples_per_ts=1000)`. For regression models use fewer `lags`, or `multi_models=False`: they create a row per time and a column per lag."),
		},
		Sources: program.Sources{"darts/darts/models/forecasting/torch_forecasting_model.py": "batch_size max_samples_per_ts", "darts/docs/userguide/torch_forecasting_models.md": "float32 num_workers"},
	}, one(shortage{
		means:  "Memory grows with batch size x chunk length x model width. `predict` with `num_samples` multiplies the batch by the samples. Series in 64 bit make the model 64 bit, too.",
		fixes:  []string{"lower_batch_size", "half_precision", "kill_stale_process", "lower_context"},
		source: "darts/docs/userguide/torch_forecasting_models.md",
	}), one(shortage{
		means:  "Regression models turn the series into a 64-bit table of times x lags x components, and copy it for the fit. Loader workers hold the series again.",
		fixes:  []string{"half_precision", "stream_dataset", "lower_num_workers"},
		source: "darts/darts/models/forecasting/sklearn_model.py",
	}))

	NeuralForecast = of(program.Program{
		Name: "neuralforecast", Shown: "NeuralForecast", Work: "data", Edits: "code",
		Proofs: []string{"neuralforecast/"},
		Titles: map[string]string{"lower_batch_size": "Lower windows_batch_size and batch_size", "lower_context": "Use a shorter input (input_size)", "use_smaller_model": "Use a smaller model", "stream_dataset": "Read the data from Parquet files"},
		Costs:  map[string]string{"lower_batch_size": "Slower.", "lower_context": "The model sees less history.", "use_smaller_model": "Some accuracy.", "stream_dataset": "Slower."},
		Steps: steps{
			"lower_batch_size":  python("model = NHITS(h=24, input_size=48, batch_size=8, windows_batch_size=128,\n              valid_batch_size=8, inference_windows_batch_size=128, step_size=4)   # your own model and sizes; these five bound a step"),
			"lower_context":     say("Set `input_size` to two or three times `h`. -1 takes the whole series."),
			"use_smaller_model": say("TFT: `hidden_size=32, n_head=2`. Multivariate models (TSMixer, iTransformer) process all `n_series` at once."),
			"stream_dataset":    say("Give `fit` a list of Parquet folders, one per series (see the tutorial \"Large datasets\")."),
		},
		Sources: program.Sources{"neuralforecast/neuralforecast/common/_base_model.py": "batch_size valid_batch_size windows_batch_size inference_windows_batch_size step_size", "neuralforecast/nbs/docs/tutorials/large_datasets.ipynb": "fit"},
	}, one(shortage{
		means:  "`batch_size` counts series, not samples: all windows of each series are cut out, and `windows_batch_size` of them (often 1024) are trained at once. Validation and `predict` have their own sizes, and often need more. Long series need the most.",
		fixes:  []string{"lower_batch_size", "lower_context", "kill_stale_process", "use_smaller_model"},
		source: "neuralforecast/neuralforecast/common/_base_model.py",
	}), one(shortage{
		means:  "The whole table becomes one padded 32-bit array of series x longest length, so one long series makes all of them long. Cross-validation keeps every forecast.",
		fixes:  []string{"stream_dataset", "lower_context", "add_swap"},
		source: "neuralforecast/nbs/docs/tutorials/large_datasets.ipynb",
	}))

	PyTorchForecasting = of(program.Program{
		Name: "pytorch-forecasting", Shown: "PyTorch Forecasting", Work: "data", Edits: "code",
		Proofs: []string{"pytorch_forecasting/", "pytorch-forecasting/"},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size", "lower_context": "Use a shorter encoder (max_encoder_length)", "use_smaller_model": "Use a narrower model (hidden_size)", "stream_dataset": "Use fewer windows and columns", "cpu_offload": "Predict without raw outputs"},
		Costs:  map[string]string{"lower_batch_size": "Slower.", "lower_context": "The model sees less history.", "use_smaller_model": "Some accuracy.", "stream_dataset": "Older data are left out.", "cpu_offload": "No attention weights in the result."},
		Steps: steps{
			"lower_batch_size":  half("loader = training.to_dataloader(train=True, batch_size={n}, num_workers=0)   # less than now; examples give validation ten times as much", 32, "batch_size"),
			"lower_context":     say("Lower `max_encoder_length`: attention and LSTM of TFT keep every step."),
			"use_smaller_model": say("For TFT: `hidden_size=16, hidden_continuous_size=8, attention_head_size=1`."),
			"stream_dataset":    say("Use `randomize_length=None`, a larger `min_encoder_length`, and no columns that repeat others. Use float32 and category types in the data frame."),
			"lower_num_workers": say("`to_dataloader(..., num_workers=0)`."),
			"cpu_offload":       say("Use `model.predict(loader, return_x=False, mode=\"prediction\")` with a small batch. Mode \"raw\" keeps the outputs of all windows."),
		},
		Sources: program.Sources{"pytorch-forecasting/pytorch_forecasting/data/timeseries/_timeseries.py": "to_dataloader max_encoder_length", "pytorch-forecasting/docs/source/getting-started.rst": "batch_size num_workers hidden_size"},
	}, []shortage{{
		id: "raw", said: []string{"mode=\"raw\"", "mode='raw'"}, source: "pytorch-forecasting/docs/source/getting-started.rst",
		means: "`predict` in mode \"raw\" keeps attention, variable weights and inputs of every window on the GPU, and joins them at the end. Without the network's work of one batch that alone can fill it.",
		not:   "A smaller batch alone: all results are joined at the end.",
		fixes: []string{"cpu_offload", "lower_batch_size", "stream_dataset"},
	}, {
		means:  "Memory grows with batch size x encoder length x `hidden_size` x variables: TFT has a network for each variable. Predictions in mode \"raw\" keep attention and weights of every window.",
		fixes:  []string{"lower_batch_size", "use_smaller_model", "kill_stale_process", "lower_context"},
		source: "pytorch-forecasting/docs/source/getting-started.rst",
	}}, one(shortage{
		means:  "TimeSeriesDataSet keeps the table as tensors, and an index with a row for each possible window. Each loader worker has its own copy. `predict` keeps the outputs of all windows.",
		fixes:  []string{"lower_num_workers", "stream_dataset", "cpu_offload"},
		source: "pytorch-forecasting/pytorch_forecasting/data/timeseries/_timeseries.py",
	}))

	GluonTS = of(program.Program{
		Name: "gluonts", Shown: "GluonTS", Work: "data", Edits: "code",
		Proofs: []string{"gluonts/"},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size and the sample paths", "lower_context": "Use a shorter context"},
		Costs:  map[string]string{"lower_batch_size": "Slower; coarser quantiles.", "lower_context": "The model sees less history."},
		Steps: steps{
			"lower_batch_size": half("estimator = DeepAREstimator(prediction_length=24, freq=\"H\", batch_size={n}, num_parallel_samples=20)   # your own estimator; default 32 and 100", 8, "batch_size"),
			"lower_context":    say("Lower `context_length`. The longest lag of `lags_seq` is added to it."),
		},
		Sources: program.Sources{"gluonts/src/gluonts/torch/model/deepar/estimator.py": "batch_size num_parallel_samples context_length lags_seq"},
	}, one(shortage{
		means:  "DeepAR forecasts `num_parallel_samples` paths (default 100) for each series of a batch (default 32). That is 3,200 sequences at once, so predicting can need more than training.",
		fixes:  []string{"lower_batch_size", "kill_stale_process", "lower_context"},
		source: "gluonts/src/gluonts/torch/model/deepar/estimator.py",
	}), one(shortage{
		means:  "`make_evaluation_predictions` and a list of its forecasts keep all sample paths of all series: series x 100 x length x 4 bytes.",
		fixes:  []string{"lower_batch_size", "lower_context", "add_swap"},
		source: "gluonts/src/gluonts/torch/model/deepar/estimator.py",
	}))

	TabPFN = of(program.Program{
		Name: "tabpfn", Shown: "TabPFN", Work: "data", Edits: "code",
		Proofs: []string{"tabpfn/", "TabPFNClassifier", "TabPFNRegressor"},
		Titles: map[string]string{"lower_batch_size": "Predict in parts", "lowvram_mode": "Turn on its memory saving mode", "lower_context": "Train on a sample of the rows", "lower_parallel": "Use fewer estimators (n_estimators)"},
		Costs:  map[string]string{"lower_batch_size": "Slower; the same result.", "lowvram_mode": "Slower.", "lower_context": "Some accuracy.", "lower_parallel": "A little accuracy."},
		Steps: steps{
			"lower_batch_size": python("proba = np.concatenate([clf.predict_proba(part) for part in np.array_split(X_test, 20)])"),
			"lowvram_mode":     python("clf = TabPFNClassifier(memory_saving_mode=True, n_estimators=4)   # version 2; version 1: N_ensemble_configurations=4, batch_size_inference=1"),
			"lower_context":    say("Use about 10,000 rows, drawn at random or by class, and the 100 most useful columns. All training rows are read again for each prediction."),
			"lower_parallel":   say("Try `n_estimators=1` (default 4 or 8, by release)."),
		},
		Sources: program.Sources{"TabPFN/src/tabpfn/classifier.py": "memory_saving_mode n_estimators fit_mode"},
	}, one(shortage{
		means:  "`predict` puts the training rows and the rows to predict through a transformer together. Memory grows with rows x columns of both, and with the square of the training rows unless attention is fused.",
		fixes:  []string{"lower_batch_size", "lowvram_mode", "lower_context", "kill_stale_process"},
		source: "TabPFN/src/tabpfn/classifier.py",
	}), one(shortage{
		means:  "On the CPU the transformer works in RAM: rows x columns of training and test data together, and the square of the training rows.",
		fixes:  []string{"lower_batch_size", "lower_context", "lowvram_mode", "lower_parallel"},
		source: "TabPFN/src/tabpfn/classifier.py",
	}))

	AutoGluon = of(program.Program{
		Name: "autogluon", Shown: "AutoGluon", Work: "data", Edits: "code",
		Proofs: []string{"autogluon/", "AutogluonModels/", "TabularPredictor", "MultiModalPredictor"},
		Titles: map[string]string{"lower_num_workers": "For tables, fit one fold at a time, with fewer folds", "use_smaller_model": "For tables, exclude the models that need the most", "lower_batch_size": "For images and text, lower env.per_gpu_batch_size", "lower_context": "For images and text, use a smaller preset", "stream_dataset": "Use fewer rows or columns"},
		Costs:  map[string]string{"lower_num_workers": "Slower; a little accuracy.", "use_smaller_model": "A little accuracy.", "lower_batch_size": "Slower.", "lower_context": "Some accuracy.", "stream_dataset": "Some accuracy."},
		Steps: steps{
			"lower_num_workers": python("predictor.fit(train, presets=\"good_quality\", num_bag_folds=5, num_stack_levels=0, dynamic_stacking=False,\n              ag_args_ensemble={\"fold_fitting_strategy\": \"sequential_local\"})   # by default folds run in parallel"),
			"use_smaller_model": python("predictor.fit(train, excluded_model_types=[\"KNN\", \"RF\", \"XT\", \"NN_TORCH\"])   # forests take most RAM"),
			"lower_context":     python("predictor = MultiModalPredictor(label=\"label\", presets=\"medium_quality\")   # your own label"),
			"lower_batch_size":  python("predictor.fit(train, hyperparameters={\"env.per_gpu_batch_size\": 2, \"env.num_workers\": 2})   # MultiModalPredictor only: default 8; env.batch_size stays, by accumulation"),
			"stream_dataset":    say("Use `train.sample(200_000)`, numbers as float32, and no text or id columns."),
		},
		Sources: program.Sources{"autogluon/multimodal/src/autogluon/multimodal/configs/env/default.yaml": "per_gpu_batch_size num_workers", "autogluon/tabular/src/autogluon/tabular/predictor/predictor.py": "excluded_model_types num_bag_folds ag_args_ensemble", "autogluon/core/src/autogluon/core/models/abstract/_auxiliary_params.py": "max_memory_usage_ratio"},
	}, []shortage{{
		id: "images", said: []string{"autogluon/multimodal/", "MultiModalPredictor("}, source: "autogluon/multimodal/src/autogluon/multimodal/configs/env/default.yaml",
		means: "MultiModalPredictor fine-tunes a transformer, with `env.per_gpu_batch_size` samples at once (default 8). The preset decides how large that model is.",
		not:   "A smaller `env.batch_size`: it only sets how many steps are added up.",
		fixes: []string{"lower_batch_size", "lower_context", "kill_stale_process"},
		done:  []string{"lower_num_workers", "use_smaller_model"},
	}, {
		id: "tables", said: []string{"_BAG_L", "autogluon/tabular/", "TabularPredictor("}, source: "autogluon/tabular/src/autogluon/tabular/predictor/predictor.py",
		means: "With tables several folds can share a GPU at once, or one model is large, such as TabPFN. AutoGluon skips a model that failed and goes on with the others: then the result only lacks that model.",
		fixes: []string{"lower_num_workers", "use_smaller_model", "kill_stale_process"},
		done:  []string{"lower_batch_size", "lower_context"},
	}, {
		means:  "With tables several folds or models can share a GPU, or one model is large, such as TabPFN. With images and text, `env.per_gpu_batch_size` samples of a fine-tuned transformer fill it.",
		fixes:  []string{"lower_batch_size", "lower_num_workers", "kill_stale_process", "use_smaller_model"},
		source: "autogluon/multimodal/src/autogluon/multimodal/configs/env/default.yaml",
	}}, one(shortage{
		means:  "By default the folds run in parallel processes (Ray), each with a copy of the table and its model. Random forests and KNN need the most. AutoGluon skips models that would not fit by its own estimate, but in a container it may not see the limit.",
		not:    "`max_memory_usage_ratio` above 1: it only lifts that guard.",
		fixes:  []string{"lower_num_workers", "use_smaller_model", "stream_dataset", "raise_memory_limit"},
		source: "autogluon/core/src/autogluon/core/models/abstract/_auxiliary_params.py",
	}))
)
