package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/render"
)

// fitOptions are what `oomdoc fit` is asked for.
type fitOptions struct {
	options
	gpu, vram, contexts, formats string
	kvType, flash, engine        string
	engineVersion                string
	parallel, ubatch             int
	json                         bool
}

func (o *fitOptions) define(fs *flag.FlagSet) {
	fs.StringVar(&o.vram, "vram", "", "how much memory the card has, such as `SIZE` 8GiB")
	fs.StringVar(&o.gpu, "gpu", "", "the card's `NAME`, such as \"RTX 3060\" or 2x3090; without, what nvidia-smi shows")
	fs.StringVar(&o.contexts, "context", "", "tokens of context, `N` or N,N,...")
	fs.StringVar(&o.formats, "format", "", "only these formats, `F` or F,F,...: Q4_K_M, bf16, awq-int4, nf4...")
	fs.StringVar(&o.kvType, "kv-type", "", "type of the KV cache, `T`: f16, q8_0, q4_0, fp8")
	fs.StringVar(&o.flash, "flash-attn", "on", "flash attention, `on or off`")
	fs.IntVar(&o.parallel, "parallel", 1, "`N` requests at once")
	fs.IntVar(&o.ubatch, "ubatch", 0, "llama.cpp's physical batch, `N` tokens; 512 if not given")
	fs.StringVar(&o.engine, "engine", "", "`llama.cpp, ollama, vllm or transformers`")
	fs.StringVar(&o.engineVersion, "engine-version", "", "its version `V`, such as b5400; the newest if not given")
	fs.BoolVar(&o.json, "json", false, "write JSON")
	fs.StringVar(&o.color, "color", "auto", "`auto, always or never`")
	fs.StringVar(&o.theme, "theme", "auto", "colours for a `dark or light` terminal")
	fs.IntVar(&o.width, "width", widthAuto, "wrap at `N` columns, 0 not at all")
	fs.BoolVar(&o.help, "help", false, "print this help")
	fs.BoolVar(&o.help, "h", false, "")
}

const fitHead = `oomdoc fit says what of a model fits a graphics card. It works offline.

Usage:
  oomdoc fit MODEL [flags]   formats by context; MODEL is a name, a repository,
                             a GGUF file, or a folder or file of a checkpoint
  oomdoc fit [flags]         models that run well on the card

Examples:
  oomdoc fit llama-3.1-8b --gpu "RTX 4060"
  oomdoc fit Qwen/Qwen3-32B --vram 24GiB --context 32768 --kv-type q8_0
  oomdoc fit qwen2.5-7b --gpu A10 --engine vllm --json
  oomdoc fit ./model.gguf
  oomdoc fit --vram 12GiB

Flags:
`

// fit is the subcommand.
func (s *session) fit(ctx context.Context, args []string) error {
	o := &fitOptions{options: options{format: "markdown"}}
	files, err := readFlags("oomdoc fit", o.define, args)
	if err != nil {
		return err
	}
	if o.help {
		return s.print([]byte(fitHead + flagHelp(o.define)))
	}
	request, err := o.request()
	if err != nil {
		return err
	}
	var notes []string
	if request.Card == "" && request.VRAM == 0 {
		notes = s.ownCard(ctx, &request)
	}
	switch len(files) {
	case 0:
		return s.fitCard(request, o)
	case 1:
		return s.fitModel(files[0], request, notes, o)
	}
	return trouble("fit takes one model, not %d; put a name with blanks into quotes", len(files))
}

// Sizes beyond these are slips of the keyboard.
const (
	smallestCard   = 256 * units.MiB
	largestCard    = 16 * units.TiB
	longestContext = 1 << 27
)

