// Package platforms knows services that run other people's programs, servers that
// run them in workers, and Apple's systems: what they say when they end one for
// memory.
package platforms

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// limit is the card of a service that ended a program at a limit.
func limit(id string, kinds []fact.Kind, weight cause.Level, headline, means, not, source string, cures ...cause.Cure) []cause.Card {
	return []cause.Card{{ID: id, Kinds: kinds, Cause: cause.HostMemory, Weight: weight, Headline: headline, Means: means, Not: not, Cures: cures, Sources: []string{source}}}
}

var (
	raise      = cause.Cure{Fix: "raise_memory_limit", Cost: "May cost more"}
	signal9    = []fact.Kind{fact.ShellKilled, fact.ContainerKill}
	plainWords = []fact.Kind{fact.PlainMemory, fact.PlainHost}
	// LessAtOnce is what any job with workers can do.
	LessAtOnce = cause.Cure{Fix: "lower_num_workers", Title: "Use less memory at once", Kind: "text", Text: "Fewer worker processes, smaller batches of data, files read in pieces: each worker holds its own data.", Cost: "Some speed"}
)

// said asks a card for words of the message as well.
func said(words []string, cards []cause.Card) []cause.Card {
	cards[0].Said = words
	return cards
}

// unread leaves the word to the library where the log ends in its reading weights.
func unread(cards []cause.Card) []cause.Card {
	cards[0].Unsaid = []string{"Loading checkpoint shards"}
	return cards
}

// GitHub is a job of GitHub Actions that was ended.
var GitHub = limit("github-actions/runner", signal9, cause.Strong,
	"ended a process of the job with 137, most likely for RAM",
	"A process on the runner got signal 9 (137): usually the runner's RAM was full. The standard Linux runner has 16 GB for public repositories and 8 GB for private ones; parallel tests or compilers fill it. A job container with its own limit, or a time limit, looks the same.",
	"", "https://docs.github.com/en/actions/reference/runners/github-hosted-runners",
	cause.Cure{Fix: "lower_num_workers", Title: "Run fewer processes in parallel", Kind: "text", Text: "pytest `-n 2` instead of `-n auto`; `make -j2`; Jest `--maxWorkers=2`; CUDA builds `MAX_JOBS=1`.", Cost: "A longer job"},
	cause.Cure{Fix: "add_swap", Title: "Add swap in an earlier step", Kind: "config", Text: "- run: sudo fallocate -l 8G /mnt/swap && sudo chmod 600 /mnt/swap && sudo mkswap /mnt/swap && sudo swapon /mnt/swap", Cost: "Slow where it is used"},
	raise)

// Colab is its notebook whose RAM was full.
var Colab = limit("colab/ram", []fact.Kind{fact.ShellKilled}, cause.Decisive,
	"restarted the session: its RAM was used up",
	"The notebook's RAM (about 12.7 GB in the free plan) was used up, and the session ended. GPU memory is separate. Usual reasons: a model loaded in 32 bit, a whole data set in a list or DataFrame, or variables of earlier cells. The message does not say which cell; the RAM graph (top right) shows the jump.",
	"Freeing GPU memory: it is RAM that ran out.", "https://research.google.com/colaboratory/faq.html",
	cause.Cure{Fix: "stream_dataset", Title: "Load the data in parts", Kind: "text", Text: "Read it in pieces (`chunksize=`, `streaming=True`, `mmap_mode=\"r\"`); load models straight to the card in 16 bit, from safetensors.", Cost: "Some rewriting"},
	cause.Cure{Fix: "empty_cache", Title: "Delete what earlier cells left", Told: "`del df, model` (your own names), then `import gc; gc.collect()`. Or Runtime, Restart session, and run only the cells that you need.", Cost: "Free"},
	raise)

