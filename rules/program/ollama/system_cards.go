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
	need, have := ledger.SizeOf(c.F().SystemRequired), ledger.SizeOf(c.F().SystemAvailable)
	if full, card, weights, cache := amountOf(c, "plan_full"), amountOf(c, "plan_partial"), amountOf(c, "plan_weights"), amountOf(c, "plan_kv"); full != "" && card != "" && weights != "" && cache != "" {
		return fmt.Sprintf("Ollama counts %s for this model: %s of weights, %s of KV cache, the rest is working memory. %s of that goes to the GPU.", full, weights, cache, card)
	}
	if m := ledger.Named(c); m.Parameters > 0 {
		format, bits := m.Format, "in "+m.Format
		if format == "" {
			format, bits = "Q4_K_M", "at 4 bit"
		}
		if w, ok := fit.WeightBytes(m.Parameters, format); ok && named(c) != "MODELNAME" {
			switch {
			case w*2 <= need:
				return fmt.Sprintf("%s takes only about %s %s. The rest is the context, times the number of parallel requests.", named(c), units.Amount(w), bits)
			case w*4 >= need*3 && w <= have:
				return fmt.Sprintf("%s takes about %s %s. The other %s is context, working memory and, if it reads images, its image part.", named(c), units.Amount(w), bits, units.Amount(need-w))
			case w*4 >= need*3:
				return fmt.Sprintf("%s takes about %s %s, so it is the weights, not the context.", named(c), units.Amount(w), bits)
			}
			return fmt.Sprintf("%s takes about %s %s. Context and working memory come on top.", named(c), units.Amount(w), bits)
		}
	}
	for _, s := range likes {
		if s.bytes*95/100 <= need && need <= s.bytes*6/5 {
			return fmt.Sprintf("A %dB model at 4 bit needs that much, or a smaller one with a long context or several parallel requests.", s.params)
		}
	}
	return "The model itself may be that large, or its context is long; the line does not say."
}

// oneSaves is what the context of all other requests takes, 0 where the log does
// not say it; oneTooLittle: more than that is missing.
func oneSaves(c *ledger.Case) int64 {
	n := ggml.Slots(c)
	return ledger.Sized(c, "plan_kv") * (n - 1) / n
}

func oneTooLittle(c *ledger.Case) bool { s := oneSaves(c); return s > 0 && s < missing(c) }

// halfShort: closing programs does not give that much.
func halfShort(c *ledger.Case) bool {
	return checked(c) && missing(c)*4 > c.F().SystemAvailable.Bytes*3
}

// fileOver and fileFits hold the weights of the model that is named against what
// is available; neither holds where no model is.
func fileOver(c *ledger.Case) bool {
	w := fileBytes(c)
	return checked(c) && w > ledger.SizeOf(c.F().SystemAvailable)
}

func fileFits(c *ledger.Case) bool { return fileBytes(c) > 0 && !fileOver(c) }

func fileBytes(c *ledger.Case) int64 {
	m := ledger.Named(c)
	w, ok := fit.WeightBytes(m.Parameters, cmp.Or(m.Format, "Q4_K_M"))
	if m.Parameters == 0 || !ok || named(c) == "MODELNAME" {
		return 0
	}
	return w
}

// contextHeavy: the model that is named takes at most half of what is asked for;
// the rest is context.
func contextHeavy(c *ledger.Case) bool {
	w := fileBytes(c)
	return w > 0 && w*2 <= ledger.SizeOf(c.F().SystemRequired)
}