// request checks the flags.
func (o *fitOptions) request() (fit.Request, error) {
	r := fit.Request{Card: o.gpu}
	r.Engine, r.KVType, r.Parallel, r.UBatch, r.Version = o.engine, o.kvType, o.parallel, o.ubatch, o.engineVersion
	if err := o.check(); err != nil {
		return r, err
	}
	if engines := []string{"llama.cpp", "ollama", "vllm", "transformers"}; o.engine != "" && !slices.Contains(engines, o.engine) {
		return r, trouble("--engine %q is not known; use %s", o.engine, strings.Join(engines, ", "))
	}
	if !slices.Contains([]string{"on", "off"}, o.flash) {
		return r, trouble("--flash-attn %q is not known; use on or off", o.flash)
	}
	r.NoFlashAttention = o.flash == "off"
	if o.parallel < 1 || o.parallel > 1<<16 || o.ubatch < 0 || o.ubatch > 1<<20 {
		return r, trouble("--parallel and --ubatch are counts of one and more")
	}
	if o.vram != "" {
		n, ok := units.Parse(o.vram)
		if !ok || n < smallestCard || n > largestCard {
			return r, trouble("--vram %q is no size of a card; say it as in 8GiB or 8192MiB", o.vram)
		}
		r.VRAM = n
	}
	for part := range strings.SplitSeq(o.contexts, ",") {
		if o.contexts == "" {
			break
		}
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > longestContext {
			return r, trouble("--context %q is no number of tokens; say it as in 8192 or 4096,32768", o.contexts)
		}
		r.Contexts = append(r.Contexts, n)
	}
	if o.formats != "" {
		for part := range strings.SplitSeq(o.formats, ",") {
			r.Formats = append(r.Formats, strings.TrimSpace(part))
		}
	}
	return r, nil
}

// fitModel answers for one model.
func (s *session) fitModel(name string, r fit.Request, notes []string, o *fitOptions) error {
	more, err := openModel(name, &r)
	if err != nil {
		return err
	}
	p, err := fit.NewPlan(r)
	if err != nil {
		return wrongRequest(err, r)
	}
	p.Command = named(p, name, r)
	p.Notes = append(append(p.Notes, more...), notes...)
	if o.json {
		return s.printJSON(p)
	}
	layout, colored := s.layout(&o.options)
	return s.printMarkdown(render.Plan(p, layout).Markdown(layout), colored, &o.options)
}

// fitCard answers what runs well on a card.
func (s *session) fitCard(r fit.Request, o *fitOptions) error {
	if r.Card == "" && r.VRAM == 0 {
		return trouble("fit needs a model or a card: oomdoc fit llama-3.1-8b, or oomdoc fit --vram 8GiB (nvidia-smi shows no card here)")
	}
	if len(r.Contexts) > 0 {
		r.Setting.Context = slices.Max(r.Contexts)
	}
	list, card, err := fit.Choices(r)
	if err != nil {
		return wrongRequest(err, r)
	}
	wanted := cmp.Or(r.Setting.Context, 8192)
	if o.json {
		return s.printJSON(fitting{Schema: "oomdoc.fit.models.v1", Card: card, Engine: cmp.Or(r.Engine, "llama.cpp"), Context: wanted, Models: list})
	}
	layout, colored := s.layout(&o.options)
	return s.printMarkdown(render.Choices(list, card, wanted).Markdown(layout), colored, &o.options)
}

// fitting is the JSON of `oomdoc fit` without a model.
type fitting struct {
	Schema  string        `json:"schema"`
	Card    *fit.PlanCard `json:"card"`
	Engine  string        `json:"engine"`
	Context int           `json:"context"`
	Models  []fit.Choice  `json:"models"`
}

// wrongRequest says what to write instead.
func wrongRequest(err error, r fit.Request) error {
	r.Model, r.Card = shortened(r.Model), shortened(r.Card)
	switch {
	case errors.Is(err, fit.ErrModel):
		if near := fit.Near(r.Model); len(near) > 0 {
			return trouble("there is no model %q in the catalogue; near are %s", r.Model, strings.Join(near, ", "))
		}
		return trouble("there is no model %q in the catalogue, and its name tells no size; give one such as llama-3.1-8b, some-name-13B, or its GGUF file or config.json", r.Model)
	case errors.Is(err, fit.ErrCard):
		if _, name := fit.CountedCards(r.Card); name != r.Card {
			r.Card = name
		}
		if _, known := fit.Card(r.Card); known {
			return trouble("how much memory %s has depends on the computer; say it: --gpu %q, or --vram 16GiB", r.Card, r.Card+" 32GB")
		}
		if near := fit.NearCards(r.Card); len(near) > 0 {
			return trouble("there is no card %q in the catalogue; near are %s; or say its memory: --vram 12GiB", r.Card, strings.Join(near, ", "))
		}
		return trouble("there is no card %q in the catalogue; say its memory instead: --vram 12GiB", r.Card)
	case errors.Is(err, fit.ErrFormat):
		return trouble("%v; formats of weights are Q4_K_M, Q8_0, bf16, fp8, awq-int4, nf4 and the like, types of the cache f16, q8_0, q4_0, fp8", err)
	case errors.Is(err, fit.ErrShape):
		if r.Engine == "vllm" || r.Engine == "transformers" {
			return trouble("how much cache this model takes with %s is not established; for --engine llama.cpp it is", r.Engine)
		}
		return trouble("the size of this model's cache is not established, so that no figure would be right: %v", err)
	}
	return trouble("%v", err)
}

