package ollama

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/program/ggml/dialect"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Words of versions and of what stands around Ollama. They are read where a
// card names them.
var (
	// modernWords are of 0.30 (June 2026) and later, which run llama-server.
	modernWords = []string{"llama-server process has terminated", "llama-server reported out-of-memory", "llama-server startup failed", "source=llama_server.go", "starting llama-server", runtimeOOM}
	// runtimeOOM is said where a model that was loaded failed at a request.
	runtimeOOM = "runtime OOM detected"
	// ancientWords are of versions before 0.3.10 (September 2024), which keep no
	// part of a card free on demand.
	ancientWords = []string{"llama runner process no longer running", "llm/llama.cpp/ggml-cuda", `llm\llama.cpp\ggml-cuda`, "jmorganca", "unable to allocate backend buffer", "llama runner exited"}
	dockerWords  = []string{"/root/.ollama", "docker", "kubernetes", "kubepods", "container"}
	flashWords   = []string{"enabling flash attention", "FlashAttention:Enabled"}
	windowsWords = []string{"wsarecv", "wsasend"} // of its network
	langchain    = []string{"langchain", "Ollama call failed"}
	llamaIndex   = []string{"llama_index"}
	ollamaPython = []string{"ollama._types", "ollama/_client.py"}
	clients      = append(append(append([]string{}, langchain...), llamaIndex...), ollamaPython...)
)

func near(words []string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.Near(words...) }
}

// flashOn: the settings or the words of a log say so.
func flashOn(c *ledger.Case) bool {
	return dialect.FlashOn(c) || c.Near(flashWords...)
}

// quantises: a cache of gpt-oss is refused at 8 bit (2025) or ends in a crash.
func quantises(c *ledger.Case) bool {
	return !strings.Contains(strings.ToLower(c.ModelName()), "gpt-oss")
}

func modern(c *ledger.Case) bool  { return c.Near(modernWords...) }
func ancient(c *ledger.Case) bool { return c.Near(ancientWords...) }

// noReserve: the release can keep no part of a card free on demand.
func noReserve(c *ledger.Case) bool {
	return ancient(c) || era.Lacks(c, "ollama", "OLLAMA_GPU_OVERHEAD")
}

// inDocker: the folder of root alone is no proof, root may run it without Docker.
func inDocker(c *ledger.Case) bool {
	return c.Signal(fact.InContainer) != nil || c.Near(dockerWords[1:]...)
}
func byClient(c *ledger.Case) bool { return c.Near(clients...) }

// named is the model as Ollama knows it, a placeholder where the log does not
// say (a file of weights has no template) or has no name that Ollama allows: it
// stands within quotes of commands.
func named(c *ledger.Case) string {
	name := c.ModelName()
	if c.Model == nil || name == "" || strings.Contains(name, "sha256") || name[0] == '-' || strings.ContainsFunc(name, notInName) {
		return "MODELNAME"
	}
	return name
}

// notInName reports what no name of a model has (ollama/types/model/name.go).
func notInName(r rune) bool {
	return r != '.' && r != '_' && r != ':' && r != '/' && r != '-' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
}

// fitted names the copy of a model with other settings: qwen3:8b is qwen3-fit.
func fitted(c *ledger.Case) string {
	name := named(c)
	if name == "MODELNAME" {
		return "model-fit"
	}
	name = name[strings.LastIndexByte(name, '/')+1:]
	name, _, _ = strings.Cut(name, ":")
	return quote.Shell(name) + "-fit"
}

func told(format string, values ...any) step.Step {
	return step.Step{Kind: "text", Text: fmt.Sprintf(format, values...)}
}

