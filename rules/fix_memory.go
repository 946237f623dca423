package rules

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"

	"github.com/oomdoc/oomdoc/internal/units"
)

var killStaleProcess = Fix{
	ID:    "kill_stale_process",
	Title: "Find what holds the card and end it",
	Doc: paragraphs(
		"A card's memory is shared by every program on the computer. A training run that did not exit, a notebook whose kernel still lives, a second server or a browser keep theirs until they end. `nvidia-smi` lists who holds how much; anything over about 200 MiB that is not yours, or is an old run of yours, is a suspect.",
		"It helps when the card's total, less what is free, less what this program holds, leaves more than about half a GiB. \"Already allocated\" being high proves nothing about others: that figure is this program's own.",
		"Look before you kill. In a container PyTorch prints process numbers of the host, and one of them may be the very process that failed: the one whose memory equals this program's. If nothing is listed although memory is used, the owner is in another container, belongs to another user, or died and left its memory behind; then a restart of the machine frees it.",
	),
	Tradeoff: "Free, but whatever you end loses its unsaved work.",
	Cost:     0.05,
	Check:    "`nvidia-smi` again: the used memory of the card is down to a few hundred MiB before you start.",
	Next:     "If nothing is listed although memory is used, look in other containers (`docker ps`), ask the other users of the machine, or restart it.",
	Steps:    stepsKill,
	Why:      whyKill,
	Effect:   effectKill,
	Useless:  uselessKill,
}

var restartSession = Fix{
	ID:    "restart_session",
	Title: "Restart the program or notebook kernel",
	Doc: paragraphs(
		"A Python process keeps every model it loaded as long as one name, one list or one traceback still points to it. Notebooks do that all the time: `Out[3]`, `_`, and the last error keep tensors alive. Ending the process gives everything back at once.",
		"It helps when the first run works and the second fails, when an earlier model was loaded in the same session, and when memory is taken although nothing of yours runs. It does not help when the very first run after a restart fails: then the work is too big.",
	),
	Tradeoff: "The state of the session is lost; the model has to be loaded again.",
	Cost:     0.05,
	Check:    "In the new session, before the model is loaded: `torch.cuda.mem_get_info()` shows nearly all of the card free.",
	Next:     "If a fresh session fails at the same place, nothing was left over: make the work smaller instead.",
	Steps:    stepsRestart,
}

var emptyCache = Fix{
	ID:    "empty_cache",
	Title: "Drop what is no longer needed, then empty the cache",
	Doc: paragraphs(
		"Three steps in this order: drop the references (`del model`, outputs, optimizers, lists), collect cycles (`gc.collect()`), hand the unused blocks back (`torch.cuda.empty_cache()`). Without the first two the third does nothing: it can only return what no tensor uses.",
		"It helps between two models or two runs in one process, and it helps *other* programs on the card. It does not help after the error: PyTorch had already returned what it could before it raised it. In a training loop it only costs time.",
	),
	Tradeoff: "A little time at each call; no quality.",
	Cost:     0.05,
	Check:    "The two figures that the snippet prints before and after: `allocated` must fall, not only `reserved`.",
	Next:     "If `allocated` stays, something still points to the tensors: restart the session.",
	Steps: paste("python", `import gc, torch

def show(when):
    print(f"{when}: allocated {torch.cuda.memory_allocated() / 2**30:.2f} GiB, reserved {torch.cuda.memory_reserved() / 2**30:.2f} GiB")

show("before")
model = outputs = optimizer = None   # every name that still holds the old work
gc.collect()
torch.cuda.empty_cache()
show("after")`),
	Useless: uselessEmptyCache,
}

var selectGpu = Fix{
	ID:    "select_gpu",
	Title: "Use another card",
	Doc: paragraphs(
		"Programs take the first card unless told otherwise. If the computer has another one with more room, `CUDA_VISIBLE_DEVICES` shows the program only that one. It must be set before the program starts; inside the program that card is then number 0.",
		"The number in PyTorch's message counts inside `CUDA_VISIBLE_DEVICES`, and `nvidia-smi` orders cards by their slot while CUDA may order them by speed: set `CUDA_DEVICE_ORDER=PCI_BUS_ID` so that both agree.",
	),
	Tradeoff: "Free, if there is another card; it may be the slower one.",
	Cost:     0.05,
	Check:    "`nvidia-smi` while it runs: the memory grows on the card you chose.",
	Next:     "If the other card is as full, find out who holds it.",
	Steps:    stepsSelectGPU,
	Effect:   effectOwnCards,
	Useless:  func(c *Case) string { return neverFits(c) },
}

