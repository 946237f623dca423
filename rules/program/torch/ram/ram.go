// Package ram reads PyTorch's messages about the computer's memory: lost workers,
// shared memory, and what the CPU allocator was refused.
package ram

import (
	"math"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
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
	{For: "No container", Text: "`df -h /dev/shm`; `sudo mount -o remount,size=16G /dev/shm`."},
}

// moreShm is the same for a pod, in a pod only.
func moreShm(c *ledger.Case) []step.Step {
	if c.In("kubernetes") {
		return []step.Step{{Kind: "config", Text: shmInPod}}
	}
	return []step.Step{{Kind: "shell", Text: "docker run --shm-size=8g IMAGE   # IMAGE: what you start today, with its other options"}}
}

// Cards are about the computer's memory and the part of it that processes
// share.
var Cards = []cause.Card{
	pinned,
	{
		ID: "pytorch/cpu-scores", Kinds: []fact.Kind{fact.CPUAlloc}, Said: []string{"transformers/models/"}, If: when.All(operation.Is(operation.Attention), atLeastGiB), Figures: scoreFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} of RAM in one piece: attention scores of a text that is far too long",
		Means:    "The failing line writes out the scores of attention: batch x heads x length x length.[[ {asked} is exactly {others} x {length} x {length} x 4 bytes: {length} tokens, and {others} is batch x heads.]] Twice the length is four times that, so the length decides: texts that were not cut, as a rule.",
		Not:      "Swap, more RAM, anything about the graphics card.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Cut the texts to what the model was made for", Told: "BERT, RoBERTa and DeBERTa: 512 tokens. Where the tokenizer is called, also in a `map`:", Kind: "python", Text: "tokens = tokenizer(texts, truncation=True, max_length=512)   # texts: as in your own call", Cost: "What is behind the cut is lost; long texts can go in pieces"},
			{Fix: "lower_batch_size", Title: "The length is meant: one text at a time, in pieces", Told: "`truncation=True, max_length=512, stride=64, return_overflowing_tokens=True` makes pieces of 512; batch size 1.", Cost: "Slower"},
			{Fix: "efficient_attention", Title: "Or attention that does not write them out", Told: "`attn_implementation=\"sdpa\"` in `from_pretrained`, for models that have it; DeBERTa has not.", Cost: "None"},
		},
		Sources: []string{"transformers/src/transformers/models/deberta/modeling_deberta.py", "https://huggingface.co/docs/transformers/pad_truncation"},
	},
	{
		ID: "pytorch/worker-killed", Kinds: []fact.Kind{fact.WorkerKilled}, If: when.Not(ledger.Capped),
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "lost a DataLoader worker: the computer's RAM, most likely, not the card",
		Means:    "A worker got signal 9: on Linux nearly always from the kernel, when RAM or the limit of a container or job is full. The place where the main process stopped (a `.cuda()`, a backward pass) says nothing. Each worker holds batches in advance, and copies little by little what the data set keeps in Python lists; so it grows with the workers and with the epochs.",
		Not:      "A smaller model, 16 bit or allocator settings: the card is not involved. A full /dev/shm reads \"Bus error\".",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Fewer workers, fewer batches ahead", If: inTrainer, Told: "{option}[[ {ranks}]]", Cost: "The card may wait for data."},
			{Fix: "lower_num_workers", If: when.Not(inTrainer), Title: "Fewer workers, fewer batches ahead", Told: "{option}[[ {ranks}]]", Kind: "python", Text: "loader = DataLoader(dataset, batch_size=batch_size, num_workers=2, prefetch_factor=2, pin_memory=False)", Cost: "The card may wait for data."},
			{Fix: "raise_memory_limit", If: virtualWindows, Title: "Give the virtual machine more of the computer's RAM", Told: "Docker Desktop and WSL 2 run in one, which has half of the RAM unless told otherwise. ", Kind: "config", Text: "# C:\\Users\\YOU\\.wslconfig; then: wsl --shutdown\n[wsl2]\nmemory=24GB   # leave Windows 4 to 6\nswap=32GB", Cost: "Free."},
			{Fix: "stream_dataset", Title: "{when}: let nothing grow", Told: "Keep paths and labels as NumPy arrays in place of lists and dicts, read each sample in `__getitem__` (`np.load(path, mmap_mode=\"r\")`), cache no decoded ones (an option such as `cache`, `in_memory`, `lru_cache`: each worker has its own), `persistent_workers=False`. `watch free -h` shows the climb.", Cost: "Some rewriting."},
			{Fix: "raise_memory_limit", If: when.Not(virtualWindows), Title: "See whether it was a limit, and raise it", Told: "`sudo dmesg -T | grep -iE 'killed process|oom-kill'`, in a container on the host. \"Memory cgroup\": `docker update --memory`, Slurm `--mem=`, in WSL `memory=` in .wslconfig. \"Out of memory\": the machine; swap bridges a peak.", Cost: "Free to look."},
		},
		Figures: workerFigures,
		Sources: []string{workerSignals, "https://github.com/pytorch/pytorch/issues/13246"},
	},
	{
		ID: "pytorch/shared-memory", Kinds: []fact.Kind{fact.SharedMemory},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of shared memory (/dev/shm), not of RAM or graphics memory",
		Means:    "DataLoader workers hand their batches to the main process through /dev/shm, and it is full. A Docker container or a pod has 64 MB of it unless told otherwise, whatever RAM is free: the batches of a few workers with images are more. So it can run for a while and fail at a larger batch.",
		Not:      "Swap, a smaller model, or `kernel.shmmax`: only the size of /dev/shm counts.",
		Cures: []cause.Cure{
			{Fix: "raise_shm_size", Title: "A larger /dev/shm, when the container is started", Ways: shmWays, Steps: moreShm, Cost: "What is used of it counts as RAM."},
			{Fix: "lower_num_workers", Title: "You cannot change the container: no workers", Told: "Nothing goes through /dev/shm then. In between: what waits there is workers x `prefetch_factor` (2) x batch, so 2 workers with `prefetch_factor=1` take a quarter of 4 with 2.", Kind: "python", Text: "num_workers=0   # in your DataLoader; YOLO: workers=0", Cost: "The card may wait for data."},
			{Fix: "restart_session", Title: "Clear what crashed runs left there", Told: "Files named torch_ or sem.mp- stay after a kill. See it with `df -h /dev/shm; ls -lt /dev/shm | head`; while nothing of yours runs, delete `/dev/shm/torch_*` and `/dev/shm/sem.mp-*`.", Cost: "Free."},
		},
		Sources: []string{workerSignals, "https://docs.docker.com/reference/cli/docker/container/run/"},
	},
	{
		ID: "pytorch/nccl-shm", Kinds: []fact.Kind{fact.NCCLShm},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "stopped in NCCL: shared memory (/dev/shm) is full",
		Means:    "NCCL lets the processes of one machine talk through segments in /dev/shm, [[{asked} each here, ]]and could not make one more. A Docker container or pod has 64 MB of it unless told otherwise, so that a few cards are enough. The cards' own memory is not what is short, though the last line may read \"unhandled system error\".",
		Not:      "A smaller batch or model: the segments do not depend on it.",
		Cures: []cause.Cure{
			{Fix: "raise_shm_size", Title: "A larger /dev/shm, when the container is started", Ways: shmWays, Steps: moreShm, Cost: "What is used of it counts as RAM."},
			{Fix: "lower_num_workers", Title: "You cannot change it: let NCCL do without", Told: "It then goes over the network stack between cards without a direct link. Or clear what crashed runs left: `rm /dev/shm/nccl-*` while nothing runs.", Kind: "env", Text: "export NCCL_SHM_DISABLE=1", Cost: "Slower between the cards."},
			{Fix: "lower_parallel", Title: "Fewer segments", Told: "`export NCCL_MAX_NCHANNELS=2` makes fewer of them for each pair of cards.", Cost: "Bandwidth."},
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

// workerFigures say how the number of workers is set in the reader's program,
// and when the worker died.
func workerFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"option": "`num_workers=0` (then without `prefetch_factor`) shows what one process needs (in a script's options or config: `workers` or `num_workers`). The validation loader has workers of its own, beside those of training.", "ranks": "", "when": "It dies after hours or epochs"}
	if inTrainer(c) {
		out["option"] = "`--dataloader_num_workers 0` on the command line, or `dataloader_num_workers=0` in TrainingArguments, shows what one process needs."
	}
	if s, ok := c.Setting("num_workers", "workers", "dataloader_num_workers", "n_workers", fact.OptionWorkers); ok && s.Value != "0" {
		out["option"] = "`" + step.OptionName(s) + "` is " + s.Value + " here: 0 shows what one process needs, then 2."
	}
	if c.Signal("distributed") != nil {
		out["ranks"] = "Every rank has that many."
	}
	if c.Signal("many_steps") != nil {
		out["when"] = "It ran for many steps first"
	}
	return out
}

// inTrainer: the workers are an option of the Transformers Trainer.
func inTrainer(c *ledger.Case) bool { return c.In("transformers") }