// modelfile makes a copy of the model with other parameters: where loading
// fails, /set in the chat comes too late.
func modelfile(c *ledger.Case, parameters ...string) []step.Step {
	lines := append([]string{"FROM " + named(c)}, parameters...)
	copied := fitted(c)
	then := " && ollama run " + copied
	if ggml.WholeTexts(c) { // a model for embeddings does not chat
		then = "   # then use " + copied
	}
	for i := range parameters {
		lines[i+1] = "PARAMETER " + parameters[i]
	}
	switch {
	case inDocker(c):
		return []step.Step{{Kind: "shell", Text: fmt.Sprintf(`docker exec -it ollama sh -c "printf '%s\n' > /tmp/Modelfile && ollama create %s -f /tmp/Modelfile"`+"   # then use %[2]s", strings.Join(lines, `\n`), copied)}}
	case c.Reader.OS == "linux" || c.Reader.OS == "mac" || c.Reader.OS == "wsl":
		inside := ""
		if c.Near(dockerWords[0]) {
			inside = "   # in Docker, as " + dockerWords[0] + " suggests: docker exec -it ollama bash, then the same"
			if strings.Contains(then, "#") {
				inside = strings.Replace(inside, "   #", ";", 1)
			}
		}
		return []step.Step{{Kind: "shell", Text: fmt.Sprintf("printf '%s\\n' > Modelfile\nollama create %s -f Modelfile%s", strings.Join(lines, `\n`), copied, then) + inside}}
	}
	return []step.Step{{Kind: "modelfile", Text: fmt.Sprintf("# save this as a file named Modelfile, then run:  ollama create %s -f Modelfile%s\n", copied, then) + strings.Join(lines, "\n")}}
}

// server sets variables where they count: for the server, not for `ollama run`.
func server(c *ledger.Case, variables ...string) []step.Step {
	variables = slices.DeleteFunc(variables, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return era.Lacks(c, "ollama", name)
	})
	if len(variables) == 0 {
		return nil
	}
	each := func(before, after string) string {
		return before + strings.Join(variables, after+"\n"+before) + after
	}
	switch {
	case inDocker(c):
		return []step.Step{told("In the compose file, under Ollama's service; then `docker compose up -d` (with `docker run`: `-e NAME=VALUE` for each):"), {Kind: "config", Text: "environment:\n" + each("  - ", "")}}
	case c.Windows():
		return []step.Step{told("Quit Ollama in the tray, run this in a terminal, and start Ollama again:"), {Kind: "shell", Text: strings.ReplaceAll(each("setx ", ""), "=", " ")}}
	case c.Reader.OS == "mac":
		return []step.Step{told("Run this, then quit Ollama in the menu bar and start it again:"), {Kind: "shell", Text: strings.ReplaceAll(each("launchctl setenv ", ""), "=", " ")}}
	case c.Reader.OS == "linux":
		return []step.Step{told("Run `sudo systemctl edit ollama`, save these lines in it, then run `sudo systemctl restart ollama`%s:", map[bool]string{true: " (in Docker: `-e NAME=VALUE` for each)"}[c.Near(dockerWords[0])]), {Kind: "config", Text: "[Service]\n" + each(`Environment="`, `"`)}}
	}
	return []step.Step{
		told("Linux: `sudo systemctl edit ollama`, and add `Environment=\"NAME=VALUE\"` under `[Service]`; Windows: `setx NAME VALUE`; %sDocker: `-e NAME=VALUE`.", map[bool]string{true: "Mac: `launchctl setenv NAME VALUE`; "}[c.Backend == "metal" || c.Backend == ""]),
		{Kind: "config", Text: "# set these for the Ollama server, then restart it\n" + each("", "")},
	}
}

// room makes Ollama plan with less of the card, as its version is told that;
// older ones are told the layers.
func room(gib int64) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		switch {
		case noReserve(c):
			return layers(c)
		case modern(c):
			return server(c, fmt.Sprintf("LLAMA_ARG_FIT_TARGET=%d", (gib+1)*1024))
		}
		return server(c, fmt.Sprintf("OLLAMA_GPU_OVERHEAD=%d", gib*units.GiB))
	}
}

