package fit

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Match is what a name says.
type Match struct {
	// Model is nil when the catalogue has none that the name means for sure.
	Model *Model
	// Format as the name has it, for Weights; empty when it does not say.
	// "gguf", "exl2" and "exl3" say the kind but not the size.
	Format string
	// Parameters of the model, or read from the name when only that is known.
	Parameters int64
	// ActiveParameters of a mixture of experts, 0 when not known.
	ActiveParameters int64
	// Basis is "catalogue", "name" or "" when nothing is known.
	Basis string
}

// Find reads the name of a model as it stands in a log, a path, a repository
// id, a file name, an Ollama tag or a folder of text-generation-webui. A name
// that could mean two models matches none: then only its size is read.
func Find(name string) Match {
	var m Match
	parts := nameParts(name)
	mlx := slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(words(strings.ToLower(p)), "mlx") })
	for _, part := range parts {
		if m.Format == "" && mlx {
			m.Format = nameFormat(part + "-mlx") // mlx-community/Qwen3-8B-4bit
		} else if m.Format == "" {
			m.Format = nameFormat(part)
		}
		if m.Model == nil {
			m.Model = loadNames().find(part)
		}
		if m.Parameters == 0 {
			m.Parameters, m.ActiveParameters = nameSize(part)
		}
	}
	switch {
	case m.Model != nil:
		m.Parameters, m.ActiveParameters, m.Basis = m.Model.Parameters, m.Model.ActiveParameters, "catalogue"
	case m.Parameters > 0:
		m.Basis = "name"
	default:
		m.ActiveParameters = 0
	}
	return m
}

const longestName = 1024

// nameParts cuts a path into the parts that can name a model, best first: the
// file or folder, then its parents. Hashes, shards and cache folders say
// nothing.
func nameParts(name string) []string {
	if len(name) > longestName {
		name = name[len(name)-longestName:] // the end of a path tells most
	}
	name = strings.Trim(strings.TrimSpace(name), `"'`)
	name = strings.TrimRight(strings.ReplaceAll(name, `\`, "/"), "/")
	var parts []string
	for _, p := range strings.Split(name, "/") {
		p = strings.TrimPrefix(p, "models--")
		if cut := strings.SplitN(p, "--", 2); len(cut) == 2 {
			p = cut[1] // models--org--name of the Hugging Face cache
		}
		if p = uuid().ReplaceAllString(p, ""); p != "" && !saysNothing(p) {
			parts = append(parts, p)
		}
	}
	slices.Reverse(parts)
	if len(parts) > 4 {
		parts = parts[:4]
	}
	// Ollama's manifests: library/llama3/70b. Its tags: llama3:70b.
	if n := len(parts); n > 1 && startsWithSize(parts[0]) {
		parts[0] = parts[1] + ":" + parts[0]
	}
	return parts
}

func startsWithSize(p string) bool {
	t := tokens(p)
	return len(t) > 0 && sizeToken(t[0]) > 0
}

var nothing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:[0-9a-f]{16,64}|sha256[-:].*|snapshots|blobs|refs|main|resolve|models?|library|registry\.ollama\.ai|manifests|huggingface(?:\.co)?|hf\.co|hub|\.cache|https?:|home|root|mnt|data|workspace|opt|app|users?|` +
		`(?:diffusion_|pytorch_|adapter_|ggml-)*model(?:-\d+-of-\d+)?(?:\.\w+)*|consolidated.*|config\.json|tokenizer.*|checkpoints?|weights|unet|vae|transformer|text_encoders?)$`)
})

// uuid segments can look like sizes: 924b.
var uuid = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
})

func saysNothing(part string) bool { return nothing().MatchString(part) }

// tokens splits a name at anything but letters, digits and points inside
// numbers, lowers it, and splits words from numbers behind them: "llama3.1"
// and "Llama-3.1" are the same two tokens. Sizes and versions stay whole.
func tokens(s string) []string {
	var out []string
	for _, w := range words(strings.ToLower(s)) {
		if i := numberBehind(w); i > 0 {
			out = append(out, w[:i], w[i:])
			continue
		}
		out = append(out, w)
	}
	return out
}

// words splits at separators. A point between digits, at most three before it,
// stays, and so does an underscore behind digits alone: 1_5 and 3_3 are versions (phi-1_5, Llama-3_3).
func words(s string) []string {
	digit := func(i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }
	var out []string
	start := 0
	b := []byte(s)
	flush := func(i int) {
		if i > start {
			out = append(out, string(b[start:i]))
		}
		start = i + 1
	}
	for i := range b {
		switch c := b[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case digit(i-1) && digit(i+1) && (c == '.' && !digit(i-4) || c == '_' && i-start <= 3):
			b[i] = '.'
		default:
			flush(i)
		}
	}
	flush(len(b))
	return out
}

