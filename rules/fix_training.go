package rules

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
)

var gradientCheckpointing = Fix{
	ID:    "gradient_checkpointing",
	Title: "Turn gradient checkpointing on",
	Doc: paragraphs(
		"Training keeps every layer's intermediate values until the backward pass. Checkpointing keeps one per layer and computes the rest again: measured on a model of 3 billion parameters, 60 GiB became 25. It is the strongest single switch when activations fill the card.",
		"It does nothing for weights, gradients and optimizer states, and nothing for running a model. The cache for generation has to be off with it (`use_cache=False`).",
	),
	Tradeoff: "About 20 to 30 % more time per step; the result is the same.",
	Cost:     0.2,
	Check:    checkStep,
	Next:     "Lower the batch or the length; then look at the optimizer.",
	Steps:    stepsCheckpointing,
}

var gradientAccumulation = Fix{
	ID:    "gradient_accumulation",
	Title: "Accumulate gradients over smaller batches",
	Doc: paragraphs(
		"Four steps of batch 2 with one optimizer step after them train like batch 8 and need the memory of batch 2. Divide the loss by the number of steps. Models with batch normalisation see the small batch, all others do not care.",
		"By itself it saves nothing: it makes a smaller batch harmless.",
	),
	Tradeoff: "Time per step; the result is the same.",
	Cost:     0.15,
	Check:    checkStep,
	Next:     "Gradient checkpointing.",
	Steps: paste("python", `steps = 8
for i, batch in enumerate(loader):          # batch size divided by 8
    loss = model(**batch).loss / steps
    loss.backward()
    if (i + 1) % steps == 0:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)`),
}

var mixedPrecision = Fix{
	ID:    "mixed_precision",
	Title: "Train in mixed precision",
	Doc: paragraphs(
		"With autocast the intermediate values are 16 bit, half of what they were; weights and optimizer states stay at 32 bit, so it helps where activations dominate and not where the optimizer does. bfloat16 from NVIDIA's Ampere generation on; float16 with a gradient scaler on older cards.",
	),
	Tradeoff: "Usually faster; float16 needs a scaler against overflow.",
	Cost:     0.15,
	Check:    checkStep,
	Next:     "Gradient checkpointing.",
	Steps: func(c *Case) []Step {
		return []Step{{Kind: "python", Text: `half = ` + halfType(c) + `
scaler = torch.amp.GradScaler("cuda", enabled=half is torch.float16)
with torch.autocast("cuda", dtype=half):
    loss = model(**batch).loss
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()`}}
	},
}

var useLora = Fix{
	ID:    "use_lora",
	Title: "Train adapters (LoRA) instead of all weights",
	Doc: paragraphs(
		"Full training with Adam takes 16 to 20 bytes for each parameter: 112 GB and more for 7 billion. LoRA freezes the model and trains small matrices beside it, usually under 1 % of the parameters: gradients and optimizer states nearly vanish. With the frozen model in 4 bit (QLoRA) 7 billion parameters train on 8 to 12 GB.",
		"Activations stay: combine it with a small batch and gradient checkpointing.",
	),
	Tradeoff: "Slightly less than full training for large changes of a model; for most purposes the same.",
	Cost:     0.35,
	Check:    "`model.print_trainable_parameters()` says about 1 %; a whole step runs through.",
	Next:     "Load the frozen model in 4 bit.",
	Steps: paste("python", `from peft import LoraConfig, get_peft_model

model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))
model.print_trainable_parameters()`),
}

var optimizer8Bit = Fix{
	ID:    "optimizer_8bit",
	Title: "Use an 8-bit optimizer",
	Doc: paragraphs(
		"Adam keeps two values of 32 bit for every parameter it trains, 8 bytes; in 8 bit they take 2. For 7 billion parameters that is 14 GB instead of 56. The states are made at the *first* `optimizer.step()`, so a run can pass forward and backward and fail there.",
		"A paged optimizer moves its states to system memory in a pinch; it needs that memory, and does not work under WSL. With LoRA there is little to win: the trained part is small.",
	),
	Tradeoff: "None worth mentioning; needs the bitsandbytes package.",
	Cost:     0.15,
	Check:    "`torch.cuda.memory_allocated()` before and after the first `optimizer.step()`: it grows by about 2 bytes for each parameter.",
	Next:     "LoRA; or shard or offload the states.",
	Steps: paste("python", `import bitsandbytes as bnb

optimizer = bnb.optim.AdamW8bit(model.parameters(), lr=2e-5)   # with the Trainer: optim="adamw_bnb_8bit"`),
	Effect: effectOptimizer8bit,
}