// planned is how the log that tells the layers is searched.
func planned(c *ledger.Case) string {
	switch {
	case inDocker(c):
		return "docker logs ollama 2>&1 | grep -i offload | tail -3"
	case c.Windows() || c.Near(windowsWords...):
		return `findstr /i offload "%LOCALAPPDATA%\Ollama\server.log"`
	case c.Reader.OS == "mac":
		return "grep -i offload ~/.ollama/logs/server.log | tail -3"
	}
	return "journalctl -u ollama | grep -i offload | tail -3"
}

// stated is that where the log says it: in its own words, or by a size that is
// so many layers of a shape.
func stated(c *ledger.Case) (keep, of int64) {
	if keep, of = ggml.LayersToKeep(c); of > 0 || c.Reader.Cards > 1 {
		return keep, of
	}
	if n := explained(c, "layers"); n > 1 && n < 200 {
		return min(n*17/20, n-1), n
	}
	return 0, 0
}

// kept is how many layers to set, of how many; of is 0 where neither log nor
// catalogue says it.
func kept(c *ledger.Case) (keep, of int64) {
	if keep, of = stated(c); of > 0 {
		return keep, of
	}
	if m := ledger.Named(c).Model; m != nil && m.Layers > 1 {
		of = int64(m.Layers) + 1
		return of * 17 / 20, of
	}
	return 0, 0
}

// layers sets the number of layers on the card: from what the log says, else
// with where to look it up.
func layers(c *ledger.Case) []step.Step {
	if keep, of := stated(c); of > 0 {
		return modelfile(c, fmt.Sprintf("num_gpu %d", keep))
	}
	keep, of := kept(c)
	if of == 0 {
		return append([]step.Step{told("Set `num_gpu` to about 15 %% less than Ollama chose, and lower it until it runs. `%s` shows how many it chose (`offloaded 29/33` or `layers.offload=29`).", planned(c))}, modelfile(c, "num_gpu 20")...)
	}
	less := "about 15 %"
	if slices.Contains(ggml.AtWork, c.Failure.Kind) { // the model was loaded: little is missing
		less, keep = "three", max(of-3, 1)
	}
	return append([]step.Step{told("Set `num_gpu` to %s less than Ollama chose, and lower it until it runs. Of %d layers that is %d; `%s` shows how many it chose.", less, of, keep, planned(c))}, modelfile(c, fmt.Sprintf("num_gpu %d", keep))...)
}

// tokens is the context to set: half of what a cache of that size is for, where
// the log does not say it.
func tokens(c *ledger.Case) int64 {
	n, of := ggml.ContextToTry(c)
	switch held := explained(c, "tokens") / ggml.Slots(c); {
	case of > 512 && n >= of: // that is set already
		return max(of/2/256*256, 512)
	case of == 0 && held >= 4096:
		return held / 2 / 1024 * 1024
	case of == 0 && slightly(c):
		return 2048 // half of the usual default
	}
	return n
}

// onProcessor: the cache lies in RAM, so no layer is on the card.
func onProcessor(c *ledger.Case) bool {
	host, card := false, false
	for _, b := range c.Facts.Buffers {
		if b.Kind == "kv" {
			inRAM := fact.HostMemory(b.Device)
			host, card = host || inRAM, card || !inRAM
		}
	}
	return host && !card
}

// explained is a factor of the bytes that were refused, 0 where they are not
// explained.
func explained(c *ledger.Case, name string) int64 {
	if c.Explained != nil {
		for _, t := range c.Explained.Terms {
			if t.Name == name {
				return t.Value
			}
		}
	}
	return 0
}