// numberBehind returns where the number starts in "llama3.1" or "qwen2.5", 0
// for words that are a size, a version ("v0.1"), or have letters after it.
func numberBehind(w string) int {
	i := strings.IndexAny(w, "0123456789")
	if i < 2 || noise()[w] || sizeToken(w) > 0 {
		return 0
	}
	if strings.Trim(w[i:], "0123456789.") != "" && !strings.HasSuffix(w, "vl") && !strings.HasSuffix(w, "n") {
		return 0
	}
	return i
}

// Sizes in names. What looks like one and is not: 4bit, 128g, 5bpw, h6, 8K,
// v1.2, 2407, gpt4, 3.5 - all fail to match, for the letter must end the token.
var sizePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(\d+)x)?(\d+(?:\.\d+)?)([bmt])(\d)?(?:x(\d+))?$`)
})

// sizeToken reads "7b", "0.5b", "350m", "1b7" (BLOOM), "8x7b" and "11bx2";
// 0 for anything else. A mixture counts as 0.83 of its product, for the
// experts share their attention (Mixtral 8x7B: 46.7).
func sizeToken(w string) int64 {
	if len(w) < 2 || w[0] < '0' || w[0] > '9' || !strings.ContainsAny(w, "bmt") {
		return 0
	}
	g := sizePattern().FindStringSubmatch(w)
	if g == nil {
		return 0
	}
	n, err := strconv.ParseFloat(g[2], 64)
	if d, err := strconv.ParseFloat(g[4], 64); err == nil && g[4] != "" {
		n += d / 10
	}
	unit := map[string]float64{"b": 1e9, "m": 1e6, "t": 1e12}[g[3]]
	for _, x := range []string{g[1], g[5]} {
		if k, err := strconv.ParseFloat(x, 64); err == nil {
			n *= k * 0.83
		}
	}
	n *= unit
	if err != nil || n < 1e6 || n > 4e12 {
		return 0
	}
	return int64(n)
}

var activePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([ae])(\d+(?:\.\d+)?)([bm])$`)
})

// activeToken reads "a3b" (active) and "e4b" (effective).
func activeToken(w string) (kind byte, n int64) {
	if len(w) < 3 || w[0] != 'a' && w[0] != 'e' {
		return 0, 0
	}
	g := activePattern().FindStringSubmatch(w)
	if g == nil {
		return 0, 0
	}
	return w[0], sizeToken(g[2] + g[3])
}

// nameSize returns the total and active parameters that a name states. The
// total is unknown when only the active or effective size stands there. Of
// several sizes the first counts, but a plain one wins over a mixture.
func nameSize(part string) (total, active int64) {
	mixed := false
	for _, w := range tokens(part) {
		if k, n := activeToken(w); k == 'a' {
			active = n
		} else if k == 'e' {
			return 0, 0
		}
		n := sizeToken(w)
		mix := strings.Contains(w, "x")
		if n > 0 && (total == 0 || mixed && !mix) {
			total, mixed = n, mix
		}
	}
	if total < 10e6 {
		return 0, active
	}
	return total, active
}

// nameIndex maps the tokens of ids and aliases to models.
type nameIndex struct {
	byKey   map[string]*entry
	longest int
}

var loadNames = sync.OnceValue(func() *nameIndex { return newNameIndex(loadCatalogue().entries) })

func newNameIndex(entries []*entry) *nameIndex {
	x := &nameIndex{byKey: map[string]*entry{}}
	for _, e := range entries {
		x.add(e.ID, e)
		for _, a := range e.Aliases {
			x.add(a[strings.LastIndexByte(a, '/')+1:], e)
		}
	}
	return x
}

// add files a name under its telling tokens. The first model keeps a key: the
// catalogue lists the base before those that share its name.
func (x *nameIndex) add(name string, e *entry) {
	t := telling(tokens(name))
	if len(t) == 0 {
		return
	}
	x.longest = max(x.longest, len(t))
	key := strings.Join(t, " ")
	if _, ok := x.byKey[key]; !ok {
		x.byKey[key] = e
	}
}

// noise are words that leave the shape as it is and may stand between the
// words that tell.
var noise = sync.OnceValue(func() map[string]bool {
	return wordSet(`instruct chat it hf pt sft dpo rlhf gguf ggml awq gptq exl2 exl3 mlx bnb nf4 fp4 int4 int8 fp8 fp16
	bf16 f16 f32 w4a16 w8a8 latest preview thinking reasoning safetensors bin instruction distilled deduped`)
})