var offloadOptimizer = Fix{
	ID:    "offload_optimizer",
	Title: "Keep the optimizer in system memory",
	Doc: paragraphs(
		"DeepSpeed's ZeRO-Offload keeps optimizer states (and with stage 3 the weights) in system memory and computes the optimizer's step there. The card is left with weights, gradients and activations. System memory has to hold about 12 to 16 bytes for each parameter.",
	),
	Tradeoff: "Each step takes longer; much system memory.",
	Cost:     0.35,
	Check:    "`nvidia-smi` and `free -h` during the first step: the states are in RAM.",
	Next:     "LoRA; or more cards.",
	Steps: paste("config", `{
  "zero_optimization": {
    "stage": 2,
    "offload_optimizer": {"device": "cpu", "pin_memory": true}
  },
  "train_micro_batch_size_per_gpu": 1,
  "gradient_accumulation_steps": 8,
  "bf16": {"enabled": true}
}`),
}

var shardTraining = Fix{
	ID:    "shard_training",
	Title: "Shard model and optimizer over the cards",
	Doc: paragraphs(
		"Plain data parallel training (DDP) keeps a whole copy of weights, gradients and optimizer on every card: more cards do not make it fit. ZeRO divides them: stage 1 the optimizer, stage 2 the gradients too, stage 3 (or FSDP) also the weights. With four cards stage 3 leaves a quarter on each.",
		"Activations are not divided: batch and length of one card stay as they are.",
	),
	Tradeoff: "Communication between the cards; a configuration to learn.",
	Cost:     0.45,
	Check:    "`nvidia-smi` after the first step: every card holds its share only.",
	Next:     "Gradient checkpointing, then offload to system memory.",
	Steps: func(*Case) []Step {
		return []Step{
			{Kind: "config", Text: "# accelerate config file\ndistributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_cpu_ram_efficient_loading: true"},
			{Kind: "shell", Text: "accelerate launch --config_file fsdp.yaml train.py"},
		}
	},
}

var inferenceMode = Fix{
	ID:    "inference_mode",
	Title: "Run it without gradients",
	Doc: paragraphs(
		"Outside training PyTorch still records everything for a backward pass that never comes, unless told not to. `torch.inference_mode()` (or `torch.no_grad()`) switches that off, and the values of a layer are dropped as soon as the next one has them. Validation inside a training loop needs it too; `model.eval()` alone does not do it.",
		"`generate()` of transformers and serving programs do it already: there it changes nothing.",
	),
	Tradeoff: "None, as long as no gradients are wanted there.",
	Cost:     0.02,
	Check:    "`torch.cuda.memory_allocated()` printed after each input stays the same instead of climbing.",
	Next:     "If it still climbs, look for lists that keep tensors.",
	Steps: paste("python", `model.eval()
with torch.inference_mode():
    output = model(**inputs)`),
}

var detachAccumulated = Fix{
	ID:    "detach_accumulated",
	Title: "Keep numbers, not graphs",
	Doc: paragraphs(
		"`total += loss` keeps the whole graph of every step, because `loss` still hangs on it; so does appending outputs to a list. Memory then climbs from step to step until the card is full. `loss.item()` is a plain number; `output.detach().cpu()` is the tensor without its history, off the card.",
	),
	Tradeoff: "None.",
	Cost:     0.05,
	Check:    "`torch.cuda.memory_allocated()` after each step stays level.",
	Next:     "`torch.inference_mode()` around everything that needs no gradients.",
	Why:      whyDetach,
	Steps: paste("python", `total += loss.item()                        # not: total += loss
results.append(output.detach().cpu())       # not: results.append(output)`),
}

