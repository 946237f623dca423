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
	raise      = cause.Cure{Fix: "raise_memory_limit", Cost: "may cost more"}
	signal9    = []fact.Kind{fact.ShellKilled, fact.ContainerKill}
	plainWords = []fact.Kind{fact.PlainMemory, fact.PlainHost}
	// LessAtOnce is what any job with workers can do.
	LessAtOnce = cause.Cure{Fix: "lower_num_workers", Title: "Use less memory at once", Kind: "text", Text: "Use fewer worker processes (each holds its own data) and smaller batches, and read files in parts.", Cost: "some speed"}
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
	"killed a process of the job (exit code 137), most likely because RAM ran out",
	"137 means signal 9 (killed): usually the runner's RAM was full. The standard Linux runner has 16 GB for public repositories and 8 GB for private ones, and parallel tests or compilers fill that. A job container with its own limit looks the same.",
	"", "https://docs.github.com/en/actions/reference/runners/github-hosted-runners",
	cause.Cure{Fix: "lower_num_workers", Title: "Run fewer processes in parallel", Kind: "text", Text: "pytest: `-n 2` instead of `-n auto`. make: `-j2`. Jest: `--maxWorkers=2`. CUDA builds: `MAX_JOBS=1`.", Cost: "a longer job"},
	cause.Cure{Fix: "add_swap", Title: "Add swap in an earlier step", Kind: "config", Text: "- run: sudo fallocate -l 8G /swap2 && sudo chmod 600 /swap2 && sudo mkswap /swap2 && sudo swapon /swap2", Cost: "slow when used"},
	raise)

// Colab is its notebook whose RAM was full.
var Colab = limit("colab/ram", []fact.Kind{fact.ShellKilled}, cause.Decisive,
	"ended the session: its RAM was used up",
	"The notebook's system RAM ran out (the free plan has about 12.7 GB); GPU memory is separate. Usual reasons: a whole data set in a list or DataFrame, a model loaded in 32 bit, or variables of earlier cells. Run the cells one by one, and watch the RAM graph at the top right.",
	"Freeing GPU memory: system RAM ran out.", "https://research.google.com/colaboratory/faq.html",
	cause.Cure{Fix: "stream_dataset", Title: "Load the data in parts", Kind: "text", Text: "pandas: `chunksize=100_000`. Hugging Face data sets: `streaming=True`. NumPy: `mmap_mode=\"r\"`. Load models in 16 bit, straight to the GPU: `torch_dtype=torch.float16, device_map=\"auto\"`.", Cost: "some rewriting"},
	cause.Cure{Fix: "empty_cache", Title: "Delete what earlier cells left", Told: "Runtime, Restart session, then run only the cells that you need. Or `del df, model` (your own names), then `import gc; gc.collect()`.", Cost: "free"},
	raise)

// Kaggle is its notebook whose RAM was full.
var Kaggle = limit("kaggle/ram", []fact.Kind{fact.ShellKilled}, cause.Decisive,
	"restarted the session: its RAM was used up",
	"The session's system RAM ran out (about 30 GB with a CPU or GPU); GPU memory is separate. Usual reasons: a whole data set as pixels, a wide DataFrame with copies, or a model in 32 bit. The RAM bar shows at which cell it jumps.",
	"Freeing GPU memory: system RAM ran out.", "https://www.kaggle.com/docs/notebooks",
	cause.Cure{Fix: "stream_dataset", Title: "Load the data in parts", Kind: "text", Text: "Tables: read only the columns that you use (`usecols=`), with smaller types (`float32`, `category`), from Parquet. Images: load them batch by batch in a Dataset, not into one array.", Cost: "some rewriting"},
	cause.Cure{Fix: "empty_cache", Title: "Delete what earlier cells left", Told: "Restart the session, and run only the cells that you need. Or `del train_df` (your own names), then `import gc; gc.collect()`.", Cost: "free"},
	raise)