// modifiers change the shape: a name that has one more than the alias is
// another model.
var modifiers = sync.OnceValue(func() map[string]bool {
	return wordSet(`distill mini small medium large nano micro lite tiny air flash vision vl omni audio moe plus pro max
	next super ultra draft eagle eagle3 embedding embed reranker reward guard tts asr xl xxl turbo h lora adapter vae
	encoder mmproj clip`)
})

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// defaultTags are names that Ollama completes with a tag. They mean a model
// only when nothing else stands there. deepseek-r1 has meant several.
var defaultTags = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"llama2": "llama-2-7b", "llama3": "llama-3-8b", "llama3.1": "llama-3.1-8b", "llama3.2": "llama-3.2-3b",
		"mistral": "mistral-7b-v0.3", "mixtral": "mixtral-8x7b", "phi3": "phi-3-mini-4k", "phi3.5": "phi-3.5-mini",
		"gemma2": "gemma-2-9b", "gemma3": "gemma-3-4b", "gemma3n": "gemma-3n-e4b", "qwen2.5": "qwen2.5-7b", "qwen3": "qwen3-8b",
		"gpt-oss": "gpt-oss-20b", "codellama": "codellama-7b", "command-r": "command-r-08-2024", "dolphin-mixtral": "mixtral-8x7b",
		"deepseek-r1": "",
	}
})

// telling drops noise, dates, versions of a fine-tune and quantisation.
// A version that tells models apart is no noise: "v2 lite" stays because the
// alias has it; so versions are dropped only from keys that stay unique.
func telling(ts []string) []string {
	var out []string
	for i, w := range ts {
		if noise()[w] || i > 0 && droppable(w) {
			continue
		}
		out = append(out, w)
	}
	return out
}

// droppable: dates ("2407", "20250514"), bit widths ("4bit", "3.5bpw", "q4",
// "iq3", "h6"), contexts and groups ("32k", "128g"). "v2" and "v3" stay, for
// DeepSeek's sake; "v0.3" stays for Mistral's.
func droppable(w string) bool {
	unit := strings.TrimLeft(w, "0123456789.")
	number := w[:len(w)-len(unit)]
	whole := number != "" && !strings.Contains(number, ".")
	switch unit {
	case "":
		return whole && (len(w) == 4 || len(w) == 6 || len(w) == 8)
	case "bit", "g", "k":
		return whole
	case "bpw":
		return number != ""
	}
	if w[0] == 'h' {
		return len(w) == 2 && isVersion(w[1:])
	}
	w = strings.TrimPrefix(w, "i")
	return len(w) > 1 && w[0] == 'q' && isVersion(w[1:2])
}

// find returns the model that a part of a name means, nil when none does
// for sure.
func (x *nameIndex) find(part string) *Model {
	if id, ok := defaultTags()[strings.TrimSuffix(part, ":latest")]; ok {
		m, _ := ModelByID(id)
		return m
	}
	whole := tokens(part)
	part = formatPattern().ReplaceAllString(strings.ToLower(part), " ")
	ts := telling(tokens(part))
	for n := min(x.longest, len(ts)); n > 0; n-- {
		for i := 0; i+n <= len(ts); i++ {
			e := x.byKey[strings.Join(ts[i:i+n], " ")]
			if e != nil && agrees(e.model(), ts[i:i+n], ts[:i], ts[i+n:]) {
				return e.variant(whole)
			}
		}
	}
	return nil
}

// agrees checks the rest of a name against a model that a run of its tokens
// named: no other size and no word that changes the shape.
func agrees(m *Model, run, before, after []string) bool {
	if len(run) == 1 && !selfTelling(run[0]) {
		return false
	}
	sized := slices.ContainsFunc(run, func(w string) bool { return sizeToken(w) > 0 })
	for _, w := range slices.Concat(before, after) {
		if modifiers()[w] {
			return false
		}
		if n := sizeToken(w); n > 0 && !sized && !near(n, m.Parameters) {
			return false
		}
		if k, n := activeToken(w); k == 'a' && m.ActiveParameters > 0 && !near(n, m.ActiveParameters) {
			return false
		} else if k == 'a' && m.ActiveParameters == 0 || k == 'e' {
			return false
		}
	}
	// A number right behind a family is its version: "gemma 2" is no "gemma".
	return sized || len(after) == 0 || !isVersion(after[0])
}

func isVersion(w string) bool { return strings.Trim(w, "0123456789.") == "" }

// selfTelling: one word names a model only if it is long and no plain word.
func selfTelling(w string) bool {
	return len(w) >= 3 && strings.Trim(w, "0123456789.") != "" && !modifiers()[w] || strings.Contains(w, "x") && sizeToken(w) > 0
}

func near(a, b int64) bool {
	r := float64(a) / float64(b)
	return r > 0.8 && r < 1.25
}