var streamDataset = Fix{
	ID:    "stream_dataset",
	Title: "Stream the data instead of loading all of it",
	Doc: paragraphs(
		"A data set that is read into a list or an array takes its whole size in system memory, and every data loader worker may get a copy of it. Streaming or memory mapping reads what a batch needs.",
	),
	Tradeoff: "The order is less random with streaming; some rewriting.",
	Cost:     0.25,
	Check:    checkRAM,
	Next:     "Fewer workers; a smaller prefetch.",
	Steps:    stepsStream,
	Why:      whyStream,
}

var lowerNumWorkers = Fix{
	ID:    "lower_num_workers",
	Title: "Use fewer data loader workers, and do not pin memory",
	Doc: paragraphs(
		"Every worker of a DataLoader is a process of its own with its own copy of what it touches, and prefetches two batches into shared memory. Eight workers are eight times that. On Windows each also loads all of PyTorch's libraries, which counts against RAM and page file.",
		"`num_workers=0` loads in the main process: it shows at once whether the workers are the cause. It does not touch the card's memory.",
	),
	Tradeoff: "The card may wait for data.",
	Cost:     0.1,
	Check:    checkRAM,
	Next:     "`pin_memory=False`, a smaller batch; in a container a larger `--shm-size`.",
	Steps:    stepsWorkers,
}

func stepsWorkers(c *Case) []Step {
	if c.Signal("pinning") != nil {
		return []Step{{Kind: "python", Text: "loader = DataLoader(dataset, batch_size=batch_size, pin_memory=False)   # what failed was pinning; then fewer num_workers"}}
	}
	return []Step{{Kind: "python", Text: "loader = DataLoader(dataset, batch_size=batch_size, num_workers=0, pin_memory=False)   # then 2, if that works"}}
}

func stepsCheckpointing(c *Case) []Step {
	own := Step{Kind: "python", Text: "from torch.utils.checkpoint import checkpoint\n\nx = checkpoint(self.block, x, use_reentrant=False)   # in forward(), for each large block, instead of x = self.block(x)"}
	trainer := Step{Kind: "python", Text: "model.gradient_checkpointing_enable()   # transformers; with its Trainer: gradient_checkpointing=True\nmodel.config.use_cache = False"}
	switch {
	case c.In("transformers"):
		return []Step{trainer}
	case c.In("pytorch"):
		return []Step{own, trainer}
	}
	return []Step{trainer, own}
}

func stepsStream(c *Case) []Step {
	if growsList(c) {
		return []Step{{Kind: "python", Text: `for row in read():   # a generator: use each row and let go of it
    use(row)
# or keep the newest only: rows = collections.deque(maxlen=1000)
# or, for numbers: an array.array or NumPy array takes 4 or 8 bytes each, a list 36`}}
	}
	return []Step{{Kind: "python", Text: `from datasets import load_dataset

data = load_dataset("json", data_files="train.jsonl", split="train", streaming=True)
# arrays: numpy.load("data.npy", mmap_mode="r")`}}
}

// whyDetach says what shows that something is kept.
func whyDetach(c *Case) string {
	if s := c.Signal("many_steps"); s != nil && climbingHost(c) && c.Signal("climbing") == nil {
		return fmt.Sprintf("Steps like this one had fitted before (line %d), and the refused piece is only %s: something of every step is kept.", s.Line, units.Format(requested(c)))
	}
	return ""
}

// whyStream names the line that makes a list longer.
func whyStream(c *Case) string {
	if !growsList(c) {
		return ""
	}
	return fmt.Sprintf("The line that failed makes a list longer (line %d). If that goes on for as long as the program runs, no memory is enough, and swap or a higher limit only delay the end.", failedAt(c, "appends").Line)
}

// effectOptimizer8bit: what failed in the first step of the optimizer is a
// state, of 4 bytes for each value.
func effectOptimizer8bit(c *Case) *Effect {
	if c.Signal("optimizer_step") == nil || c.In("deepspeed") { // whose flat buffer may be the master copy
		return nil
	}
	return scaled(c, 4, "At 8 bit instead of 32")
}