// Kaggle is its notebook whose RAM was full.
var Kaggle = limit("kaggle/ram", []fact.Kind{fact.ShellKilled}, cause.Decisive,
	"restarted the session: its RAM was used up",
	"The session's RAM (about 30 GB with a CPU or GPU) was used up. GPU memory is separate. Usual reasons: a whole data set as pixels, a wide DataFrame with copies, or a model in 32 bit. The RAM bar in the side panel shows at which cell it jumps.",
	"Freeing GPU memory: it is RAM that ran out.", "https://www.kaggle.com/docs/notebooks",
	cause.Cure{Fix: "stream_dataset", Title: "Load the data in parts", Kind: "text", Text: "Read only the columns that you use, with smaller types, from Parquet; load images batch by batch in a Dataset, not into one array.", Cost: "Some rewriting"},
	cause.Cure{Fix: "empty_cache", Title: "Delete what earlier cells left", Told: "`del train_df` (your own names), then `import gc; gc.collect()`; or restart the session and run only the cells that you need.", Cost: "Free"},
	raise)

// Lambda is a function of AWS that reached its size.
var Lambda = limit("aws-lambda/memory", []fact.Kind{fact.ShellKilled}, cause.Decisive,
	"ended the function: it reached its memory size",
	"The function reached its memory size: in the REPORT line Max Memory Used equals Memory Size. Everything that is loaded counts (libraries, a model, a file read whole); files in /tmp do not. A warm container keeps globals from one call to the next.",
	"A longer timeout: it was ended for memory.", "https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html",
	raise,
	cause.Cure{Fix: "stream_dataset", Title: "Stream files instead of reading them whole", Kind: "text", Text: "Read S3 objects in pieces (`iter_chunks`), and load models outside the handler, once.", Cost: "Some rewriting"},
	cause.Cure{Fix: "detach_accumulated", Title: "If it grows from call to call, empty global caches", Told: "Max Memory Used then rises over the REPORT lines of one container: a global list or cache. Empty it at the end of the handler.", Cost: "Free"})

// CloudRun is a service of Google that reached its limit.
var CloudRun = limit("cloud-run/memory", []fact.Kind{fact.ContainerKill}, cause.Decisive,
	"ended the instance above its memory limit[[ of {limit}]]",
	"The instance exceeded its memory limit and was ended. Files that the program writes count too, because its file system is in memory, and all requests that an instance serves at once share it (80 by default, deployed by gcloud 80 for each vCPU).",
	"", "https://cloud.google.com/run/docs/configuring/memory-limits",
	raise,
	cause.Cure{Fix: "lower_parallel", Title: "Lower the concurrency", Kind: "shell", Text: "gcloud run services update SERVICE --concurrency 10   # requests at once; SERVICE: its name in the console", Cost: "More instances"},
	cause.Cure{Fix: "stream_dataset", Title: "Write large files to a bucket or mounted volume", Told: "And read uploads and downloads in pieces.", Cost: "Some rewriting"})

// AWSBatch is a job of AWS Batch at the memory of its definition.
var AWSBatch = limit("aws-batch/memory", signal9, cause.Decisive,
	"ended the container at the memory of its job definition",
	"The container exceeded the memory of its job definition and was ended (137). That number is a hard limit; the instance may have had more. All processes of the container count together, and so do files in /dev/shm.",
	"A larger instance type alone: the limit stays what the definition says.", "https://docs.aws.amazon.com/batch/latest/userguide/memory-management.html",
	raise, LessAtOnce)

