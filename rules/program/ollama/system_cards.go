package ollama

import (
	"cmp"
	"fmt"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

var (
	denied      = []fact.Kind{fact.OllamaSystem}
	systemFiles = []string{"ollama/llm/server.go", threads + "6918", threads + "7013", threads + "13556"}
)

func manyRequests(c *ledger.Case) bool {
	return ledger.IntSetting(c, "parallel", "ollama_num_parallel") > 1 || ggml.Slots(c) > 1
}

// likes are models that people run, with what Ollama's plain tag takes.
var likes = []size{{"", 671, 404e9}, {"", 235, 142e9}, {"", 120, 65e9}, {"", 70, 43e9}, {"", 32, 20e9}, {"", 14, 93e8}, {"", 8, 52e8}, {"", 4, 28e8}}

// shape says whether weights or context make what is asked for: by the model's
// name, else by which model is as large.
func shape(c *ledger.Case) string {
	need := ledger.SizeOf(c.F().SystemRequired)
	if full, card, weights, cache := amountOf(c, "plan_full"), amountOf(c, "plan_partial"), amountOf(c, "plan_weights"), amountOf(c, "plan_kv"); full != "" && card != "" && weights != "" && cache != "" {
		return fmt.Sprintf("By its plan the model takes %s in all: %s of weights, %s of cache, the rest is working memory; %s of that goes to the card.", full, weights, cache, card)
	}
	if m := ledger.Named(c); m.Parameters > 0 {
		format, bits := m.Format, "in "+m.Format
		if format == "" {
			format, bits = "Q4_K_M", "at 4 bit"
		}
		if w, ok := fit.WeightBytes(m.Parameters, format); ok && named(c) != "MODELNAME" {
			switch {
			case w*2 <= need:
				return fmt.Sprintf("%s takes only about %s %s: the rest is context, times the requests that are served at once.", named(c), units.Amount(w), bits)
			case w*4 >= need*3:
				return fmt.Sprintf("%s takes about %s %s, so it is the weights, not the context.", named(c), units.Amount(w), bits)
			}
			return fmt.Sprintf("%s takes about %s %s; context and working memory come on top.", named(c), units.Amount(w), bits)
		}
	}
	for _, s := range likes {
		if s.bytes*95/100 <= need && need <= s.bytes*6/5 {
			return fmt.Sprintf("That much is a %dB model at 4 bit with a short context, or a smaller one with a long context or several requests at once.", s.params)
		}
	}
	return "Weights that large, or a smaller model with a long context or several requests at once: the line does not tell."
}

// halfShort: closing programs does not give that much.
func halfShort(c *ledger.Case) bool {
	return checked(c) && missing(c)*4 > c.F().SystemAvailable.Bytes*3
}

// contextHeavy: the model that is named takes at most half of what is asked for;
// the rest is context.
func contextHeavy(c *ledger.Case) bool {
	m := ledger.Named(c)
	w, ok := fit.WeightBytes(m.Parameters, cmp.Or(m.Format, "Q4_K_M"))
	return m.Parameters > 0 && ok && named(c) != "MODELNAME" && w*2 <= ledger.SizeOf(c.F().SystemRequired)
}

// systemFigures are what the sentences about Ollama's check name.
func systemFigures(c *ledger.Case) map[string]string {
	have := ledger.SizeOf(c.F().SystemAvailable)
	out := map[string]string{
		"lack": "less than 0.1 GiB", "shape": shape(c), "ram": amountOf(c, "ram_free"), "all": amountOf(c, "ram_total"), "swap": amountOf(c, "swap_free"),
		"small": fmt.Sprintf("%d GB", have*7/10/1e9), "slots": fmt.Sprint(ggml.Slots(c)), "saved": fmt.Sprint(100 - 100/ggml.Slots(c)), "limit": fmt.Sprintf("%dg", limitGiB(c)),
	}
	if out["compared"] = "what does not go to a GPU (weights, context, working memory) with free RAM and swap"; c.Contains("too large for this system") { // 0.3 to 0.5
		out["compared"] = "what the model needs in all with what this system has left"
	}
	if m := missing(c); m >= units.GiB/20 {
		out["lack"] = c.Shortfall.String()
	}
	if byClient(c) {
		out["client"] = "The error comes from the Ollama server."
	}
	return out
}

const (
	checks  = "Before it loads, Ollama compares {compared}[[: {ram} of {all} RAM was free, and {swap} of swap]]. "
	noSwap  = "A limit of the container, WSL or VM counts as all there is: raise it if the machine has more. Swap passes this check too, and is very slow."
	noLayer = "Fewer layers on the GPU: they would need more RAM, not less."
)

var (
	unload = does("close_other_apps", "See what else is loaded, and unload it",
		"A model stays loaded for 5 minutes after its last use, embedding models too; `ollama stop NAME` frees it at once. Then close browsers and other AI programs.", "free", look)
	raise   = says("raise_memory_limit", "In a container, pod or VM: raise its memory limit", "Docker: `docker update --memory {limit} --memory-swap {limit} NAME`; compose: `mem_limit: {limit}`; Kubernetes: `resources.limits.memory` of the deployment; Docker Desktop and WSL: the VM's memory. That limit counts as all there is.", "only if the machine has it")
	shorten = does("lower_context", "If the model's file is well below {small}: shorten the context",
		"Most of the rest is then context. `OLLAMA_NUM_PARALLEL=1` for the server makes it for one request only; `OLLAMA_FLASH_ATTENTION=1` with `OLLAMA_KV_CACHE_TYPE=q8_0` about halves its cache.", "shorter conversations", context)
	takeLess = as("use_smaller_model", "Use a smaller model or quantisation", "lower quality")
)

// inContainer is the card of a server in a container, which words or the log's
// prefixes show.
func inContainer(id string, said []string, holds func(*ledger.Case) bool) cause.Card {
	if holds == nil {
		holds = checked
	}
	return cause.Card{
		ID: id, Kinds: denied, Said: said, If: when.All(checked, holds), Figures: systemFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "refused to load the model: {lack} of system memory short in its container",
		Means: checks + "{shape} In a container {room} is the container's limit, or that of Docker Desktop's virtual machine (usually half of the RAM), not the machine's memory.",
		Not:   noLayer,
		Cures: []cause.Cure{
			does("raise_memory_limit", "Raise the memory limit of the container or Docker's VM", "Docker Desktop: Settings, Resources, Memory limit; with its WSL engine `memory=16GB` below `[wsl2]` in the file .wslconfig of your user folder, then `wsl --shutdown`. Docker without Desktop: the container's own limit:", "only if the machine has it", func(c *ledger.Case) []step.Step {
				return []step.Step{{Kind: "shell", Text: fmt.Sprintf("docker update --memory %dg --memory-swap %[1]dg ollama", limitGiB(c))}}
			}),
			as("use_smaller_model", "Use a smaller model", "lower quality"),
			does("lower_context", "Shorten the context, if you set a long one", "", "shorter conversations", context),
		},
		Sources: []string{"ollama/llm/server.go", threads + "7423"},
	}
}

// composed: docker compose printed the log.
func composed(c *ledger.Case) bool { return c.Signal(fact.InContainer) != nil }

// taken: the machine's RAM would hold the model if it were free, and half of it
// is not.
func taken(c *ledger.Case) bool {
	all, free, need := ledger.Sized(c, "ram_total"), ledger.Sized(c, "ram_free"), ledger.SizeOf(c.F().SystemRequired)
	return all > 0 && free > 0 && free*2 < all && all > need+2*units.GiB
}

func takenFigures(c *ledger.Case) map[string]string {
	out := systemFigures(c)
	out["used"] = units.Amount(ledger.Sized(c, "ram_total") - ledger.Sized(c, "ram_free"))
	return out
}

// swapGiB is what is missing and a quarter more, in steps of 8.
func swapGiB(c *ledger.Case) int64 {
	return (missing(c)*5/4/units.GiB/8 + 1) * 8
}

func onLinux(c *ledger.Case) bool { return c.Reader.OS == "" || c.Reader.OS == "linux" }

// holders shows what holds the machine's RAM.
func holders(c *ledger.Case) []step.Step {
	if !onLinux(c) {
		return look(c)
	}
	return []step.Step{{Kind: "shell", Text: "free -h; ollama ps; ps aux --sort=-rss | head; df -h -t tmpfs; grep Huge /proc/meminfo"}}
}

var systemCards = []cause.Card{
	{
		ID: "ollama/system-parallel", Kinds: denied, If: manyRequests, Figures: systemFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "refused to load the model: {lack} of system memory short",
		Means: checks + "The server makes room for {slots} requests at once, so that the context counts {slots} times in the {asked}.",
		Not:   noLayer, Later: noSwap,
		Cures: []cause.Cure{
			does("lower_parallel", "Serve one request at a time", "It takes {saved} % off the context's part of that sum.", "others wait", func(c *ledger.Case) []step.Step {
				return server(c, "OLLAMA_NUM_PARALLEL=1", "OLLAMA_MAX_LOADED_MODELS=1")
			}),
			does("lower_context", "Shorten the context", "", "shorter conversations", context), unload,
		},
		Sources: []string{"ollama/server/sched.go", threads + "7423"},
	},
	{
		ID: "ollama/system-taken", Kinds: denied, If: when.All(checked, taken, when.Not(slightly)), Figures: takenFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "refused to load the model: {lack} of system memory short, and {used} is in use by others",
		Means: checks + "The machine's {all} would hold the {asked}, but something else uses it; reclaimable file cache counts as free. {shape}",
		Not:   noLayer, Later: "In a container its limit counts as all there is, if it has one.",
		Cures: []cause.Cure{
			does("close_other_apps", "Find what holds the {used}, and stop it", "Other models (`ollama ps`, then `ollama stop NAME`), programs, files in RAM (tmpfs, `/dev/shm`), huge pages; the ZFS cache counts as used too.", "free", holders),
			either(onLinux, does("add_swap", "Add swap for the rest", "", "slow where it is used", func(c *ledger.Case) []step.Step {
				return []step.Step{{Kind: "shell", Text: fmt.Sprintf("sudo fallocate -l %[1]dG /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", swapGiB(c))}}
			})),
			takeLess,
		},
		Sources: systemFiles,
	},
	inContainer("ollama/system-container", dockerWords, nil), inContainer("ollama/system-compose", nil, composed),
	{
		ID: "ollama/system-slightly", Kinds: denied, If: slightly, Figures: systemFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "refused to load the model: {lack} of system memory short",
		Means: checks + "{asked} and {room} are rounded, and {lack} is missing: whatever frees a little is enough.[[ {client}]] It is RAM that is short, even if there is a GPU.",
		Not:   noLayer, Later: noSwap,
		Cures: []cause.Cure{
			does("close_other_apps", "Unload other models, close a browser, try again", "A model stays loaded for 5 minutes after its last use, embedding models too; `ollama stop NAME` frees it at once.", "free", look),
			raise,
			does("lower_context", "Shorten the context", "Unset it is 2048 before 0.6.7 and 4096 up to 0.15.4. With `OLLAMA_NUM_PARALLEL=1` for the server it is made for one request only.", "shorter conversations", context),
			as("use_smaller_model", "Use a smaller model", "lower quality"),
		},
		Sources: systemFiles,
	},
	{
		ID: "ollama/system-hopeless", Kinds: denied, If: hopeless, Figures: systemFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "refused to load the model: it needs {asked} of system memory, {room} is free",
		Means: checks + "{shape}[[ {client}]] More than twice of what is free is missing.",
		Not:   "Swap for the rest: answers become extremely slow.",
		Cures: []cause.Cure{
			either(when.Not(contextHeavy), as("use_smaller_model", "Use a smaller model", "lower quality")),
			does("lower_context", "If its file is well below {small}: shorten the context", "`ollama list` shows the size. Some programs ask for 128k tokens and more by themselves.", "shorter conversations", context),
			says("bigger_gpu", "Run it on another computer", "A computer with {asked} of RAM and GPU memory together, or one of Ollama's cloud models (tags with `-cloud`).", "money, or your text leaves the computer"),
		},
		Sources: systemFiles,
	},
	{
		// Home Assistant sends a context window with each request, 8192 tokens by
		// default (homeassistant/components/ollama/const.py).
		ID: "ollama/home-assistant", Kinds: denied, If: checked, Said: []string{"homeassistant.components.ollama"}, Figures: systemFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "refused to load the model: {lack} of system memory short",
		Means: checks + "{shape} Home Assistant asks for a context window of its own with each request (8,192 tokens by default in newer versions), which takes part of that memory.",
		Not:   noLayer, Later: noSwap,
		Cures: []cause.Cure{
			either(halfShort, takeLess),
			does("lower_context", "Lower the context window that Home Assistant asks for", "", "it forgets earlier", context),
			unload, takeLess,
		},
		Sources: append([]string{"homeassistant/components/ollama/const.py"}, systemFiles...),
	},
	{
		ID: "ollama/system", Kinds: denied, If: checked, Figures: systemFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "refused to load the model: {lack} of system memory short",
		Means: checks + "{shape}[[ {client}]] `ollama list` shows how large a model is, `ollama ps` what is loaded.",
		Not:   noLayer, Later: noSwap,
		Cures:   []cause.Cure{either(when.All(halfShort, when.Not(contextHeavy)), takeLess), either(contextHeavy, shorten), unload, either(when.Not(contextHeavy), shorten), either(when.Not(when.All(halfShort, when.Not(contextHeavy))), takeLess)},
		Sources: systemFiles,
	},
	{
		ID: "ollama/system-engine", Kinds: denied, If: when.Not(checked),
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "refused to load the model: system memory (RAM) is short",
		Means: "Before it loads, Ollama adds up what does not fit on a GPU and finds that free RAM and swap do not hold it. This line has no figures; the server's log has them in its line `model request too large for system`.",
		Not:   noLayer,
		Cures: []cause.Cure{
			unload,
			does("lower_context", "Shorten the context, if you set a long one", "", "shorter conversations", context),
			as("use_smaller_model", "Use a smaller model", "lower quality"),
		},
		Sources: []string{"ollama/llm/server.go"},
	},
}
