package field

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

// Tools of tables and workers, and those that compute hashes.
var (
	Celery = of(program.Program{
		Name: "celery", Shown: "Celery", Work: "data", Edits: "flags",
		Proofs:   []string{"ForkPoolWorker-", "billiard/pool.py", "celery/worker/", "celery/concurrency/", "celery.worker", "celery@"},
		Commands: []string{"celery"},
		Titles:   map[string]string{"lower_num_workers": "Run fewer worker processes (--concurrency)", "restart_session": "Replace processes that have grown", "lower_batch_size": "Split the task into smaller ones", "raise_memory_limit": "Raise the container's memory limit"},
		Costs:    map[string]string{"lower_num_workers": "Fewer tasks at once.", "restart_session": "A process start now and then.", "lower_batch_size": "Some rewriting.", "raise_memory_limit": "Needs more RAM."},
		Steps: steps{
			"lower_num_workers":  say("`celery -A app worker --concurrency=2 --prefetch-multiplier=1` (`app`: your own). By default there is one process per core; in a container that means every core of the machine."),
			"restart_session":    say("Add `--max-memory-per-child=500000` (in KB: a process above it is replaced after its task) and `--max-tasks-per-child=100`. This does not help if a single task needs too much."),
			"lower_batch_size":   say("Find the last \"Task ... received\" before the failure. Let that task work in parts, and pass IDs or paths instead of data. With `acks_late` a task that killed one worker goes to the next."),
			"raise_memory_limit": say("Compose: double `mem_limit`. Kubernetes: double `resources.limits.memory`. On the machine itself add swap."),
		},
		Sources: program.Sources{"celery/celery/bin/worker.py": "--max-memory-per-child --max-tasks-per-child --concurrency --prefetch-multiplier", "celery/docs/userguide/workers.rst": "--max-memory-per-child"},
	}, nil, one(shortage{
		means:  "All worker processes count together, and each keeps the memory of its largest task. If a worker \"exited with signal 9\", it was usually killed because RAM ran out; `docker stop` or a hard time limit can send that signal too.",
		fixes:  []string{"lower_num_workers", "restart_session", "lower_batch_size", "raise_memory_limit"},
		source: "celery/docs/userguide/workers.rst",
	}))

	Airflow = of(program.Program{
		Name: "airflow", Shown: "Airflow", Work: "data", Edits: "flags",
		Proofs:   []string{"Negsignal.SIGKILL", "{taskinstance.py", "{local_task_job", "{standard_task_runner.py", "airflow/executors/", "airflow/models/", "airflow/jobs/"},
		Commands: []string{"airflow"},
		Titles:   map[string]string{"lower_num_workers": "Run fewer tasks at once", "lower_batch_size": "Let the task work in parts", "raise_memory_limit": "Raise the worker's memory limit"},
		Costs:    map[string]string{"lower_num_workers": "Slower.", "lower_batch_size": "Some rewriting.", "raise_memory_limit": "Needs more RAM."},
		Steps: steps{
			"lower_num_workers":  say("Set `AIRFLOW__CELERY__WORKER_CONCURRENCY=4` (default 16) or `AIRFLOW__CORE__PARALLELISM=8` (default 32; it also limits the LocalExecutor). Or give the heavy tasks a pool with one slot."),
			"lower_batch_size":   say("Read in chunks (`chunksize`), run one date per task, or let the database or Spark do the work. Pass paths in XComs, not tables."),
			"raise_memory_limit": say("Kubernetes: raise the limit in the task's `executor_config`, or the worker's resources in the Helm values. Compose: `mem_limit`, and at least 4 GB for Docker. Cloud Composer, MWAA: a larger worker."),
		},
		Sources: program.Sources{"https://airflow.apache.org/docs/apache-airflow/stable/configurations-ref.html": "AIRFLOW__CELERY__WORKER_CONCURRENCY AIRFLOW__CORE__PARALLELISM", "https://airflow.apache.org/docs/apache-airflow/stable/core-concepts/executor/local.html": "parallelism"},
	}, nil, one(shortage{
		means:  "\"Negsignal.SIGKILL\" means signal 9: usually the system, or the worker's container, ran out of RAM. All tasks of a worker share its memory, so the killed task need not be the one that took the most.",
		not:    "A longer `execution_timeout`.",
		fixes:  []string{"lower_num_workers", "lower_batch_size", "raise_memory_limit", "add_swap"},
		source: "https://airflow.apache.org/docs/apache-airflow/stable/configurations-ref.html",
	}))

	RabbitMQ = of(program.Program{
		Name: "rabbitmq", Shown: "RabbitMQ or Erlang", Work: "data", Edits: "admin", Language: "other",
		Proofs: []string{"eheap_alloc: Cannot allocate", "binary_alloc: Cannot", "temp_alloc: Cannot", "ll_alloc: Cannot", "ets_alloc: Cannot", "erl_crash.dump", "rabbit@", "vm_memory_high_watermark", "beam.smp"},
		Titles: map[string]string{"lower_mem_fraction": "Lower the memory watermark", "lower_batch_size": "Shorten the queues, or keep them on disk", "raise_memory_limit": "Give its container or machine more RAM"},
		Costs:  map[string]string{"lower_mem_fraction": "Publishers wait earlier.", "lower_batch_size": "Slower.", "raise_memory_limit": "Needs more RAM."},
		Steps: steps{
			"lower_mem_fraction": say("In rabbitmq.conf set `vm_memory_high_watermark.relative = 0.4`. In a container set `vm_memory_high_watermark.absolute = 1GB`, well below its limit: RabbitMQ does not always see that limit."),
			"lower_batch_size":   say("`rabbitmqctl list_queues name messages memory` shows the long ones; usually their consumers are too slow. Limit the length (`x-max-length`), use quorum queues or classic queues version 2, and a consumer prefetch of 10 to 100."),
			"raise_memory_limit": say("Give it up to twice as much: a heap exists twice while its garbage is collected."),
		},
		Sources: program.Sources{"https://www.rabbitmq.com/docs/memory": "vm_memory_high_watermark", "https://github.com/rabbitmq/rabbitmq-server/issues/681": "eheap_alloc"},
	}, nil, one(shortage{
		means:  "\"eheap_alloc\" means that Erlang could not enlarge the heap of one of its processes; erl_crash.dump names it (\"Slogan\"). With RabbitMQ it is usually a long queue of unread messages. The watermark only slows publishers down; it is not a limit.",
		not:    "Only restarting: durable queues are read again from disk.",
		fixes:  []string{"lower_batch_size", "lower_mem_fraction", "raise_memory_limit", "add_swap"},
		source: "https://www.rabbitmq.com/docs/memory",
	}))

	Polars = of(program.Program{
		Name: "polars", Script: "polars", Shown: "Polars", Work: "data", Edits: "code",
		Proofs: []string{"polars/lazyframe/", "polars/dataframe/", "polars/io/", "thread 'polars-", "polars-core/", "polars_core", "polars.exceptions"},
		Titles: map[string]string{"stream_dataset": "Scan lazily and collect with the streaming engine", "half_precision": "Select fewer and smaller columns", "lower_num_workers": "Use fewer threads (POLARS_MAX_THREADS)"},
		Costs:  map[string]string{"stream_dataset": "Usually no loss.", "half_precision": "None.", "lower_num_workers": "Slower."},
		Steps: steps{
			"stream_dataset":    python("out = pl.scan_parquet(\"data/*.parquet\").filter(pl.col(\"day\") > day).collect(engine=\"streaming\")   # your own query; before 1.23: collect(streaming=True)\n# a large result: .sink_parquet(\"out.parquet\") instead of collect"),
			"half_precision":    say("Select columns before a join or group_by. Use `pl.Categorical` for repeated text, Int32 and Float32. If the keys of a join repeat on both sides, the rows multiply: count them first."),
			"lower_num_workers": say("`export POLARS_MAX_THREADS=4` before Python starts: each thread has its own hash tables and buffers."),
		},
		Sources: program.Sources{"polars/py-polars/src/polars/lazyframe/frame.py": "collect engine streaming sink_parquet", "polars/crates/polars-core": "POLARS_MAX_THREADS"},
	}, nil, one(shortage{
		means:  "`read_*` keeps the whole table in RAM, a join or sort also its result, and `group_by` a hash table per thread. What the streaming engine cannot do runs in memory without a warning.",
		fixes:  []string{"stream_dataset", "half_precision", "lower_num_workers", "add_swap"},
		source: "polars/py-polars/src/polars/lazyframe/frame.py",
	}))

	Xarray = of(program.Program{
		Name: "xarray", Script: "xarray", Shown: "xarray", Work: "data", Edits: "code",
		Proofs: []string{"xarray/core/", "xarray/backends/"},
		Titles: map[string]string{"stream_dataset": "Open it in chunks (chunks=)", "half_precision": "Select first, and compute in 32 bit", "lower_num_workers": "Use fewer dask threads"},
		Costs:  map[string]string{"stream_dataset": "Some rewriting.", "half_precision": "None.", "lower_num_workers": "Slower."},
		Steps: steps{
			"stream_dataset":    python("ds = xr.open_mfdataset(\"data/*.nc\", chunks={\"time\": 100})   # dask: nothing is read yet\nds.mean(\"time\").to_netcdf(\"mean.nc\")   # reduce first; no .load() or .values of the whole array"),
			"half_precision":    say("`.sel` the variables, region and years before you compute, then use `.astype(\"float32\")`. Packed files (scale_factor) take two to four times their size once they are read."),
			"lower_num_workers": python("import dask\ndask.config.set(scheduler=\"threads\", num_workers=2)"),
		},
		Sources: program.Sources{"xarray/doc/user-guide/dask.md": "chunks", "dask/dask/threaded.py": "num_workers"},
	}, nil, one(shortage{
		whole:  true,
		means:  "Without `chunks=` a computation, `.load()` or `.values` reads the whole variable at its unpacked size. Arrays whose coordinates do not match are aligned or broadcast, which can make them far larger. So can rolling windows made by `construct`.",
		fixes:  []string{"stream_dataset", "half_precision", "lower_num_workers"},
		source: "xarray/doc/user-guide/dask.md",
	}))

	Rasterio = of(program.Program{
		Name: "rasterio", Script: "rasterio", Shown: "rasterio or GDAL", Work: "data", Edits: "code",
		Proofs: []string{"rasterio/", "rasterio._io", "rioxarray/", "osgeo/gdal", "gdalwarp", "gdal_translate", "rasterio.merge"},
		Titles: map[string]string{"stream_dataset": "In Python, read and write window by window", "lower_resolution": "Use a coarser raster", "lower_mem_fraction": "Cut to the area, and limit GDAL's buffers"},
		Costs:  map[string]string{"stream_dataset": "Some rewriting.", "lower_resolution": "Less detail.", "lower_mem_fraction": "Slower."},
		Steps: steps{
			"stream_dataset":     python("for _, window in src.block_windows(1):\n    dst.write(work(src.read(window=window)), window=window)   # work: your own function for one block"),
			"lower_resolution":   say("For any program: `gdalwarp -tr 10 10 -r mode in.tif coarse.tif` (pixel size in map units; `mode` for classes, `average` for measured values). Twice the pixel size takes a quarter of the memory. In rasterio: `src.read(1, out_shape=(src.height // 4, src.width // 4))`."),
			"lower_mem_fraction": say("`gdalwarp -cutline area.gpkg -crop_to_cutline -wm 500 --config GDAL_CACHEMAX 512 in.tif out.tif`. For mosaics use `gdalbuildvrt all.vrt *.tif`, then `gdal_translate`, instead of `rasterio.merge`, which keeps the whole result in RAM."),
		},
		Sources: program.Sources{"rasterio/docs/topics/concurrency.rst": "block_windows window", "rasterio/docs/topics/overviews.rst": "out_shape", "https://gdal.org/en/stable/programs/gdalwarp.html": "-wm --config GDAL_CACHEMAX -tr -r -cutline -crop_to_cutline"},
	}, nil, []shortage{{
		id: "merge", said: []string{"rasterio/merge.py"}, source: "rasterio/rasterio/merge.py", whole: true,
		means: "`rasterio.merge` makes one array of the extent of all tiles together at the finest of their resolutions: two distant tiles include everything between them, and one coordinate system in degrees among metres makes the extent absurd.",
		fixes: []string{"lower_mem_fraction", "lower_resolution"},
	}, {
		whole:  true,
		means:  "Reading a whole raster takes bands x height x width in one array. Floats (NDVI, reprojection) take two to eight times as much as 8 or 16 bit. `merge` and `mask` keep the whole extent, so two distant tiles include everything between them.",
		fixes:  []string{"lower_resolution", "stream_dataset", "lower_mem_fraction"},
		source: "rasterio/docs/topics/concurrency.rst",
	}})

	Miner = of(program.Program{
		Cards: []cause.Card{{
			ID: "miner/one-buffer", Kinds: []fact.Kind{fact.DeviceAlloc, fact.PlainDevice, fact.PlainMemory}, Said: []string{"CL_INVALID_BUFFER_SIZE", "clCreateBuffer(-61)"},
			Among: []string{cause.ModelTooLarge, cause.OversizedAllocation, cause.BatchTooLarge, cause.Unknown}, Headline: "needs the DAG in one buffer, and the card's driver does not allow one that large",
			Means: "Error -61 does not mean that the card is full. The DAG has to be one buffer, and OpenCL drivers allow only a quarter or half of the card's memory for one by default. The DAG takes 1 GiB at epoch 0 and 8 MiB more per epoch: above 2 GiB from epoch 128, above 4 GiB from 384.",
			Not:   "A larger page file, or closing programs: the driver's own limit was reached.",
			Cures: []cause.Cure{
				{Fix: "select_gpu", Title: "Leave out cards that are too small", Told: "A card or APU with 2 GB cannot mine Ethash after epoch 128, and one with 4 GB not after about 375. Use a coin or algorithm without a DAG there.", Cost: "that card's hash rate"},
				{Fix: "raise_memory_limit", Title: "On AMD, let one buffer use the whole card", Told: "Set this in the same window before you start the miner:", Kind: "env", Text: "export GPU_MAX_HEAP_SIZE=100\nexport GPU_MAX_ALLOC_PERCENT=100\nexport GPU_SINGLE_ALLOC_PERCENT=100", Cost: "None"},
				{Fix: "upgrade_version", Title: "Then update the driver and the miner", Told: "Old drivers allow at most 4 GB per buffer, whatever these variables say. ethminer built after March 2020 splits the DAG in two.", Cost: "half an hour"},
			},
			Sources: []string{"ethminer/libethash-cl/CLMiner.cpp", "https://github.com/ethereum-mining/ethminer/issues/1157", "https://github.com/ethereum-mining/ethminer/issues/1966", "https://github.com/ethereum-mining/ethminer/pull/1977", "https://github.com/ethereum-mining/ethminer/issues/2012", "https://github.com/ethereum/aleth/issues/2988"},
		}, {
			ID: "miner/dag", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Generating DAG"}, If: fitsAlone, Figures: besideDAG,
			Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "had no room for the DAG: {dag} on a card with {card}",
			Means:   "The DAG with its cache takes {dag} and has to fit on the card as a whole. That leaves {rest} for display, driver and the miner's own buffers, which take 100 to 700 MB. On Windows the driver also needs page file for what is on the cards.",
			Not:     "Overclocking or another pool.",
			Cures:   []cause.Cure{{Fix: "close_other_apps"}, {Fix: "raise_pagefile"}, {Fix: "use_smaller_model"}},
			Sources: []string{"ethminer/libethash-cuda/CUDAMiner.cpp"},
		}, lolMiner[0], lolMiner[1]},
		Name: "miner", Shown: "The miner", Work: "data", Edits: "flags", Language: "other",
		Proofs: []string{"ethminer", "Generating DAG", "Creating DAG buffer", "big buffer for the DAG", "allocate the DAG", "TREX:", "T-Rex", "PhoenixMiner", "NBMiner", "Error CUDA mining", "memory for DAG", "Allocation of DAG failed", "memory or building DAG", "memory for the DAG", "eth::CUDAMiner::", "lolMiner", "teamredminer", "gminer"},
		Titles: map[string]string{"use_smaller_model": "Mine a coin or algorithm with a smaller DAG", "raise_pagefile": "Windows: enlarge the page file to the sum of all cards", "close_other_apps": "Close everything else on the card", "select_gpu": "Leave the small card out"},
		Costs:  map[string]string{"use_smaller_model": "Another coin.", "close_other_apps": "None.", "select_gpu": "That card's hash rate."},
		Steps: steps{
			"use_smaller_model": say("The DAG grows with each epoch: 1 GiB + 8 MiB x epoch (Ethash; an epoch lasts about 4 days). The lines above the failure name the epoch: 3 GB cards end at 256 on Linux, 4 GB cards at about 375, on Windows earlier. Below that something else fills the card."),
			"close_other_apps":  say("Run the display on another card or on the processor's graphics, without a browser. Linux without a desktop leaves the most free."),
			"select_gpu":        say("ethminer `--cu-devices 0 2`, T-Rex `-d 0,2`, PhoenixMiner `-gpus 13`, lolMiner `--devices 0,2`."),
		},
		Sources: program.Sources{"ethminer/libethash-cuda/CUDAMiner.cpp": "DAG", "ethminer/ethminer/main.cpp": "--cu-devices", "https://github.com/trexminer/T-Rex": "-d", "https://github.com/Lolliedieb/lolMiner-releases": "--devices -gpus", "lolMiner-releases/README.md": "--algo --list-devices --keepfree --4g-alloc-size"},
	}, []shortage{{
		id: "short", headline: "found less GPU memory than the DAG needs", said: []string{"free memory for DAG", "free GPU memory for DAG", "memory to place the DAG", "not enough free memory", "insufficient GPU memory", "memory required", "GPU memory is not enough"}, also: plainMemory, source: "ethminer/libethash-cuda/CUDAMiner.cpp",
		means: "The miner compared both before it asked: the line says what the DAG needs and what this card has, or has free. Only memory of this card counts, so what another program or the display holds there has to go, or the DAG is too large for it.",
		not:   "A larger page file, other cards, or overclocking.",
		fixes: []string{"close_other_apps", "use_smaller_model", "select_gpu"},
		done:  []string{"raise_pagefile"},
	}, {
		also: plainMemory, headline: "had no room on the card for the DAG",
		means:  "The whole DAG must fit on the card, and it grows with every epoch. Display and driver take 100 to 700 MB. On Windows the driver also needs page file: with several cards as much as all of them have together.",
		not:    "Overclocking or another pool.",
		fixes:  []string{"close_other_apps", "raise_pagefile", "use_smaller_model", "select_gpu"},
		source: "ethminer/libethash-cuda/CUDAMiner.cpp",
	}}, nil)

	John = of(program.Program{
		Name: "john", Shown: "John the Ripper", Work: "data", Edits: "flags", Language: "other",
		Proofs:   []string{"opencl_", "_fmt_plug.c", "john --", "John the Ripper"},
		Beside:   map[string][]string{"opencl_": {"_fmt_plug.c"}},
		Commands: []string{"john"},
		Titles:   map[string]string{"lower_batch_size": "Lower the work size (GWS)", "cpu_offload": "Use the format for the CPU", "select_gpu": "Use another device (--devices)", "lower_num_workers": "Fork fewer processes"},
		Costs:    map[string]string{"lower_batch_size": "Slower.", "cpu_offload": "Slower.", "select_gpu": "None.", "lower_num_workers": "Slower."},
		Steps: steps{
			"lower_batch_size":  say("Put `GWS=4096 LWS=64` in front of your `john` command, or half of the GWS that you use, until it fits: the automatic work size may be too large."),
			"cpu_offload":       say("Leave out `-opencl` in the format's name (`--format=wpapsk`). Memory-hard hashes (scrypt, Argon2, bcrypt) gain little on a GPU."),
			"select_gpu":        say("Use `--devices=2`. `--list=opencl-devices` shows all devices with their memory and the largest single buffer."),
			"lower_num_workers": say("Use `--fork=2 --save-memory=1`, and `--mem-file-size=0` for large word lists."),
		},
		Sources: program.Sources{"john/doc/README-OPENCL": "GWS LWS --devices", "john/doc/OPTIONS": "--save-memory --mem-file-size --fork --list --format"},
	}, one(shortage{
		also:   plainMemory,
		means:  "A buffer holds all candidates of a round: work size x what the format needs for each. Memory-hard hashes take 32 MB to several GB per candidate. Many OpenCL drivers limit one buffer to a quarter of the card, so it can fail although memory is free.",
		not:    "A smaller word list.",
		fixes:  []string{"lower_batch_size", "cpu_offload", "close_other_apps", "select_gpu"},
		source: "john/doc/README-OPENCL",
	}), one(shortage{
		means:  "Each process of `--fork` keeps the hashes and, by default, the word list. Memory-hard hashes (scrypt, Argon2) take their memory parameter for each thread.",
		fixes:  []string{"lower_num_workers", "add_swap"},
		source: "john/doc/OPTIONS",
	}))
)

// fitsAlone: the card is larger than what its miner puts there, by less than what
// a desktop takes.
func fitsAlone(c *ledger.Case) bool {
	f := c.F()
	return f.Requested != nil && f.Total != nil && f.Requested.Bytes <= f.Total.Bytes && f.Requested.Bytes+units.GiB > f.Total.Bytes
}

func besideDAG(c *ledger.Case) map[string]string {
	if !fitsAlone(c) {
		return map[string]string{"dag": "", "card": "", "rest": ""}
	}
	f := c.F()
	return map[string]string{"dag": f.Requested.String(), "card": f.Total.String(), "rest": units.Amount(f.Total.Bytes - f.Requested.Bytes)}
}