var balanceSplit = Fix{
	ID:    "balance_split",
	Title: "Split the model unevenly over the cards",
	Doc: paragraphs(
		"A model spread over several cards fails as soon as one of them is full. The first card often holds more than its share: the desktop, the output layer, caches, and a CUDA context of every other process. Give it less and the others more.",
		"In distributed training, several small equal entries on card 0 are contexts of the other ranks: each rank must call `torch.cuda.set_device(local_rank)` before it touches the GPU, and load checkpoints with `map_location=\"cpu\"`.",
	),
	Tradeoff: "A few trials to find the split; no quality.",
	Cost:     0.15,
	Check:    "`nvidia-smi` after loading: every card has 1 to 2 GiB to spare, the first one included.",
	Next:     "If all cards are nearly full, the model is too big for their sum.",
	Steps:    stepsBalance,
}

var closeOtherApps = Fix{
	ID:    "close_other_apps",
	Title: "Close other programs that use memory",
	Doc: paragraphs(
		"Browsers, games, video players, and other AI programs hold memory of the card as well as of the computer. A browser with many tabs takes several GiB of RAM and often 0.5 to 1 GiB of the card; the desktop itself 0.3 to 1.5 GiB.",
		"On Windows, closing programs also lowers the *commit charge*: memory that is promised counts there even if it is not in use.",
	),
	Tradeoff: "Free; you can't use them meanwhile.",
	Cost:     0.05,
	Check:    "Start again with them closed, and compare the free figure of the message (or Task Manager) with the one before.",
	Next:     "If little was gained, make the work itself smaller.",
	Steps:    stepsCloseApps,
	Effect:   effectOthersYield,
}

var expandableSegments = Fix{
	ID:    "expandable_segments",
	Title: "Let PyTorch grow its segments (expandable_segments)",
	Doc: paragraphs(
		"PyTorch takes memory from the driver in segments of fixed size and cuts them up. With varying sizes the rests add up to GiB that are free and too small one by one. With `expandable_segments:True` a segment can grow instead, and such rests hardly appear.",
		"It can win back at most what the message calls *reserved by PyTorch but unallocated*. If that is small against what was asked for, the option changes nothing, however often it is recommended: PyTorch prints the tip in every message, even when it is set already. If it is set and it still fails, memory is really short.",
		"It works on Linux with PyTorch 2.1 or newer and must be set before the process starts. On Windows it is ignored, on ROCm before 7.0 it is not supported, and on Jetson boards it fails. PyTorch 2.9 renamed the variable from `PYTORCH_CUDA_ALLOC_CONF` to `PYTORCH_ALLOC_CONF`; the old name still works, the new one is ignored by older versions.",
	),
	Tradeoff: "None for quality; now and then a little speed. Tensors can't be shared between processes with it.",
	Cost:     0.02,
	Check:    "The next message, if there is one, shows a small `reserved by PyTorch but unallocated`.",
	Next:     "If it still fails, memory is really short: lower the batch or the model's size.",
	Steps:    func(c *Case) []Step { return allocConf(c, "expandable_segments:True") },
	Why:      whySlack,
	Effect:   effectSlack,
	Useless:  uselessExpandable,
}

var maxSplitSize = Fix{
	ID:    "max_split_size",
	Title: "Keep PyTorch from cutting up large blocks (max_split_size_mb)",
	Doc: paragraphs(
		"Blocks larger than this are not cut up any more, so that a large request later finds one whole. It is the older cure for fragmentation, for PyTorch 1.10 to 2.0 and for Windows, where `expandable_segments` does not exist or does nothing.",
		"It wins back at most what is reserved and not in use. Values are in MiB and at least 21; 128 to 512 are usual. Too small a value makes the allocator slow and can waste more than it saves.",
	),
	Tradeoff: "Some speed; a wrong value can make it worse.",
	Cost:     0.1,
	Check:    "The next message, if there is one, shows less between `reserved` and `allocated`.",
	Next:     "Try 512, then lower the batch: after that memory is really short.",
	Steps:    func(c *Case) []Step { return allocConf(c, "max_split_size_mb:128") },
	Why:      whySlack,
	Effect:   effectSlack,
	Useless:  uselessSplitSize,
}

