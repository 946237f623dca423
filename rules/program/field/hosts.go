package field

import "github.com/oomdoc/oomdoc/rules/program"

// Tools of tables and workers, and those that compute hashes.
var (
	Celery = of(program.Program{
		Name: "celery", Shown: "Celery", Work: "data", Edits: "flags",
		Proofs:   []string{"ForkPoolWorker-", "billiard/pool.py", "celery/worker/", "celery/concurrency/", "celery.worker", "celery@"},
		Commands: []string{"celery"},
		Titles:   map[string]string{"lower_num_workers": "Fewer processes", "restart_session": "Replace a process that has grown", "lower_batch_size": "Smaller tasks", "raise_memory_limit": "Give the container more"},
		Costs:    map[string]string{"lower_num_workers": "Fewer tasks at once.", "restart_session": "A start now and then.", "lower_batch_size": "Some rewriting.", "raise_memory_limit": "RAM."},
		Steps: steps{
			"lower_num_workers":  say("`celery -A app worker --concurrency=2 --prefetch-multiplier=1` (your own app; a process for each core unless set, in a container those of the machine)."),
			"restart_session":    say("`--max-memory-per-child=500000` (in KB: a process above it is replaced after its task) and `--max-tasks-per-child=100`. Neither helps where a single task takes too much."),
			"lower_batch_size":   say("The task that ran stands in the log before (\"Task ... received\"): let it work in parts, and pass IDs or paths, no data. With `acks_late` set, the task that killed one worker is given to the next."),
			"raise_memory_limit": say("Compose: `mem_limit: 2g`; Kubernetes: resources.limits.memory; on the machine: swap."),
		},
		Sources: program.Sources{"celery/celery/bin/worker.py": "--max-memory-per-child --max-tasks-per-child --concurrency --prefetch-multiplier", "celery/docs/userguide/workers.rst": "--max-memory-per-child"},
	}, nil, one(shortage{
		means:  "A worker process was ended by signal 9, which is nearly always the system, for RAM (a deploy, `docker stop` that ran out of time, or a hard time limit send it too). What counts is the sum of all processes; each keeps what its largest task took.",
		not:    "Retrying the task as it is.",
		fixes:  []string{"lower_num_workers", "restart_session", "lower_batch_size", "raise_memory_limit"},
		source: "celery/docs/userguide/workers.rst",
	}))

	Airflow = of(program.Program{
		Name: "airflow", Shown: "Airflow", Work: "data", Edits: "flags",
		Proofs:   []string{"Negsignal.SIGKILL", "{taskinstance.py", "{local_task_job", "{standard_task_runner.py", "airflow/executors/", "airflow/models/", "airflow/jobs/"},
		Commands: []string{"airflow"},
		Titles:   map[string]string{"lower_num_workers": "Fewer tasks at once", "lower_batch_size": "Less in the task itself", "raise_memory_limit": "More for the worker"},
		Costs:    map[string]string{"lower_num_workers": "Slower.", "lower_batch_size": "Some rewriting.", "raise_memory_limit": "RAM."},
		Steps: steps{
			"lower_num_workers":  say("`AIRFLOW__CELERY__WORKER_CONCURRENCY=4` (16 unless set), `AIRFLOW__CORE__PARALLELISM=8` (32; LocalExecutor starts as many), or a pool with one slot for the heavy tasks."),
			"lower_batch_size":   say("Work in parts (`chunksize`, a date for each task), let the database or Spark do it; pass paths in XComs, no tables."),
			"raise_memory_limit": say("Kubernetes: `executor_config` of the task with a larger limit, or the worker's resources in the Helm values; Compose: `mem_limit`, and 4 GB for Docker at least; Cloud Composer, MWAA: a larger worker."),
		},
		Sources: program.Sources{"https://airflow.apache.org/docs/apache-airflow/stable/configurations-ref.html": "AIRFLOW__CELERY__WORKER_CONCURRENCY AIRFLOW__CORE__PARALLELISM", "https://airflow.apache.org/docs/apache-airflow/stable/core-concepts/executor/local.html": "parallelism"},
	}, nil, one(shortage{
		means:  "\"Negsignal.SIGKILL\" is signal 9: the system, or the limit of the worker's container, ended the task's process, nearly always for RAM. Tasks of one worker share its memory, so the one that died need not be the one that took most. Nothing of it is said in the task's own log.",
		not:    "Retries alone, or a longer `execution_timeout`.",
		fixes:  []string{"lower_num_workers", "lower_batch_size", "raise_memory_limit", "add_swap"},
		source: "https://airflow.apache.org/docs/apache-airflow/stable/configurations-ref.html",
	}))

	RabbitMQ = of(program.Program{
		Name: "rabbitmq", Shown: "RabbitMQ or Erlang", Work: "data", Edits: "admin", Language: "other",
		Proofs: []string{"eheap_alloc: Cannot allocate", "binary_alloc: Cannot", "erl_crash.dump", "rabbit@", "vm_memory_high_watermark", "beam.smp"},
		Titles: map[string]string{"lower_mem_fraction": "A lower watermark, so that it slows senders down in time", "lower_batch_size": "Queues that lie on disk, and are short", "raise_memory_limit": "More for its container or machine"},
		Costs:  map[string]string{"lower_mem_fraction": "Publishers wait.", "lower_batch_size": "Slower.", "raise_memory_limit": "RAM."},
		Steps: steps{
			"lower_mem_fraction": say("rabbitmq.conf: `vm_memory_high_watermark.relative = 0.4`; in a container `vm_memory_high_watermark.absolute = 1GB`, for the limit is not always seen."),
			"lower_batch_size":   say("`rabbitmqctl list_queues name messages memory`: consumers that do not keep up are the cause as a rule; bound the length (`x-max-length`), quorum queues or classic ones of version 2, a consumer prefetch of 10 to 100."),
			"raise_memory_limit": say("Twice what it is now: while garbage is collected a heap is there twice."),
		},
		Sources: program.Sources{"https://www.rabbitmq.com/docs/memory": "vm_memory_high_watermark", "https://github.com/rabbitmq/rabbitmq-server/issues/681": "eheap_alloc"},
	}, nil, one(shortage{
		means:  "Erlang asked the system for a larger heap for one of its processes and was refused, and ended itself (erl_crash.dump says which: \"Slogan\" and the process with the largest heap). For RabbitMQ that is nearly always a long queue or a flood of unread messages; the watermark only slows publishers down, it is no limit.",
		not:    "Restarting alone: the queue is read again from disk.",
		fixes:  []string{"lower_batch_size", "lower_mem_fraction", "raise_memory_limit", "add_swap"},
		source: "https://www.rabbitmq.com/docs/memory",
	}))

	Polars = of(program.Program{
		Name: "polars", Script: "polars", Shown: "Polars", Work: "data", Edits: "code",
		Proofs: []string{"polars/lazyframe/", "polars/dataframe/", "polars/io/", "thread 'polars-", "polars-core/", "polars_core", "polars.exceptions"},
		Titles: map[string]string{"stream_dataset": "Scan, and collect by streaming", "half_precision": "Fewer and smaller columns", "lower_num_workers": "Fewer threads"},
		Costs:  map[string]string{"stream_dataset": "None as a rule.", "half_precision": "None.", "lower_num_workers": "Slower."},
		Steps: steps{
			"stream_dataset":    python("out = pl.scan_parquet(\"data/*.parquet\").filter(pl.col(\"day\") > day).collect(engine=\"streaming\")   # your own query; before 1.23 collect(streaming=True)\n# a large result: .sink_parquet(\"out.parquet\") in place of collect"),
			"half_precision":    say("Select columns before a join or group_by; text that repeats as `pl.Categorical`, Int32 and Float32; `rechunk=False`; a join whose keys repeat on both sides multiplies rows: count them first."),
			"lower_num_workers": say("`export POLARS_MAX_THREADS=4` before Python starts: each thread has hash tables and buffers of its own."),
		},
		Sources: program.Sources{"polars/py-polars/src/polars/lazyframe/frame.py": "collect engine streaming sink_parquet", "polars/crates/polars-core": "POLARS_MAX_THREADS"},
	}, nil, one(shortage{
		means:  "One column or hash table was refused. `read_*` holds the whole table, a join or sort it and its result at once, and `group_by` a table for each thread; operations that streaming does not know fall back to memory without a word.",
		not:    "A graphics card.",
		fixes:  []string{"stream_dataset", "half_precision", "lower_num_workers", "add_swap"},
		source: "polars/py-polars/src/polars/lazyframe/frame.py",
	}))

	Xarray = of(program.Program{
		Name: "xarray", Script: "xarray", Shown: "xarray", Work: "data", Edits: "code",
		Proofs: []string{"xarray/core/", "xarray/backends/"},
		Titles: map[string]string{"stream_dataset": "Chunks in place of the whole array", "half_precision": "Select first, in 32 bit", "lower_num_workers": "Fewer threads, smaller chunks"},
		Costs:  map[string]string{"stream_dataset": "Some rewriting.", "half_precision": "None.", "lower_num_workers": "Slower."},
		Steps: steps{
			"stream_dataset":    python("ds = xr.open_mfdataset(\"data/*.nc\", chunks={\"time\": 100})   # dask: nothing is read yet\nds.mean(\"time\").to_netcdf(\"mean.nc\")   # reduce first; no .load() or .values of the whole"),
			"half_precision":    say("`.sel` the variables, region and years before you compute; `.astype(\"float32\")`: packed files (scale_factor) are read as 32 or 64 bit, two to four times their size."),
			"lower_num_workers": python("import dask\ndask.config.set(scheduler=\"threads\", num_workers=2)"),
		},
		Sources: program.Sources{"xarray/doc/user-guide/dask.rst": "chunks", "dask/dask/threaded.py": "num_workers"},
	}, nil, one(shortage{
		means:  "The array was read as a whole: without `chunks=` a computation, `.load()` and `.values` take all of a variable, at the size that it has unpacked. Operations between arrays whose coordinates do not match align or broadcast them to far more; rolling windows made by `construct` multiply it.",
		not:    "A graphics card, or a faster disk.",
		fixes:  []string{"stream_dataset", "half_precision", "lower_num_workers"},
		source: "xarray/doc/user-guide/dask.rst",
	}))

	Rasterio = of(program.Program{
		Name: "rasterio", Script: "rasterio", Shown: "rasterio or GDAL", Work: "data", Edits: "code",
		Proofs: []string{"rasterio/", "rasterio._io", "rioxarray/", "osgeo/gdal", "gdalwarp", "gdal_translate", "rasterio.merge"},
		Titles: map[string]string{"stream_dataset": "Window by window", "lower_resolution": "Read it smaller", "lower_mem_fraction": "On the command line: bounded buffers"},
		Costs:  map[string]string{"stream_dataset": "Some rewriting.", "lower_resolution": "Detail.", "lower_mem_fraction": "Slower."},
		Steps: steps{
			"stream_dataset":     python("for _, window in src.block_windows(1):\n    dst.write(work(src.read(window=window)), window=window)   # work: your own function of one block"),
			"lower_resolution":   python("band = src.read(1, out_shape=(src.height // 4, src.width // 4))   # uses overviews where the file has them"),
			"lower_mem_fraction": say("`gdalwarp -wm 500 --config GDAL_CACHEMAX 512 in.tif out.tif`; mosaics: `gdalbuildvrt all.vrt *.tif`, then `gdal_translate`, in place of `rasterio.merge`, which holds the whole result (newer versions: `dst_path=` writes it by windows)."),
		},
		Sources: program.Sources{"rasterio/docs/topics/concurrency.rst": "block_windows window", "rasterio/docs/topics/overviews.rst": "out_shape", "https://gdal.org/en/stable/programs/gdalwarp.html": "-wm --config GDAL_CACHEMAX"},
	}, nil, one(shortage{
		means:  "`src.read()` without arguments makes bands x height x width of the file in one array, and floats for NDVI or reprojection two to eight times that of 8 or 16 bit. `merge` and `mask` hold the whole extent: two tiles far apart make all that lies between.",
		not:    "A graphics card.",
		fixes:  []string{"stream_dataset", "lower_resolution", "lower_mem_fraction"},
		source: "rasterio/docs/topics/concurrency.rst",
	}))

	Miner = of(program.Program{
		Name: "miner", Shown: "The miner", Work: "data", Edits: "flags", Language: "other",
		Proofs: []string{"ethminer", "Generating DAG", "TREX:", "T-Rex", "PhoenixMiner", "NBMiner", "Error CUDA mining", "memory for DAG", "lolMiner", "teamredminer", "gminer"},
		Titles: map[string]string{"use_smaller_model": "A coin or algorithm with a smaller DAG", "raise_pagefile": "Windows: a page file as large as all cards together", "close_other_apps": "Leave the card to the miner", "select_gpu": "Leave the small card out"},
		Costs:  map[string]string{"use_smaller_model": "Another coin.", "close_other_apps": "None.", "select_gpu": "Its hash rate."},
		Steps: steps{
			"use_smaller_model": say("The DAG grows with each epoch: 1 GiB + 8 MiB x epoch (Ethash; one of about 4 days). 3 GB cards ended at epoch 256 on Linux, 4 GB cards at about 375 (Windows keeps some for itself, so earlier)."),
			"close_other_apps":  say("The display on another card or the processor's graphics; no browser. Linux without a desktop leaves most."),
			"select_gpu":        say("ethminer `--cu-devices 0 2`, T-Rex `-d 0,2`, PhoenixMiner `-gpus 13`, lolMiner `--devices 0,2`."),
		},
		Sources: program.Sources{"ethminer/libethash-cuda/CUDAMiner.cpp": "DAG", "ethminer/ethminer/main.cpp": "--cu-devices", "https://github.com/trexminer/T-Rex": "-d", "https://github.com/Lolliedieb/lolMiner-releases": "--devices -gpus"},
	}, []shortage{{
		means:  "The DAG has to lie on the card as a whole, and grows with every epoch until a card of that size can no longer hold it; the display and the driver take 100 to 700 MB of it. On Windows the driver also wants page file for what it puts on the card: with several cards it must be as large as they are together.",
		not:    "Overclocking, intensity or another pool.",
		fixes:  []string{"use_smaller_model", "close_other_apps", "raise_pagefile", "select_gpu"},
		source: "ethminer/libethash-cuda/CUDAMiner.cpp",
	}}, nil)

	John = of(program.Program{
		Name: "john", Shown: "John the Ripper", Work: "data", Edits: "flags", Language: "other",
		Proofs:   []string{"opencl_", "_fmt_plug.c", "john --", "John the Ripper"},
		Beside:   map[string][]string{"opencl_": {"_fmt_plug.c"}},
		Commands: []string{"john"},
		Titles:   map[string]string{"lower_batch_size": "A smaller work size", "cpu_offload": "The format for the processor", "select_gpu": "Another device", "lower_num_workers": "Fewer processes, less kept"},
		Costs:    map[string]string{"lower_batch_size": "Slower.", "cpu_offload": "Slower.", "select_gpu": "None.", "lower_num_workers": "Slower."},
		Steps: steps{
			"lower_batch_size":  say("`GWS=4096 LWS=64 john --format=...` with your own options: the global work size that it tunes by itself may not fit; halve it until it does."),
			"cpu_offload":       say("Without `-opencl` in the format's name (`--format=wpapsk`): memory-hard hashes (scrypt, Argon2, bcrypt) hardly gain on a card."),
			"select_gpu":        say("`--devices=2`; `--list=opencl-devices` shows them with their memory and the largest single buffer."),
			"lower_num_workers": say("`--fork=2`, `--save-memory=1`, and `--mem-file-size=0` for large word lists."),
		},
		Sources: program.Sources{"john/doc/README-OPENCL": "GWS LWS --devices", "john/doc/OPTIONS": "--save-memory --mem-file-size --fork --list --format"},
	}, one(shortage{
		means:  "One buffer for all candidates of a round was refused: work size x what the format keeps for each. OpenCL bounds a single buffer to a quarter of the card on many drivers, so it fails with memory free; memory-hard hashes take 32 MB to GBs for each candidate.",
		not:    "A smaller word list.",
		fixes:  []string{"lower_batch_size", "close_other_apps", "cpu_offload", "select_gpu"},
		source: "john/doc/README-OPENCL",
	}), one(shortage{
		means:  "Every process of `--fork` holds the hashes and, unless told otherwise, the word list; memory-hard hashes (scrypt, Argon2) take their parameter for each thread.",
		not:    "A graphics card.",
		fixes:  []string{"lower_num_workers", "cpu_offload", "add_swap"},
		source: "john/doc/OPTIONS",
	}))
)
