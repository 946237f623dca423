// Package ram reads PyTorch's messages about the computer's memory: lost workers,
// shared memory, and what the CPU allocator was refused.
package ram

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	workerSignals = "pytorch/torch/utils/data/_utils/signal_handling.py"
	shmInPod      = "volumes:\n- {name: shm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}\nvolumeMounts:   # of the container\n- {name: shm, mountPath: /dev/shm}"
)

// shmWays are how /dev/shm is enlarged, by what runs the program.
var shmWays = []cause.Way{
	{For: "docker run", Text: "add `--shm-size=8g`, or `--ipc=host` to use the host's"},
	{For: "Compose", Text: "`shm_size: 8gb` in the service"},
	{For: "Kubernetes", Text: "an `emptyDir` volume with `medium: Memory`, mounted at /dev/shm"},
	{For: "No container", Text: "`df -h /dev/shm`; `sudo mount -o remount,size=16G /dev/shm`."},
}

// moreShm is the same for a pod, in a pod only.
func moreShm(c *ledger.Case) []step.Step {
	if c.In("kubernetes") {
		return []step.Step{{Kind: "config", Text: shmInPod}}
	}
	return []step.Step{{Kind: "shell", Text: "docker run --shm-size=8g IMAGE   # plus your other options; you must start a new container"}}
}

// Cards are about the computer's memory and the part of it that processes
// share.
var Cards = []cause.Card{
	pinned, unloading,
	{
		ID: "pytorch/cpu-scores", Kinds: []fact.Kind{fact.CPUAlloc}, Said: []string{"transformers/models/"}, If: when.All(operation.Is(operation.Attention), atLeastGiB), Figures: scoreFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM): {asked} for attention scores, probably too long texts",
		Means:    "The failing line computes attention scores: batch x heads x length x length.[[ {asked} fits {length} tokens exactly ({others} x {length} x {length} x 4 bytes).]] Twice the length takes four times the memory. Usually the texts were not truncated.",
		Not:      "Freeing GPU memory: this is system RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Truncate the texts to the model's length", Told: "BERT, RoBERTa and DeBERTa take 512 tokens. Change every tokenizer call, also inside `map`:", Kind: "python", Text: "tokens = tokenizer(texts, truncation=True, max_length=512)   # texts: as in your own call", Cost: "the rest of each text is lost"},
			{Fix: "lower_batch_size", Title: "Or split long texts into chunks", Told: "Pass `truncation=True, max_length=512, stride=64, return_overflowing_tokens=True` to the tokenizer, and run the chunks at batch size 1: half the batch takes half of the scores.", Cost: "Slower"},
			{Fix: "efficient_attention", If: when.Not(inDeBERTa), Title: "Use fused attention (sdpa)", Told: "Pass `attn_implementation=\"sdpa\"` to `from_pretrained`. Not every model supports it.", Cost: "None"},
		},
		Sources: []string{"transformers/src/transformers/models/deberta/modeling_deberta.py", "https://huggingface.co/docs/transformers/pad_truncation"},
	},
	{
		ID: "pytorch/worker-killed", Kinds: []fact.Kind{fact.WorkerKilled}, If: when.Not(ledger.Capped),
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "lost a DataLoader worker: most likely system memory (RAM) ran out, not GPU memory",
		Means:    "A worker was killed (signal 9), usually by the kernel because RAM or a container's or job's limit was full. The line where the main process stopped does not matter. Each worker holds batches in advance and slowly copies Python lists in the data set, so memory grows with the workers and over time.",
		Not:      "Allocator settings, 16 bit or a smaller model on the GPU: they only save GPU memory.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Use fewer DataLoader workers", If: inTrainer, Told: "{option}[[ {ranks}]]", Cost: "The card may wait for data."},
			{Fix: "lower_num_workers", If: when.Not(inTrainer), Title: "Use fewer DataLoader workers", Told: "{option}[[ {ranks}]]", Kind: "python", Text: "loader = DataLoader(dataset, batch_size=batch_size, num_workers=0, pin_memory=False)   # with your other arguments", Cost: "The card may wait for data."},
			{Fix: "raise_memory_limit", If: virtualWindows, Title: "Give WSL 2 more RAM (.wslconfig)", Told: "WSL 2 and Docker Desktop run in a virtual machine, which gets half of the RAM by default.", Kind: "config", Text: "# C:\\Users\\YOU\\.wslconfig; then: wsl --shutdown\n[wsl2]\nmemory=24GB   # leave Windows 4 to 6\nswap=32GB", Cost: "Free."},
			{Fix: "stream_dataset", Title: "If `watch free -h` shows memory growing: store less in the data set", Told: "Keep paths and labels in NumPy arrays instead of lists and dicts, and read each sample in `__getitem__`. Turn off caches (`cache`, `in_memory`, `lru_cache`): each worker fills its own.", Cost: "Some rewriting."},
			{Fix: "raise_memory_limit", If: when.Not(virtualWindows), Title: "Check for a RAM limit, and raise it", Told: "Run `sudo dmesg -T | grep -iE 'killed process|oom-kill'` (for a container: on its host). \"Memory cgroup\" means a limit: raise Docker's `--memory`, Kubernetes' `limits.memory` or Slurm's `--mem`. Otherwise the machine was full: add RAM or swap.", Cost: "Free to look."},
		},
		Figures: workerFigures,
		Sources: []string{workerSignals, "https://github.com/pytorch/pytorch/issues/13246"},
	},
	{
		ID: "pytorch/shared-memory", Kinds: []fact.Kind{fact.SharedMemory},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of shared memory (/dev/shm), not GPU memory",
		Means:    "DataLoader workers pass batches to the main process through /dev/shm, and it is full. A Docker container or Kubernetes pod gets only 64 MB of it by default, however much RAM is free.",
		Not:      "Swap, a smaller model, or `kernel.shmmax`: they do not change the size of /dev/shm.",
		Cures: []cause.Cure{
			{Fix: "raise_shm_size", Title: "Enlarge /dev/shm (--shm-size)", Ways: shmWays, Steps: moreShm, Cost: "Used shared memory counts as RAM."},
			{Fix: "lower_num_workers", Title: "Or use no DataLoader workers (num_workers=0)", Told: "If you cannot change the container, pass it to your DataLoader (YOLO: `workers=0`). Batches then skip /dev/shm. Fewer workers or a smaller batch need less of it.", Cost: "The GPU may wait for data."},
			{Fix: "restart_session", Title: "Or delete what crashed runs left in /dev/shm", Told: "`df -h /dev/shm; ls -lt /dev/shm | head` shows it. Killed runs can leave `/dev/shm/torch_*`: delete them while none of your programs runs.", Cost: "Free."},
		},
		Sources: []string{workerSignals, "https://docs.docker.com/reference/cli/docker/container/run/"},
	},
	{
		ID: "pytorch/nccl-shm", Kinds: []fact.Kind{fact.NCCLShm},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "failed in NCCL: shared memory (/dev/shm) is full",
		Means:    "NCCL exchanges data between the GPUs of one machine through /dev/shm, and could not allocate another segment[[ of {asked}]]. A Docker container or Kubernetes pod gets only 64 MB of it by default, which a few GPUs fill.",
		Not:      "A smaller batch or model: it does not change the size of the segments.",
		Cures: []cause.Cure{
			{Fix: "raise_shm_size", Title: "Enlarge /dev/shm (--shm-size)", Ways: shmWays, Steps: moreShm, Cost: "Used shared memory counts as RAM."},
			{Fix: "lower_num_workers", Title: "Or turn off NCCL's shared memory (NCCL_SHM_DISABLE=1)", Told: "GPUs without a direct link then use the network stack. Crashed runs may also have left `/dev/shm/nccl-*`: delete them while nothing runs.", Kind: "env", Text: "export NCCL_SHM_DISABLE=1", Cost: "Slower between the GPUs."},
			{Fix: "lower_parallel", Title: "Or use fewer segments (NCCL_MAX_NCHANNELS)", Told: "`export NCCL_MAX_NCHANNELS=2` makes fewer of them for each pair of GPUs.", Cost: "Bandwidth."},
		},
		Sources: []string{"nccl/src/misc/shmutils.cc", "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html", "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"},
	},
}