// context shortens the context where it was set: in the reader's code, else by
// a Modelfile.
func context(c *ledger.Case) []step.Step {
	n := tokens(c)
	_, of := ggml.ContextToTry(c)
	now := ""
	if of == 0 && explained(c, "tokens") == 0 && n >= 4096 { // which many versions take by themselves
		now = ", if it is longer now"
	}
	switch {
	case c.Near("homeassistant.components.ollama"):
		return []step.Step{told("In Home Assistant: Settings, Devices & services, Ollama, your conversation agent: set the context window size to %d.", n)}
	case of == 0 && explained(c, "tokens") == 0 && era.Lacks(c, "ollama", era.DefaultContext):
		return []step.Step{told("If a Modelfile, a front end or your request sets `num_ctx`, halve it. The default is 2,048 in this version.")}
	case c.Near(llamaIndex...):
		return []step.Step{told("In your code: `llm = Ollama(model=%q, context_window=%d)`%s.", named(c), n, now)}
	case c.Near(langchain...):
		return []step.Step{told("In your code: `llm = ChatOllama(model=%q, num_ctx=%d)`%s.", named(c), n, now)}
	case c.Near(ollamaPython...):
		return []step.Step{told("In your code: `ollama.chat(model=%q, messages=messages, options={\"num_ctx\": %d})`%s.", named(c), n, now)}
	case inDocker(c) && !era.Lacks(c, "ollama", "OLLAMA_CONTEXT_LENGTH"):
		since := ""
		if s := era.Since(c, "ollama", "OLLAMA_CONTEXT_LENGTH"); s != "" {
			since = " (" + s + ")"
		}
		return append([]step.Step{told("This sets it for all models%s. If a Modelfile, front end or request sets `num_ctx`, lower it there.", since)}, server(c, fmt.Sprintf("OLLAMA_CONTEXT_LENGTH=%d", n))...)
	case c.Phase == "inference" && named(c) != "MODELNAME" && !inDocker(c):
		return append([]step.Step{told("In `ollama run` type `/set parameter num_ctx %d`. To keep it, make a copy of the model:", n)}, modelfile(c, fmt.Sprintf("num_ctx %d", n))...)
	}
	if now != "" {
		return append([]step.Step{told("This helps only if the context is longer now.")}, modelfile(c, fmt.Sprintf("num_ctx %d", n))...)
	}
	return modelfile(c, fmt.Sprintf("num_ctx %d", n))
}

// withoutFlash is a context of which cache and matrix fit where the plan counted
// on flash attention: a bit less than half.
func withoutFlash(c *ledger.Case) []step.Step {
	if n, of := ggml.ContextToTry(c); of >= 4096 {
		return modelfile(c, fmt.Sprintf("num_ctx %d", min(n, of*7/16/256*256)))
	}
	return context(c)
}

// look shows what is loaded, and what memory is left.
func look(c *ledger.Case) []step.Step {
	command := "ollama ps"
	switch {
	case era.Lacks(c, "ollama", "ollama ps"): // nor does it load a second model
		command = "nvidia-smi"
		if !ledger.OnCard(c) || c.Backend != "cuda" {
			command = "free -h"
		}
	case inDocker(c):
		command = "docker exec ollama ollama ps; docker stats --no-stream"
		if ledger.OnCard(c) {
			command = "docker exec ollama ollama ps; nvidia-smi"
		}
	case (ggml.Shared(c) || pinned(c)) && c.Reader.OS == "linux":
		command = "ollama ps; free -h"
	case c.Reader.OS == "linux" && ledger.OnCard(c) && c.Backend == "rocm":
		command = "ollama ps; rocm-smi --showmeminfo vram gtt; free -h"
	case ledger.OnCard(c) && c.Backend == "cuda" && c.Reader.OS != "mac" && !pinned(c):
		command = "ollama ps; nvidia-smi"
		if c.Windows() {
			command = "ollama ps && nvidia-smi"
		}
	case c.Reader.OS == "linux":
		command = "ollama ps; free -h"
	}
	return []step.Step{{Kind: "shell", Text: command}}
}

func lookThen(c *ledger.Case, then string) []step.Step {
	return append([]step.Step{told("%s", then)}, look(c)...)
}