// shortened keeps the line of an error readable.
func shortened(name string) string {
	const enough = 80
	if r := []rune(name); len(r) > enough {
		return string(r[:enough]) + "…"
	}
	return name
}

// named puts the model's name into a command, where it is known and needs no
// quotes.
func named(p fit.Plan, name string, r fit.Request) string {
	if p.Recommended < 0 {
		return p.Command
	}
	before, after := "…", target(p, name, r)
	if p.Engine == "llama.cpp" && r.Known == nil {
		before, after = "-m …", "-hf "+after
		if strings.HasSuffix(after, " ") {
			return p.Command
		}
	}
	if after == "" || strings.HasPrefix(after, "-") && before == "…" || strings.ContainsFunc(strings.TrimPrefix(after, "-hf "), needsQuotes) {
		return p.Command
	}
	return strings.Replace(p.Command, before, after, 1)
}

// target is what the engine calls the recommended row: the user's name if its
// file has that format, else a name of the catalogue. It is empty where neither
// is known.
func target(p fit.Plan, name string, r fit.Request) string {
	format, own := p.Rows[p.Recommended].Format, fit.Find(name).Format
	repo := strings.Count(name, "/") == 1 && !strings.HasPrefix(name, ".") && r.Known == nil
	m, known := fit.ModelByID(p.Model.ID)
	switch p.Engine {
	case "llama.cpp":
		if r.Known != nil && strings.HasSuffix(name, ".gguf") {
			return shards(name)[0]
		}
		if repo && strings.Contains(strings.ToLower(name), "gguf") {
			base, _, _ := strings.Cut(name, ":")
			return base + ":" + format
		}
	case "ollama":
		tagged := format == "Q4_K_M" || format == "MXFP4_MOE"
		if strings.Contains(name, ":") && (own == format || own == "" && tagged) {
			return name
		}
		if known && tagged && r.Known == nil {
			return alias(m, func(a string) bool { return strings.Contains(a, ":") && !strings.Contains(a, "/") })
		}
	default:
		made := p.Engine == "transformers" && (format == "int8" || format == "nf4") // while loading
		published := made || format == "bf16" && (!known || m.Native == "") || known && format == m.Native
		if (repo || r.Basis == "config" && !strings.HasSuffix(name, ".json")) && (own == format || own == "" && published) {
			return name
		}
		if known && published && r.Known == nil {
			return alias(m, func(a string) bool { return strings.Contains(a, "/") })
		}
	}
	return ""
}

// alias is the first name of a model that is wanted, "" if it has none.
func alias(m *fit.Model, wanted func(string) bool) string {
	if i := slices.IndexFunc(m.Aliases, wanted); i >= 0 {
		return m.Aliases[i]
	}
	return ""
}

func needsQuotes(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune("_-./:", r)
}

// printJSON prints one value for people to read.
func (s *session) printJSON(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return trouble("encode the plan: %v", err)
	}
	return s.print(escapeC1(b.Bytes()))
}

// readFlags parses flags that may stand before and after the other arguments,
// which it returns; what follows "--" is no flag.
func readFlags(name string, define func(*flag.FlagSet), args []string) (others []string, err error) {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	define(fs)
	for len(args) > 0 {
		if err := fs.Parse(args); err != nil {
			return nil, wrongFlag(name, err)
		}
		rest := fs.Args()
		if used := len(args) - len(rest); used > 0 && args[used-1] == "--" {
			return append(others, rest...), nil
		}
		if len(rest) == 0 {
			break
		}
		others, args = append(others, rest[0]), rest[1:]
	}
	return others, nil
}

// flagHelp lists flags.
func flagHelp(define func(*flag.FlagSet)) string {
	var b strings.Builder
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	define(fs)
	fs.VisitAll(func(f *flag.Flag) {
		if f.Usage == "" {
			return // a short form
		}
		value, usage := flag.UnquoteUsage(f)
		name := "--" + f.Name
		switch {
		case isBool(f):
		case value == strings.ToUpper(value):
			name += " " + value
		default:
			name += " WHAT"
		}
		fmt.Fprintf(&b, "  %-20s  %s\n", name, usage)
	})
	return b.String()
}