// Gunicorn: readGunicorn has left out workers that gunicorn itself ended for
// not answering (gunicorn/arbiter.py, murder_workers).
var Gunicorn = unread(limit("gunicorn/killed", []fact.Kind{fact.ShellKilled}, cause.Strong,
	"lost a worker to signal 9 (SIGKILL), most likely for RAM",
	"Somebody else ended the worker: most likely the kernel, because RAM or the container's limit was full. Each worker is a process with its own copy of all that it loads: a model of 2 GB in 4 workers is 8 GB. If a line \"WORKER TIMEOUT\" with the same pid stands before this one, gunicorn did it itself: then raise `--timeout`.",
	"`--timeout` where no WORKER TIMEOUT stands before it.", "gunicorn/arbiter.py",
	cause.Cure{Fix: "lower_num_workers", Title: "Run one worker with threads: `--workers 1 --threads 4`", Told: "In place of today's `--workers` (`-w`, WEB_CONCURRENCY, or `workers` in gunicorn.conf.py): threads share one copy. With one worker still killed, what it loads is larger than the memory.", Cost: "Fewer requests at once"},
	cause.Cure{Fix: "use_mmap", Title: "Load before the fork: `--preload`", Told: "The workers then share pages that nobody writes to. Not for a model on a card: CUDA does not survive a fork.", Cost: "No reload of single workers"},
	cause.Cure{Fix: "raise_memory_limit", Title: "Raise the container's limit, or add RAM", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'killed process|oom-kill' | tail -4", Told: "The kernel's line says how much the worker held, and whether a limit (\"Memory cgroup\") or the machine was full. If it fails only after hours, memory grows: `--max-requests 1000 --max-requests-jitter 100`.", Cost: "Free to look"}))

// Joblib: joblib/externals/loky/process_executor.py lists the exit codes.
var Joblib = said([]string{"TerminatedWorkerError", "A worker process managed by the executor was unexpectedly terminated"}, limit("joblib/killed", nil, cause.Strong,
	"lost a worker process, most likely because RAM ran out",
	"joblib names both reasons that a worker can vanish; SIGKILL(-9) at the end of its message means that the system ended it, a SIGSEGV that it crashed (it then also fails with `n_jobs=1`). Each worker is a process: what it is given, but for large NumPy arrays, and what it makes is there once per job, and `n_jobs=-1` starts one for every core.",
	"A longer `timeout`, or graphics card settings.", "https://joblib.readthedocs.io/en/stable/parallel.html",
	cause.Cure{Fix: "lower_num_workers", Title: "Run fewer jobs at once (n_jobs)", Told: "`n_jobs=2` in that call (scikit-learn: of the search or of the model, not of both), then as many as RAM holds. `n_jobs=1` shows what one needs.", Kind: "python", Text: "results = Parallel(n_jobs=2, pre_dispatch=\"n_jobs\")(tasks)   # tasks: as in your call; GridSearchCV takes both as well", Cost: "Time"},
	cause.Cure{Fix: "stream_dataset", Title: "Pass NumPy arrays, and return less", Told: "Arrays above 1 MB are shared, DataFrames and lists copied to each worker: `X.to_numpy(\"float32\")`, or pass a path and read there. Write large results to files. In Docker with a small /dev/shm: `JOBLIB_TEMP_FOLDER=/tmp`.", Cost: "Some rewriting"},
	cause.Cure{Fix: "lower_parallel", Title: "Use threads, which share memory", Told: "`Parallel(n_jobs=4, prefer=\"threads\")`: fast where the work is NumPy's or another library's that releases the GIL.", Cost: "Pure Python gets slower"}))

// SageMaker is a training job that was ended.
var SageMaker = limit("sagemaker/killed", []fact.Kind{fact.ShellKilled, fact.ContainerKill}, cause.Strong,
	"ended the job with exit code 137: most likely the instance's RAM was full",
	"137 is signal 9, which the system sends when RAM is full. It is the instance's system memory: a full card raises an error of its own. Every data loader worker and every rank is a process with a copy, and models pass through RAM when they load. CloudWatch shows it: MemoryUtilization near 100.",
	"More GPU memory: a full card raises a CUDA error.", "https://docs.aws.amazon.com/sagemaker/latest/dg/training-metrics.html",
	cause.Cure{Fix: "raise_memory_limit", Title: "Choose the next instance size", Told: "With the same card: `ml.g5.xlarge` has 16 GiB of RAM, `ml.g5.2xlarge` 32, `ml.g5.4xlarge` 64 (`instance_type=` of the estimator).", Cost: "Money"},
	cause.Cure{Fix: "lower_num_workers", Title: "Use fewer data loader workers", Told: "`num_workers=2`, `dataloader_num_workers` of the Trainer, `num_proc=1` in `map`.", Cost: "The card may wait for data"},
	cause.Cure{Fix: "stream_dataset", Title: "Keep the data out of RAM", Told: "`input_mode=\"FastFile\"` streams from S3; read samples as they are needed, and load models in 16 bit from safetensors.", Cost: "Some rewriting"})

// hostedModel is what an app with a model does first where it is hosted.
var hostedModel = cause.Cure{Fix: "half_precision", Title: "Load the model in 16 bit, or a smaller one", Told: "`from_pretrained(..., torch_dtype=torch.bfloat16)`: 32 bit needs 4 GB for each billion parameters, 16 bit 2. With safetensors RAM holds little more than the model. Load it once for all users, not per request.", Cost: "Hardly any quality"}

// Spaces is an app on Hugging Face that was ended.
var Spaces = []cause.Card{{
	ID: "hf-spaces/memory", Kinds: plainWords, Said: []string{"Memory limit exceeded ("},
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "ended the app: it used more RAM than its hardware has",
	Means:    "The number in brackets is the RAM of the Space's hardware (16 GB on the free CPU), not the card's memory. It is usually reached while a model loads: in 32 bit, or twice for a moment when a .bin is read and then converted.",
	Not:      "A restart alone: it loads the same again.",
	Cures: []cause.Cure{
		hostedModel,
		{Fix: "raise_memory_limit", Title: "Choose hardware with more RAM", Told: "Settings, Space hardware: each entry states its RAM. A Space of somebody else: duplicate it, then choose.", Cost: "Paid by the hour"},
		{Fix: "stream_dataset", Title: "Load models one at a time", Told: "Several in one app: load each when it is used, and delete it after (`del pipe; gc.collect()`). Read tables and indexes from disk (memory-mapped) instead of into lists.", Cost: "Slower first request"},
	},
	Sources: []string{"https://huggingface.co/docs/hub/spaces-overview", "https://huggingface.co/spaces/Kunbyte/DRA-Ctrl/discussions/2"},
}}

// Streamlit is an app of its free cloud that was stopped.
var Streamlit = []cause.Card{{
	ID: "streamlit-cloud/resources", Kinds: plainWords, Said: []string{"gone over its resource limits"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "stopped the app: it is over the limits of the free Community Cloud",
	Means:    "Nearly always that is RAM (the cloud grants a few GB at most): a model or table that is loaded again in each session or rerun, a cache that grows, or PyTorch with a model. The page does not say which limit it was; \"Manage app\" shows the log.",
	Not:      "A reboot of the app alone: it fills again.",
	Cures: []cause.Cure{
		{Fix: "detach_accumulated", Title: "Load once, and bound the caches", Told: "`@st.cache_resource` above the function that loads a model, `@st.cache_data(ttl=3600, max_entries=10)` above one that loads a table: all sessions then share one copy.", Cost: "Some lines of code"},
		{Fix: "use_smaller_model", Title: "Use a smaller model, or a hosted one", Told: "Quantised ONNX instead of PyTorch, or an inference API; read only the columns that are shown (`usecols=`, Parquet).", Cost: "Quality, or money"},
		{Fix: "raise_memory_limit", Title: "Run it where there is more RAM", Told: "A Hugging Face Space has 16 GB for free, a virtual machine what you rent.", Cost: "A move"},
	},
	Sources: []string{"https://docs.streamlit.io/develop/concepts/architecture/caching", "https://docs.streamlit.io/deploy/streamlit-community-cloud/manage-your-app"},
}}

// Render is a service that was restarted.
var Render = []cause.Card{{
	ID: "render/memory", Kinds: plainWords, Said: []string{"Ran out of memory (used over"},
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "restarted the service: it used more RAM than its instance type has",
	Means:    "The number in the line is the instance's RAM, and all processes of the service share it. 512 MB hold no PyTorch with a model: importing torch alone takes a few hundred MB.",
	Not:      "Swap: an instance has none.",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", Title: "Run one worker", Told: "Set WEB_CONCURRENCY to 1 (Environment), or `--workers 1` in the start command: each worker holds its own copy.", Cost: "Fewer requests at once"},
		{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "Use a smaller model without PyTorch", Told: "ONNX Runtime or a GGUF file of a small model, or call a hosted API.", Cost: "Quality, or money"},
		{Fix: "raise_memory_limit", Title: "Choose a larger instance type", Told: "Settings, Instance Type: with at least twice the number in the line.", Cost: "Money"},
		{Fix: "detach_accumulated", Title: "If it comes back after hours, look for growth", Told: "The Metrics page shows memory: a jump at a request is one large file or query, a steady climb is a cache or a leak.", Cost: "Free"},
	},
	Sources: []string{"https://render.com/docs/troubleshooting-deploys", "https://render.com/pricing"},
}}