// Lambda is a function of AWS that reached its size.
var Lambda = limit("aws-lambda/memory", []fact.Kind{fact.ShellKilled}, cause.Decisive,
	"killed the function: it reached its memory size",
	"The function used more than its memory size; in the REPORT line Max Memory Used then equals Memory Size. Everything that is loaded counts: libraries, a model, a file that is read whole. A warm container also keeps global variables from call to call.",
	"A longer timeout: memory ran out.", "https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html",
	raise,
	cause.Cure{Fix: "stream_dataset", Title: "Stream files instead of reading them whole", Kind: "text", Text: "Read S3 objects in parts (`iter_chunks`), and load models once, outside the handler.", Cost: "some rewriting"},
	cause.Cure{Fix: "detach_accumulated", Title: "If it grows from call to call, empty global caches", Told: "Max Memory Used then rises from one REPORT line to the next. Empty global lists and caches at the end of the handler.", Cost: "free"})

// CloudRun is a service of Google that reached its limit.
var CloudRun = limit("cloud-run/memory", []fact.Kind{fact.ContainerKill}, cause.Decisive,
	"killed the instance above its memory limit[[ of {limit}]]",
	"The instance used more than its memory limit. Files that the program writes count too, because the file system is in memory. All requests that an instance serves at once share the limit, by default up to 80 (with gcloud 80 per vCPU).",
	"", "https://cloud.google.com/run/docs/configuring/memory-limits",
	raise,
	cause.Cure{Fix: "lower_parallel", Title: "Lower the concurrency", Kind: "shell", Text: "gcloud run services update MYSERVICE --concurrency 10   # requests at once; MYSERVICE: the service's name in the console", Cost: "more instances"},
	cause.Cure{Fix: "stream_dataset", Title: "Write large files to a bucket or mounted volume", Told: "Also read uploads and downloads in parts.", Cost: "some rewriting"})

// AWSBatch is a job of AWS Batch at the memory of its definition.
var AWSBatch = limit("aws-batch/memory", signal9, cause.Decisive,
	"killed the container: it used more memory than its job definition allows",
	"The memory in the job definition is a hard limit, even if the instance has more. All processes of the container count together, and so do files in /dev/shm.",
	"Only a larger instance type: the limit in the definition stays the same.", "https://docs.aws.amazon.com/batch/latest/userguide/memory-management.html",
	raise, LessAtOnce)