// longest is the length of a text that no model takes.
const longest = 1 << 20

func atLeastGiB(c *ledger.Case) bool { return ledger.Requested(c) >= units.GiB }

func inDeBERTa(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool { return strings.Contains(f.File, "deberta") })
}

// scoreFigures take the length out of the size of square scores, where it is odd
// and so shows: everything else in the product mostly is not.
func scoreFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"length": "", "others": ""}
	numbers := ledger.Requested(c) / 4
	for n := min(int64(math.Sqrt(float64(numbers)/8)), longest) | 1; n > 512; n -= 2 {
		if others := numbers / n / n; numbers%(n*n) == 0 && others%8 == 0 && others <= 4096 {
			out["length"], out["others"] = ledger.Thousands(n), strconv.FormatInt(others, 10)
			break
		}
	}
	return out
}

// virtualWindows: Linux in a virtual machine of Windows, WSL's or Docker's.
func virtualWindows(c *ledger.Case) bool { return c.Reader.OS == "wsl" }

// workerFigures say how the number of workers is set in the reader's program.
func workerFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"option": "Try `num_workers=0` first (remove other worker options), then 2. Options and configs call it `workers` or `num_workers`. The validation loader has its own workers.", "ranks": ""}
	if inTrainer(c) {
		out["option"] = "Set `--dataloader_num_workers 0` on the command line, or `dataloader_num_workers=0` in TrainingArguments. If that runs, try 2."
	}
	if s, ok := c.Setting("num_workers", "workers", "dataloader_num_workers", "n_workers", fact.OptionWorkers); ok && s.Value != "0" {
		out["option"] = "`" + step.OptionName(s) + "` is " + s.Value + " here: try 0 first, then 2."
	}
	if c.Signal("distributed") != nil {
		out["ranks"] = "Every rank starts that many."
	}
	if validates(c) {
		out["option"] = "It stopped in the validation. Its loader has its own workers, beside those of the training, so start there. " + strings.TrimSuffix(out["option"], " The validation loader has its own workers.") + " Lower its batch size too: each worker holds two batches in advance."
	}
	return out
}

// validates: the line of the reader's own handles a batch of the validation.
func validates(c *ledger.Case) bool {
	f := ledger.OwnFrame(c)
	if f == nil {
		return false
	}
	for word := range reader.Words(f.Source + " " + f.Function) {
		if slices.Contains([]string{"val", "valid", "validate", "validation"}, word) {
			return true
		}
	}
	return false
}

// inTrainer: the workers are an option of the Transformers Trainer.
func inTrainer(c *ledger.Case) bool { return c.In("transformers") }