var limitFrameworkPreallocation = Fix{
	ID:    "limit_framework_preallocation",
	Title: "Keep the framework from taking the whole card at its start",
	Doc: paragraphs(
		"JAX takes 75 % of the card at its first operation and TensorFlow nearly all of it, used or not. A second program on the card then finds nothing. These variables make them take memory as they need it.",
		"It helps when two programs share a card, or two frameworks one process. It does not make the work itself smaller.",
	),
	Tradeoff: "A little speed, and more fragmentation.",
	Cost:     0.05,
	Check:    "`nvidia-smi` right after the start shows a few hundred MiB instead of most of the card.",
	Next:     "If it still runs out, the work itself is too big: lower the batch.",
	Steps: func(c *Case) []Step {
		return []Step{environ(c, "XLA_PYTHON_CLIENT_PREALLOCATE", "false"), environ(c, "TF_FORCE_GPU_ALLOW_GROWTH", "true")}
	},
}

var tfCudaMallocAsync = Fix{
	ID:    "tf_cuda_malloc_async",
	Title: "Use CUDA's asynchronous allocator in TensorFlow or JAX",
	Doc: paragraphs(
		"TensorFlow's own allocator (BFC) can't move what it handed out; CUDA's asynchronous allocator remaps memory and suffers less from fragments. TensorFlow prints this tip with every failure, so the tip alone proves nothing: look whether *available* in its dump exceeds what was asked for.",
	),
	Tradeoff: "None for quality; little or no speed.",
	Cost:     0.05,
	Check:    "The log at the start says `Using CUDA malloc Async allocator for GPU`.",
	Next:     "If it still fails, the work is too big: lower the batch.",
	Steps:    func(c *Case) []Step { return []Step{environ(c, "TF_GPU_ALLOCATOR", "cuda_malloc_async")} },
	Effect:   effectRemapped,
}

var upgradeVersion = Fix{
	ID:    "upgrade_version",
	Title: "Update the program",
	Doc: paragraphs(
		"Some failures are faults of one version: a leak, a warm-up that reserves twice what is needed, a limit of a driver. Then no setting helps for long, and another version does. Look into the program's issue list for the exact sentence of your log; where the newest version is at fault, the one before it is the cure.",
		"The driver counts too: cards of a new generation need new drivers, ROCm or Level Zero releases.",
	),
	Tradeoff: "Half an hour; something else may have changed as well. Note the old version first so that you can go back.",
	Cost:     0.2,
	Check:    "Print the version (`pip show torch`, `ollama --version`, `vllm --version`) and run the same thing again.",
	Next:     "If it stays, report it with the whole log, and make the work smaller meanwhile.",
	Steps:    stepsUpgrade,
}

func stepsKill(c *Case) []Step {
	switch {
	case c.Backend == "rocm":
		return append([]Step{{Kind: "shell", Text: "rocm-smi --showpids --showmeminfo vram"}}, stepsKillPIDs(c)...)
	case c.Backend == "mps" || c.Backend == "metal":
		return []Step{{Kind: "ui", Text: "Activity Monitor, tab Memory, sorted by Memory: quit what you do not need, other Python processes first."}}
	case c.Backend == "xpu":
		return append([]Step{{Kind: "shell", Text: "xpu-smi ps"}}, stepsKillPIDs(c)...)
	case c.Backend == "npu":
		return append([]Step{{Kind: "shell", Text: "npu-smi info"}}, stepsKillPIDs(c)...)
	case c.Backend == "cpu":
		return []Step{{Kind: "shell", Text: "ps -eo pid,user,rss,etime,cmd --sort=-rss | head -n 15"}, {Kind: "shell", Text: "kill PID   # one of yours that should be gone"}}
	}
	return append([]Step{{Kind: "shell", Text: "nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv"}}, stepsKillPIDs(c)...)
}

