// Package ram reads PyTorch's messages about the computer's memory: lost workers,
// shared memory, and what the CPU allocator was refused.
package ram

import (
	"slices"
	"strings"

	"math"
	"strconv"

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
	{For: "docker run", Text: "add `--shm-size=8g`, or `--ipc=host` for the host's"},
	{For: "Compose", Text: "`shm_size: 8gb` in the service"},
	{For: "Kubernetes", Text: "an `emptyDir` volume with `medium: Memory`, mounted at /dev/shm"},
	{For: "No container", Text: "`df -h /dev/shm`; `sudo mount -o remount,size=16G /dev/shm`."},
}

// moreShm is the same for a pod, in a pod only.
func moreShm(c *ledger.Case) []step.Step {
	if c.In("kubernetes") {
		return []step.Step{{Kind: "config", Text: shmInPod}}
	}
	return []step.Step{{Kind: "shell", Text: "docker run --shm-size=8g IMAGE   # with your other options; a running container keeps its size: start a new one"}}
}

// Cards are about the computer's memory and the part of it that processes
// share.
var Cards = []cause.Card{
	pinned, unloading,
	{
		ID: "pytorch/cpu-scores", Kinds: []fact.Kind{fact.CPUAlloc}, Said: []string{"transformers/models/"}, If: when.All(operation.Is(operation.Attention), atLeastGiB), Figures: scoreFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} of system memory (RAM) for attention scores: the texts are too long",
		Means:    "The failing line computes the scores of attention: batch x heads x length x length.[[ {asked} is exactly {others} x {length} x {length} x 4 bytes: {length} tokens, and {others} is batch x heads.]] Twice the length is four times that. Usually the texts were not truncated.",
		Not:      "Freeing the graphics card: this is system memory.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Truncate the texts to the model's length", Told: "BERT, RoBERTa and DeBERTa take 512 tokens. Where the tokenizer is called, also in a `map`:", Kind: "python", Text: "tokens = tokenizer(texts, truncation=True, max_length=512)   # texts: as in your own call", Cost: "What comes after is lost"},
			{Fix: "lower_batch_size", Title: "Split long texts into pieces, with batch size 1", Told: "`truncation=True, max_length=512, stride=64, return_overflowing_tokens=True` in the tokenizer call makes pieces of 512 tokens.", Cost: "Slower"},
			{Fix: "efficient_attention", Title: "Use fused attention (sdpa)", Told: "Pass `attn_implementation=\"sdpa\"` to `from_pretrained`, for models that have it; DeBERTa has not.", Cost: "None"},
		},
		Sources: []string{"transformers/src/transformers/models/deberta/modeling_deberta.py", "https://huggingface.co/docs/transformers/pad_truncation"},
	},
	{
		ID: "pytorch/worker-killed", Kinds: []fact.Kind{fact.WorkerKilled}, If: when.Not(ledger.Capped),
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "lost a DataLoader worker: most likely system memory (RAM) ran out, not the card's",
		Means:    "A worker got signal 9, usually from the kernel when RAM or the limit of a container or job is full. The line where the main process stopped (a `.cuda()`, a backward pass) does not matter. Each worker holds batches in advance, and slowly copies what the data set keeps in Python lists. So memory grows with the workers and with the epochs.",
		Not:      "Allocator settings, 16 bit, a smaller model (if it is on a GPU): they are about the card.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Use fewer DataLoader workers", If: inTrainer, Told: "{option}[[ {ranks}]]", Cost: "The card may wait for data."},
			{Fix: "lower_num_workers", If: when.Not(inTrainer), Title: "Use fewer DataLoader workers", Told: "{option}[[ {ranks}]]", Kind: "python", Text: "loader = DataLoader(dataset, batch_size=batch_size, num_workers=2, pin_memory=False)   # with your other arguments", Cost: "The card may wait for data."},
			{Fix: "raise_memory_limit", If: virtualWindows, Title: "Give WSL 2 more RAM (.wslconfig)", Told: "WSL 2 and Docker Desktop run in a virtual machine, which has half of the RAM by default.", Kind: "config", Text: "# C:\\Users\\YOU\\.wslconfig; then: wsl --shutdown\n[wsl2]\nmemory=24GB   # leave Windows 4 to 6\nswap=32GB", Cost: "Free."},
			{Fix: "stream_dataset", Title: "Store less in the data set, if memory grows", Told: "Keep paths and labels as NumPy arrays instead of lists and dicts, read each sample in `__getitem__`, and cache no decoded samples (`cache`, `in_memory`, `lru_cache`: each worker has a cache of its own). `watch free -h` shows whether it grows.", Cost: "Some rewriting."},
			{Fix: "raise_memory_limit", If: when.Not(virtualWindows), Title: "Check for a RAM limit, and raise it", Told: "Run `sudo dmesg -T | grep -iE 'killed process|oom-kill'` (on the host of a container). \"Memory cgroup\" means a limit: raise Docker's `--memory`, Kubernetes' `limits.memory` or Slurm's `--mem`. \"Out of memory\" means the machine: add RAM or swap.", Cost: "Free to look."},
		},
		Figures: workerFigures,
		Sources: []string{workerSignals, "https://github.com/pytorch/pytorch/issues/13246"},
	},
	{
		ID: "pytorch/shared-memory", Kinds: []fact.Kind{fact.SharedMemory},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of shared memory (/dev/shm), not of graphics memory",
		Means:    "DataLoader workers pass their batches to the main process through /dev/shm, and it is full. A Docker container or a pod has 64 MB of it by default, whatever RAM is free; the batches of a few workers can need more.",
		Not:      "Swap, a smaller model, or `kernel.shmmax`: they do not change the size of /dev/shm.",
		Cures: []cause.Cure{
			{Fix: "raise_shm_size", Title: "Enlarge /dev/shm (--shm-size)", Ways: shmWays, Steps: moreShm, Cost: "What is used of it counts as RAM."},
			{Fix: "lower_num_workers", Title: "Use no DataLoader workers (num_workers=0)", Told: "Pass it to your DataLoader (YOLO: `workers=0`) where you cannot change the container: nothing goes through /dev/shm then. Fewer workers, or a smaller batch, need less of it.", Cost: "The card may wait for data."},
			{Fix: "restart_session", Title: "Delete what crashed runs left in /dev/shm", Told: "`df -h /dev/shm; ls -lt /dev/shm | head` shows it. Files named torch_ can stay after a kill: delete `/dev/shm/torch_*` while no program of yours runs.", Cost: "Free."},
		},
		Sources: []string{workerSignals, "https://docs.docker.com/reference/cli/docker/container/run/"},
	},
	{
		ID: "pytorch/nccl-shm", Kinds: []fact.Kind{fact.NCCLShm},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "stopped in NCCL: shared memory (/dev/shm) is full",
		Means:    "The processes of one machine exchange data through segments in /dev/shm, [[{asked} each here, ]]and NCCL could not make one more. A Docker container or pod has 64 MB of it by default, which a few cards fill. The last line may read \"unhandled system error\".",
		Not:      "A smaller batch or model: the segments do not depend on it.",
		Cures: []cause.Cure{
			{Fix: "raise_shm_size", Title: "Enlarge /dev/shm (--shm-size)", Ways: shmWays, Steps: moreShm, Cost: "What is used of it counts as RAM."},
			{Fix: "lower_num_workers", Title: "Turn off NCCL's shared memory (NCCL_SHM_DISABLE=1)", Told: "Cards without a direct link then use the network stack. Crashed runs may also have left files: `rm /dev/shm/nccl-*` while nothing runs.", Kind: "env", Text: "export NCCL_SHM_DISABLE=1", Cost: "Slower between the cards."},
			{Fix: "lower_parallel", Title: "Use fewer segments (NCCL_MAX_NCHANNELS)", Told: "`export NCCL_MAX_NCHANNELS=2` makes fewer of them for each pair of cards.", Cost: "Bandwidth."},
		},
		Sources: []string{"nccl/src/misc/shmutils.cc", "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html", "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"},
	},
}

// longest is the length of a text that no model takes.
const longest = 1 << 20

func atLeastGiB(c *ledger.Case) bool { return ledger.Requested(c) >= units.GiB }

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
	out := map[string]string{"option": "Try `num_workers=0`, without other worker options, to see what one process needs; then 2. Options and configs call it `workers` or `num_workers`. The validation loader has workers of its own.", "ranks": ""}
	if inTrainer(c) {
		out["option"] = "Set `--dataloader_num_workers 0` on the command line, or `dataloader_num_workers=0` in TrainingArguments, to see what one process needs; then 2."
	}
	if s, ok := c.Setting("num_workers", "workers", "dataloader_num_workers", "n_workers", fact.OptionWorkers); ok && s.Value != "0" {
		out["option"] = "`" + step.OptionName(s) + "` is " + s.Value + " here: try 0 to see what one process needs, then 2."
	}
	if c.Signal("distributed") != nil {
		out["ranks"] = "Every rank has that many."
	}
	if validates(c) {
		out["option"] = "It stopped in the validation, whose loader has workers of its own, beside those of the training: begin there. " + strings.TrimSuffix(out["option"], " The validation loader has workers of its own.") + " Its batch size counts as well: a worker holds two batches in advance."
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