// systemFigures are what the sentences about Ollama's check name.
func systemFigures(c *ledger.Case) map[string]string {
	have := ledger.SizeOf(c.F().SystemAvailable)
	out := map[string]string{
		"lack": "less than 0.1 GiB", "shape": shape(c), "ram": amountOf(c, "ram_free"), "all": amountOf(c, "ram_total"), "swap": amountOf(c, "swap_free"),
		"small": fmt.Sprintf("%d GB", have*7/10/1e9), "slots": fmt.Sprint(ggml.Slots(c)), "saved": fmt.Sprintf("%d %% of what the context needs", 100-100/ggml.Slots(c)), "limit": fmt.Sprintf("%dg", limitGiB(c)), "vm": fmt.Sprintf("%dGB", limitGiB(c)+2),
	}
	if saves := oneSaves(c); saves > 0 {
		out["saved"] = "about " + units.Amount(saves)
	}
	if out["bound"] = "The " + units.Amount(have) + " is"; out["all"] != "" {
		out["bound"] = "Of " + out["all"] + ", " + units.Amount(have) + " is free. The whole is"
	}
	if out["compared"] = "everything that is not on a GPU fits into free RAM and swap"; c.Contains("too large for this system") { // 0.3 to 0.5
		out["compared"] = "the whole model fits into what this system has left"
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
	checks     = "Before it loads a model, Ollama checks that {compared}.[[ {ram} of {all} RAM was free, and {swap} of swap.]] "
	noSwap     = "In a container, WSL or a VM its own memory limit counts; raise it if the machine has more. Swap also passes this check, but is very slow."
	shortenHow = "Set `OLLAMA_NUM_PARALLEL=1` for the server and a lower `num_ctx`. `OLLAMA_FLASH_ATTENTION=1` with `OLLAMA_KV_CACHE_TYPE=q8_0` about halves the KV cache."
	noLayer    = "Fewer layers on the GPU: they would need more RAM, not less."
)

var (
	unload = does("close_other_apps", "See what else is loaded, and unload it",
		"A model stays loaded for 5 minutes after its last use, embedding models too. `ollama stop NAME` unloads it at once. Then close browsers and other AI programs.", "free", look)
	raise   = says("raise_memory_limit", "In a container, pod or VM: raise its memory limit", "Docker: `docker update --memory {limit} --memory-swap {limit} NAME`; compose: `mem_limit: {limit}`; Kubernetes: `resources.limits.memory`; Docker Desktop and WSL: the VM's memory.", "only if the machine has it")
	shorten = does("lower_context", "If the model's file is well below {small}: shorten the context",
		"Then most of the rest is context. "+shortenHow, "shorter conversations", context)
	shorterFits = does("lower_context", "Shorten the context", shortenHow, "shorter conversations", context)
	takeLess    = as("use_smaller_model", "Use a smaller model or quantisation", "lower quality")
)

// inContainer is the card of a server in a container, which words or the log's
// prefixes show.
func inContainer(id string, said []string, holds func(*ledger.Case) bool) cause.Card {
	if holds == nil {
		holds = checked
	}
	return cause.Card{
		ID: id, Kinds: denied, Said: said, If: when.All(checked, holds), Figures: systemFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "refused to load the model: {lack} of system memory (RAM) is missing in its container",
		Means: checks + "{shape} {bound} what the container may use: its own limit, or that of Docker Desktop's virtual machine (usually half of the RAM).",
		Not:   noLayer,
		Cures: []cause.Cure{
			does("raise_memory_limit", "Raise the memory limit of the container or Docker's VM", "Docker Desktop: Settings, Resources, Memory limit. With WSL: set `memory={vm}` under `[wsl2]` in the file .wslconfig in your user folder, then `wsl --shutdown`. Docker on Linux:", "only if the machine has it", func(c *ledger.Case) []step.Step {
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
		ID: "ollama/system-parallel", Kinds: denied, If: when.All(checked, manyRequests), Figures: systemFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "refused to load the model: {lack} of system memory (RAM) is missing",
		Means: checks + "The server reserves the context for {slots} requests at the same time, so it counts {slots} times.",
		Not:   noLayer, Later: noSwap,
		Cures: []cause.Cure{
			either(oneTooLittle, takeLess),
			does("lower_parallel", "Serve one request at a time", "That saves {saved}.", "others wait", func(c *ledger.Case) []step.Step {
				return server(c, "OLLAMA_NUM_PARALLEL=1", "OLLAMA_MAX_LOADED_MODELS=1")
			}),
			does("lower_context", "Shorten the context", "", "shorter conversations", context), unload,
		},
		Sources: []string{"ollama/server/sched.go", threads + "7423"},
	},
	{
		ID: "ollama/system-taken", Kinds: denied, If: when.All(checked, taken, when.Not(slightly)), Figures: takenFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "refused to load the model: {lack} of system memory (RAM) is missing, and {used} is in use",
		Means: checks + "The machine's {all} would be enough, but something else uses it (cached files count as free). {shape}",
		Not:   noLayer, Later: "In a container its own memory limit counts, if it has one.",
		Cures: []cause.Cure{
			does("close_other_apps", "Find what uses the {used}, and stop it", "Look for other models (`ollama stop NAME`), programs, files in RAM (tmpfs, `/dev/shm`) and huge pages. The ZFS cache counts as used too.", "free", holders),
			either(onLinux, does("add_swap", "Add swap for the rest", "", "slow once it is used", func(c *ledger.Case) []step.Step {
				return []step.Step{{Kind: "shell", Text: fmt.Sprintf("sudo fallocate -l %[1]dG /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", swapGiB(c))}}
			})),
			takeLess,
		},
		Sources: systemFiles,
	},
	inContainer("ollama/system-container", dockerWords, nil), inContainer("ollama/system-compose", nil, composed),
	{
		ID: "ollama/system-slightly", Kinds: denied, If: slightly, Figures: systemFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "refused to load the model: {lack} of system memory (RAM) is missing",
		Means: checks + "Only a little is missing, so freeing a little RAM is enough.[[ {client}]] This is about RAM, even if you have a GPU.",
		Not:   noLayer, Later: noSwap,
		Cures: []cause.Cure{
			does("close_other_apps", "Unload other models, close a browser, try again", "A model stays loaded for 5 minutes after its last use, embedding models too. `ollama stop NAME` unloads it at once.", "free", look),
			raise,
			does("lower_context", "Shorten the context", "The default is 2048 before 0.6.7 and 4096 up to 0.15.4. Also set `OLLAMA_NUM_PARALLEL=1` for the server, so that it counts only once.", "shorter conversations", context),
			as("use_smaller_model", "Use a smaller model", "lower quality"),
		},
		Sources: systemFiles,
	},
	{
		ID: "ollama/system-hopeless", Kinds: denied, If: hopeless, Figures: systemFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "refused to load the model: it needs {asked} of system memory, {room} is free",
		Means: checks + "{shape}[[ {client}]] No setting makes up for that much.",
		Not:   "Swap for the rest: answers become extremely slow.",
		Cures: []cause.Cure{
			either(when.Not(contextHeavy), as("use_smaller_model", "Use a smaller model", "lower quality")),
			either(when.Not(fileOver), does("lower_context", "If its file is well below {small}: shorten the context", "`ollama list` shows the size. Some programs ask for 128k tokens and more by default.", "shorter conversations", context)),
			says("bigger_gpu", "Run it on another computer", "It needs about {asked} of RAM and GPU memory together. Or use one of Ollama's cloud models (tags with `-cloud`).", "money, or your text leaves the computer"),
		},
		Sources: systemFiles,
	},
	{
		// Home Assistant sends a context window with each request, 8192 tokens by
		// default (homeassistant/components/ollama/const.py).
		ID: "ollama/home-assistant", Kinds: denied, If: checked, Said: []string{"homeassistant.components.ollama"}, Figures: systemFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "refused to load the model: {lack} of system memory (RAM) is missing",
		Means: checks + "{shape} Home Assistant sends its own context window with each request (8,192 tokens by default in newer versions).",
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
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "refused to load the model: {lack} of system memory (RAM) is missing",
		Means: checks + "{shape}[[ {client}]] This is about RAM, even if you have a GPU.",
		Not:   noLayer, Later: noSwap,
		Cures:   []cause.Cure{either(when.All(halfShort, when.Not(contextHeavy)), takeLess), either(contextHeavy, shorterFits), unload, either(when.All(fileFits, when.Not(contextHeavy)), shorterFits), either(when.Not(when.Any(fileFits, fileOver, contextHeavy)), shorten), either(when.Not(when.All(halfShort, when.Not(contextHeavy))), takeLess)},
		Sources: systemFiles,
	},
	{
		ID: "ollama/system-engine", Kinds: denied, If: when.Not(checked),
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "refused to load the model: too little system memory (RAM)",
		Means: "Everything that does not fit on a GPU must fit into free RAM and swap, and it does not. The server's log has the figures, in the line `model request too large for system`.",
		Not:   noLayer,
		Cures: []cause.Cure{
			unload,
			does("lower_context", "Shorten the context, if you set a long one", "", "shorter conversations", context),
			as("use_smaller_model", "Use a smaller model", "lower quality"),
		},
		Sources: []string{"ollama/llm/server.go"},
	},
}