// stepsKillPIDs names the processes of the message that are not this one. Each
// is looked at before it is ended: in a container the numbers are the host's.
func stepsKillPIDs(c *Case) []Step {
	var pids []string
	for _, p := range c.F().OtherProcesses {
		if p.PID != c.OurPID && p.PID > 1 && p.Bytes >= 200*units.MiB && len(pids) < 4 {
			pids = append(pids, pidText(p.PID))
		}
	}
	if c.Windows() {
		return []Step{{Kind: "shell", Text: "taskkill /F /PID " + firstOr(pids, "PID")}}
	}
	if len(pids) == 0 {
		return []Step{{Kind: "shell", Text: "kill PID   # the one that is yours and should be gone; kill -9 PID if it stays"}}
	}
	return []Step{
		{Kind: "shell", Text: "ps -o pid,user,etime,cmd -p " + strings.Join(pids, ",") + "   # on the host, not inside a container"},
		{Kind: "shell", Text: "kill " + strings.Join(pids, " ") + "   # if they are yours and should be gone"},
	}
}

func firstOr(list []string, otherwise string) string {
	if len(list) == 0 {
		return otherwise
	}
	return list[0]
}

func whyKill(c *Case) string {
	bytes, ok := held(c)
	if !ok || !c.Others.Has() || bytes < units.GiB/2 {
		return ""
	}
	if names := largestOthers(c); names != "" {
		return fmt.Sprintf("Others hold %s of the card: %s.", units.Format(bytes), names)
	}
	return fmt.Sprintf("About %s of the card is neither free nor this program's.", units.Format(bytes))
}

// largestOthers names up to three processes of the message's list.
func largestOthers(c *Case) string {
	var names []string
	for _, p := range c.F().OtherProcesses {
		if p.PID != c.OurPID && p.Bytes > 0 && len(names) < 3 {
			names = append(names, fmt.Sprintf("process %d %s", p.PID, p.Text))
		}
	}
	return strings.Join(names, ", ")
}

// effectKill: what is free when the others are gone, against the request.
func effectKill(c *Case) *Effect {
	f := c.F()
	bytes, ok := held(c)
	if !ok || !c.Others.Has() || !torchFigures(c) || f.Free == nil || bytes <= 0 {
		return nil
	}
	have := f.Free.Bytes + bytes
	return &Effect{NeedBytes: f.Requested.Bytes, HaveBytes: have, Fits: have >= f.Requested.Bytes, Basis: "log", Certainty: bound,
		Note: fmt.Sprintf("%s free + %s that others hold. Exact for this request; what comes after it needs room too.%s", f.Free.Text, units.Format(bytes), alsoSmaller(c, have))}
}

// alsoSmaller says what part of the batch fits where giving back memory is not
// enough alone; weights that are loaded have no batch.
func alsoSmaller(c *Case, have int64) string {
	wanted := c.F().Requested.Bytes
	if wanted <= have || c.Phase == "load" {
		return ""
	}
	for by := int64(2); by <= 16; by *= 2 {
		if wanted/by <= have {
			return fmt.Sprintf(" Two changes together: with 1/%d of the batch as well the piece that failed is at most %s.", by, units.Format(wanted/by))
		}
	}
	return ""
}

func uselessKill(c *Case) string {
	f := c.F()
	switch {
	case !torchFigures(c):
		return ""
	case c.Root(fact.MPSAlloc):
		if f.Limit == nil {
			return ""
		}
		return "The limit counts this program's own memory only; \"other allocations\" are its own temporaries, not other programs."
	case neverFits(c) != "":
		return neverFits(c)
	case limited(c) != "":
		return limited(c)
	}
	if onlyOurselves(c) {
		return fmt.Sprintf("Process %s of the message is the one that failed, under its number outside the container: its memory is this program's own.", pidText(c.OurPID))
	}
	bytes, ok := held(c)
	switch {
	case !ok || f.Total == nil:
		return ""
	case bytes < 64*units.MiB:
		return "Nothing else holds memory of this card."
	case bytes < units.GiB && bytes*20 < f.Total.Bytes:
		return fmt.Sprintf("Others hold at most %s of the %s: there is hardly anything to win.", units.Format(bytes), f.Total.Text)
	case c.Shortfall.Has() && c.Shortfall.Bytes > bytes:
		return fmt.Sprintf("Others hold at most %s, and %s is missing.", units.Format(bytes), c.Shortfall)
	}
	return ""
}

// onlyOurselves: every process of the list is this one.
func onlyOurselves(c *Case) bool {
	for _, p := range c.F().OtherProcesses {
		if p.PID != c.OurPID && p.Bytes >= 64*units.MiB {
			return false
		}
	}
	return c.OurPID != 0
}