// Gunicorn: readGunicorn has left out workers that gunicorn itself ended for
// not answering (gunicorn/arbiter.py, murder_workers).
var Gunicorn = unread(limit("gunicorn/killed", []fact.Kind{fact.ShellKilled}, cause.Strong,
	"lost a worker (SIGKILL), most likely because RAM ran out",
	"Most likely the kernel killed the worker, because RAM or the container's limit was full. Each worker has its own copy of what it loads: a 2 GB model in 4 workers takes 8 GB. If a line \"WORKER TIMEOUT\" with the same pid stands before this one, gunicorn killed it: then raise `--timeout`.",
	"`--timeout`, if there is no WORKER TIMEOUT before it.", "gunicorn/arbiter.py",
	cause.Cure{Fix: "lower_num_workers", Title: "Run one worker with threads: `--workers 1 --threads 4`", Told: "Replace today's `--workers` (`-w`, WEB_CONCURRENCY, or `workers` in gunicorn.conf.py): threads share one copy. If one worker alone is still killed, what it loads does not fit.", Cost: "fewer requests at once"},
	cause.Cure{Fix: "use_mmap", Title: "Load before the fork: `--preload`", Told: "The workers then share what is only read. Do not use it for a model on a GPU: CUDA does not survive a fork.", Cost: "no reload of single workers"},
	cause.Cure{Fix: "raise_memory_limit", Title: "Raise the container's limit, or add RAM", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'killed process|oom-kill' | tail -4", Told: "The kernel log says what the worker held, and whether a limit (\"Memory cgroup\") or the machine was full. If it fails only after hours, memory grows: add `--max-requests 1000 --max-requests-jitter 100`.", Cost: "free to look"}))

// Joblib: joblib/externals/loky/process_executor.py lists the exit codes.
var Joblib = said([]string{"TerminatedWorkerError", "A worker process managed by the executor was unexpectedly terminated"}, limit("joblib/killed", nil, cause.Strong,
	"lost a worker process, most likely because RAM ran out",
	"SIGKILL(-9) at the end of the message means that the system killed the worker, usually because RAM was full. SIGSEGV means that it crashed; it then fails with `n_jobs=1`, too. `n_jobs=-1` starts one process per CPU core, and each has its own copy of its input (except large NumPy arrays) and results.",
	"A longer `timeout`, or GPU settings.", "https://joblib.readthedocs.io/en/stable/parallel.html",
	cause.Cure{Fix: "lower_num_workers", Title: "Run fewer jobs at once (n_jobs)", Told: "Start with `n_jobs=2` in that call, then use as many as fit into RAM. In scikit-learn set it for the search or for the model, not for both.", Kind: "python", Text: "results = Parallel(n_jobs=2, pre_dispatch=\"n_jobs\")(tasks)   # tasks: as in your call; GridSearchCV takes both, too", Cost: "time"},
	cause.Cure{Fix: "stream_dataset", Title: "Pass NumPy arrays, and return less", Told: "NumPy arrays above 1 MB are shared; DataFrames and lists are copied to each worker. Use `X.to_numpy(\"float32\")`, or pass a path and read the file in the worker. In Docker with a small /dev/shm set `JOBLIB_TEMP_FOLDER=/tmp`.", Cost: "some rewriting"},
	cause.Cure{Fix: "lower_parallel", Title: "Use threads, which share memory", Told: "`Parallel(n_jobs=4, prefer=\"threads\")` is fast if the work is done in NumPy or another library that releases the GIL.", Cost: "pure Python gets slower"}))

// SageMaker is a training job that was ended.
var SageMaker = limit("sagemaker/killed", []fact.Kind{fact.ShellKilled, fact.ContainerKill}, cause.Strong,
	"killed the job (exit code 137), most likely because the instance's RAM was full",
	"137 means signal 9 (killed), usually because system RAM is full; a full GPU raises a CUDA error instead. Every data loader worker and every rank has its own copy of the data, and models pass through RAM when they load. In CloudWatch, MemoryUtilization near 100 confirms it.",
	"More GPU memory: a full GPU raises a CUDA error.", "https://docs.aws.amazon.com/sagemaker/latest/dg/training-metrics.html",
	cause.Cure{Fix: "raise_memory_limit", Title: "Choose the next instance size", Told: "Set `instance_type=` of the estimator. With the same GPU `ml.g5.xlarge` has 16 GiB of RAM, `ml.g5.2xlarge` 32, `ml.g5.4xlarge` 64.", Cost: "money"},
	cause.Cure{Fix: "lower_num_workers", Title: "Use fewer data loader workers", Told: "`num_workers=2` in a DataLoader, `dataloader_num_workers=2` for the Trainer, `num_proc=1` in `map`.", Cost: "the GPU may wait for data"},
	cause.Cure{Fix: "stream_dataset", Title: "Keep the data out of RAM", Told: "`input_mode=\"FastFile\"` streams from S3. Read samples when they are needed, and load models in 16 bit from safetensors.", Cost: "some rewriting"})

// hostedModel is what an app with a model does first where it is hosted.
var hostedModel = cause.Cure{Fix: "half_precision", Title: "Load the model in 16 bit, or use a smaller one", Told: "`from_pretrained(..., torch_dtype=torch.bfloat16)`: 16 bit needs 2 GB per billion parameters, 32 bit needs 4. Load it once for all users, not per request.", Cost: "hardly any quality"}

// Spaces is an app on Hugging Face that was ended.
var Spaces = []cause.Card{{
	ID: "hf-spaces/memory", Kinds: plainWords, Said: []string{"Memory limit exceeded ("},
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "stopped the app: it used more RAM than its hardware has",
	Means:    "The number in brackets is the RAM of the Space's hardware (16 GB on the free CPU), not GPU memory. Usually it runs out while a model loads: in 32 bit, or because a .bin file is read and then converted.",
	Not:      "Only a restart: it loads the same again.",
	Cures: []cause.Cure{
		hostedModel,
		{Fix: "raise_memory_limit", Title: "Choose hardware with more RAM", Told: "Settings, Space hardware: each entry states its RAM. If it is somebody else's Space, duplicate it first.", Cost: "paid by the hour"},
		{Fix: "stream_dataset", Title: "Load models one at a time", Told: "If the app has several, load each when it is used, and delete it afterwards (`del pipe; gc.collect()`). Read tables and indexes memory-mapped from disk.", Cost: "slower first request"},
	},
	Sources: []string{"https://huggingface.co/docs/hub/spaces-overview", "https://huggingface.co/spaces/Kunbyte/DRA-Ctrl/discussions/2"},
}}

// Streamlit is an app of its free cloud that was stopped.
var Streamlit = []cause.Card{{
	ID: "streamlit-cloud/resources", Kinds: plainWords, Said: []string{"gone over its resource limits"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "stopped the app: it is over the limits of the free Community Cloud",
	Means:    "Nearly always that is RAM (a few GB at most). Usual reasons: a model or table is loaded again in every session or rerun, a cache grows, or PyTorch with a model is too large. The page does not say which limit it was; \"Manage app\" shows the log.",
	Not:      "Only a reboot of the app: it fills up again.",
	Cures: []cause.Cure{
		{Fix: "detach_accumulated", Title: "Load once, and limit the caches", Told: "Put `@st.cache_resource` above the function that loads a model, and `@st.cache_data(ttl=3600, max_entries=10)` above one that loads a table. All sessions then share one copy.", Cost: "some lines of code"},
		{Fix: "use_smaller_model", Title: "Use a smaller model, or a hosted one", Told: "Use quantised ONNX instead of PyTorch, or an inference API. Read only the columns that you show (`usecols=`, Parquet).", Cost: "quality, or money"},
		{Fix: "raise_memory_limit", Title: "Run it where there is more RAM", Told: "A Hugging Face Space has 16 GB for free.", Cost: "a move"},
	},
	Sources: []string{"https://docs.streamlit.io/develop/concepts/architecture/caching", "https://docs.streamlit.io/deploy/streamlit-community-cloud/manage-your-app"},
}}

// Render is a service that was restarted.
var Render = []cause.Card{{
	ID: "render/memory", Kinds: plainWords, Said: []string{"Ran out of memory (used over"},
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "restarted the service: it used more RAM than its instance type has",
	Means:    "The number in the line is the RAM of the instance, shared by all processes of the service. 512 MB is too little for PyTorch with a model: importing torch alone takes a few hundred MB.",
	Not:      "Swap: an instance has none.",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", Title: "Run one worker", Told: "Set WEB_CONCURRENCY to 1 (Environment), or `--workers 1` in the start command. Each worker has its own copy of what it loads.", Cost: "fewer requests at once"},
		{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "Use a smaller model without PyTorch", Told: "Use ONNX Runtime or a GGUF file of a small model, or call a hosted API.", Cost: "quality, or money"},
		{Fix: "raise_memory_limit", Title: "Choose a larger instance type", Told: "Settings, Instance Type: one with at least twice the number in that line.", Cost: "money"},
		{Fix: "detach_accumulated", Title: "If it comes back after hours, check whether memory grows", Told: "Look at the Metrics page. A jump at a request is one large file or query; a steady climb is a cache or a leak.", Cost: "free"},
	},
	Sources: []string{"https://render.com/docs/troubleshooting-deploys", "https://render.com/pricing"},
}}
