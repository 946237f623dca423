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
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/render"
)

const fitHead = `oomdoc fit says what of a model fits a graphics card. It works offline.

Usage:
  oomdoc fit MODEL [flags]   formats by context; MODEL is a name, a repository,
                             a GGUF file, a config.json, or its folder
  oomdoc fit [flags]         models that run well on the card

Without --gpu and --vram it takes what is free on this computer's cards. Your
own models and cards: --catalogue, or models.json and cards.tsv in the folder
oomdoc of your configuration.

Examples:
  oomdoc fit llama-3.1-8b --gpu "RTX 4060"
  oomdoc fit Qwen/Qwen3-32B --vram 24GiB --context 32768 --kv-type q8_0
  oomdoc fit qwen2.5-7b --gpu A10 --engine vllm --json
  oomdoc fit deepseek-v3 --gpu 3090+3060 --ram 384GiB
  oomdoc fit flux dev --gpu 3060 --size 1344x768
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
	if request.Own, err = s.ownCatalogue(o.catalogue); err != nil {
		return err
	}
	notes := thisMachine().look(ctx, &request)
	if len(files) == 0 {
		return s.fitCard(request, o)
	}
	// "llama 3.1 8b" without quotes.
	return s.fitModel(strings.Join(files, " "), request, notes, o)
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
	if o.format == "json" {
		return s.printJSON(p)
	}
	layout, colored := s.layout(&o.options)
	return s.printMarkdown(render.Plan(p, layout).Markdown(layout), colored, &o.options)
}

// fitCard answers what runs well on a card.
func (s *session) fitCard(r fit.Request, o *fitOptions) error {
	if r.Card == "" && r.VRAM == 0 && len(r.Devices) == 0 {
		return trouble("fit needs a model or a card: oomdoc fit llama-3.1-8b, or oomdoc fit --vram 8GiB (no driver shows a card here)")
	}
	if len(r.Contexts) > 0 {
		r.Setting.Context = slices.Max(r.Contexts)
	}
	list, card, err := fit.Choices(r)
	if err != nil {
		return wrongRequest(err, r)
	}
	wanted := cmp.Or(r.Setting.Context, 8192)
	if o.format == "json" {
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
	case errors.Is(err, fit.ErrFamily), errors.Is(err, fit.ErrCapability), errors.Is(err, fit.ErrVersion), errors.Is(err, fit.ErrEngine):
		return trouble("%v", err)
	case errors.Is(err, fit.ErrModel):
		if near := fit.Near(r.Model); len(near) > 0 {
			return trouble("there is no model %q in the catalogue; did you mean %s?", r.Model, strings.Join(near, ", "))
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
		if r.Engine != "" && r.Engine != "llama.cpp" && r.Engine != "ollama" {
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
		name := dashed(f.Name)
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