func stepsRestart(c *Case) []Step {
	if c.Signal("notebook") != nil {
		return []Step{{Kind: "ui", Text: "Menu Kernel (Colab: Runtime), Restart; then run only the cells that are needed, each of them once."}}
	}
	return []Step{{Kind: "text", Text: "End the program (Ctrl+C; in a notebook Kernel, Restart), see in `" + monitor(c) + "` that its memory is free, and start it again with one model only."}}
}

func uselessEmptyCache(c *Case) string {
	if c.Phase != "load" || !c.Root(fact.TorchAlloc) || !c.Slack.Has() || c.Slack.Bytes >= 300*units.MiB || c.Signal("notebook") != nil {
		return ""
	}
	return fmt.Sprintf("PyTorch gives back what it can before it raises this error: %s was reserved and not in use.", units.Format(c.Slack.Bytes))
}

func stepsSelectGPU(c *Case) []Step {
	n := otherGPU(c)
	switch c.Backend {
	case "rocm":
		return []Step{environ(c, "HIP_VISIBLE_DEVICES", fmt.Sprint(n))}
	case "xpu":
		return []Step{environ(c, "ZE_AFFINITY_MASK", fmt.Sprint(n))}
	case "npu":
		return []Step{environ(c, "ASCEND_RT_VISIBLE_DEVICES", fmt.Sprint(n))}
	case "vulkan":
		return []Step{environ(c, "GGML_VK_VISIBLE_DEVICES", fmt.Sprint(n))}
	}
	return []Step{
		{Kind: "shell", Text: "nvidia-smi --query-gpu=index,name,memory.free,memory.total --format=csv"},
		environ(c, "CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
		environ(c, "CUDA_VISIBLE_DEVICES", fmt.Sprint(n)),
	}
}

func stepsBalance(c *Case) []Step {
	if c.Training() {
		return []Step{{Kind: "python", Text: "import os, torch\n\ntorch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))   # before anything touches a GPU\ncheckpoint = torch.load(path, map_location=\"cpu\")      # not onto card 0"}}
	}
	full, other := gpu(c), otherGPU(c)
	share := int64(5)
	if t := c.F().Total; t != nil {
		share = max(t.Bytes*3/5/units.GiB, 1)
	}
	return []Step{fromPretrained(c, "", `device_map="auto"`, fmt.Sprintf("max_memory={%d: \"%dGiB\", %d: \"%dGiB\"}", full, share, other, max(share*3/2, share+1)))}
}

func stepsCloseApps(c *Case) []Step {
	switch {
	case c.Windows():
		return []Step{{Kind: "ui", Text: "Task Manager, tab Details: sort by Commit size (and Dedicated GPU memory), end what you do not need: browsers, games, other Python programs."}}
	case c.Backend == "mps" || c.Backend == "metal":
		return []Step{{Kind: "ui", Text: "Activity Monitor, tab Memory: quit what stands on top and is not needed."}}
	case onCard(c):
		return []Step{{Kind: "shell", Text: monitor(c) + "   # lists programs that use the card; close browsers, games, other AI programs"}}
	}
	return []Step{{Kind: "shell", Text: "ps -eo pid,rss,comm --sort=-rss | head -n 15   # the largest programs; close those you do not need"}}
}

// whySlack and effectSlack: what the allocator holds unused, against the
// request.
func whySlack(c *Case) string {
	if !torchFigures(c) || !c.Slack.Has() || c.Slack.Bytes < c.F().Requested.Bytes {
		return ""
	}
	return fmt.Sprintf("%s is reserved and not in use; %s was asked for.", units.Format(c.Slack.Bytes), c.F().Requested.Text)
}

func effectSlack(c *Case) *Effect {
	f := c.F()
	if !torchFigures(c) || !c.Slack.Has() || f.Free == nil || roomy(c) {
		return nil
	}
	have := c.Slack.Bytes + f.Free.Bytes
	return &Effect{NeedBytes: f.Requested.Bytes, HaveBytes: have, Fits: have >= f.Requested.Bytes, Basis: "log", Certainty: bound,
		Note: fmt.Sprintf("%s reserved and not in use + %s free: at most this much can become one piece.", units.Format(c.Slack.Bytes), f.Free.Text)}
}

// effectRemapped: what the limit of TensorFlow's allocator leaves, in pieces
// that it cannot move and CUDA's can.
func effectRemapped(c *Case) *Effect {
	f := c.F()
	if !c.Root(fact.TFAlloc) || f.Limit == nil || f.Allocated == nil || f.Requested == nil {
		return nil
	}
	have := f.Limit.Bytes - f.Allocated.Bytes
	return &Effect{NeedBytes: f.Requested.Bytes, HaveBytes: have, Fits: f.Requested.Bytes <= have, Basis: "log", Certainty: bound,
		Note: fmt.Sprintf("%s of the limit of %s was not in use: at most this much can become one piece.", units.Format(have), units.Format(f.Limit.Bytes))}
}

func uselessExpandable(c *Case) string {
	if set, ok := c.Setting("expandable_segments"); ok && set.Value == "true" {
		if c.Root(fact.CUDAError) && c.contains("driver error") { // only the calls of this option print it (c10/cuda/driver_api.h)
			return fmt.Sprintf("It is set (line %d), and this message comes from it: some boards refuse it with memory free. Try without it.", set.Line)
		}
		return fmt.Sprintf("It is set already (line %d), and it still failed: memory is really short.", set.Line)
	}
	switch {
	case !c.In("pytorch") && !torchFigures(c):
		return ""
	case c.Root(fact.CPUAlloc, fact.CommitLimit):
		return notTheCard
	case c.Backend == "cpu":
		return ""
	case c.Backend == "mps", c.Backend == "xpu":
		return notItsAllocator
	case c.Root(fact.TorchAsync):
		return asyncIgnoresIt
	}
	if why := uselessSlack(c); why != "" {
		return why
	}
	switch {
	case c.Windows():
		return "It is ignored on Windows."
	case beforeExpandable(c):
		return "It came with PyTorch 2.1, and this message is of an older version."
	}
	return ""
}

func uselessSplitSize(c *Case) string {
	switch {
	case !c.In("pytorch"):
		return ""
	case c.Root(fact.TorchAsync):
		return asyncIgnoresIt
	case c.Backend == "mps", c.Backend == "xpu":
		return notItsAllocator
	}
	return uselessSlack(c)
}

// Why options of PyTorch's caching allocator do nothing.
const (
	asyncIgnoresIt  = "This program uses CUDA's asynchronous allocator, which ignores it."
	notItsAllocator = "It is an option of PyTorch's CUDA allocator; this backend has another."
	notTheCard      = "The computer's own memory ran out; this option is about the card's."
)

// uselessSlack says why an option against fragmentation can't help: it wins
// back at most what is reserved and not in use.
func uselessSlack(c *Case) string {
	f := c.F()
	if !torchFigures(c) {
		return ""
	}
	if why := neverFits(c); why != "" {
		return why
	}
	if !c.Slack.Has() {
		return uselessSlackBound(c)
	}
	slack := units.Format(c.Slack.Bytes)
	switch {
	case roomy(c):
		return fmt.Sprintf("%s was free and %s was refused: fragments are not what was in the way.", f.Free.Text, f.Requested.Text)
	case f.Free != nil && c.Slack.Bytes+f.Free.Bytes < f.Requested.Bytes:
		return fmt.Sprintf("It can win back the %s that is reserved and not in use; with the %s free that is less than the %s asked for.", slack, f.Free.Text, f.Requested.Text)
	case c.Slack.Bytes < 300*units.MiB:
		return fmt.Sprintf("Only %s is reserved and not in use: that is all it could win back.", slack)
	}
	return ""
}

// uselessSlackBound: a message without a reserved figure still bounds it.
func uselessSlackBound(c *Case) string {
	f := c.F()
	if f.Total == nil || f.Allocated == nil {
		return ""
	}
	if rest := f.Total.Bytes - f.Allocated.Bytes; rest < f.Requested.Bytes {
		return fmt.Sprintf("At most %s of the card could be fragments, and %s was asked for.", units.Format(max(rest, 0)), f.Requested.Text)
	}
	return ""
}

func stepsUpgrade(c *Case) []Step {
	if c.In("pytorch") || len(c.Stack) == 0 {
		return []Step{
			{Kind: "shell", Text: "pip list | grep -i -E \"torch|transformers|accelerate|diffusers|bitsandbytes\"   # note what you have"},
			{Kind: "text", Text: "Update PyTorch with the command that https://pytorch.org/get-started/locally/ gives for this system: a plain `pip install torch` brings another build on Windows, AMD and Intel."},
		}
	}
	return []Step{{Kind: "text", Text: fmt.Sprintf("Install the newest release of %s (note the present one first), and look for the sentence of this log in its issue list.", c.Framework)}}
}
