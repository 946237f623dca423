package cures

import (
	"path"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// noPython: the log shows no file of Python's.
func noPython(c *ledger.Case) bool {
	return !slices.ContainsFunc(c.Facts.Code, func(f fact.Code) bool { return strings.HasSuffix(f.File, ".py") })
}

// LibtorchCards are about such programs: their readers change settings, and code
// in another language.
var LibtorchCards = []cause.Card{{
	ID: "pytorch/libtorch", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"instance of 'c10::OutOfMemoryError'", "instance of 'c10::Error'", "instance of 'torch::OutOfMemoryError'"},
	If: when.All(noPython, OnOneCard, when.Not(when.Any(SlackWouldDo, ledger.Crowded, ledger.Roomy))), Among: OwnDoing,
	Headline: "ran out of memory in a program written in C++ (libtorch)",
	Means:    "An exception from PyTorch's C++ library (libtorch) ended the program; the log shows no Python.[[ It holds {mine} of {total}, {context} of that beside its tensors (CUDA, its libraries and kernels).]][[ {others} is used outside this program: a desktop, a browser, another program.]][[ {short} was missing at this moment; the next step may need more.]]",
	Not:      "[[Allocator settings: at most {slack} to gain.]]",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", If: freesEnough, Title: "Close what else uses the GPU", Cost: "free", Told: "This frees less than {others}, because CUDA itself needs part of that.", Kind: "shell", Text: "nvidia-smi"},
		{Fix: "lower_resolution", Title: "Use fewer or smaller inputs, or a coarser map", Cost: "less detail", Told: "In its configuration[[ ({config})]] set fewer images or frames, half the width and height (a quarter), a larger voxel or leaf size, fewer points, rays or samples at a time, a smaller batch."},
		{Fix: "use_smaller_model", Title: "Or use a smaller or 16-bit model, if it loads one", Cost: "some quality", Told: "A TorchScript or exported model runs as it was saved, so export a smaller or 16-bit one. In C++: `module.to(torch::kHalf)`, with inputs in `torch::kHalf`, under `c10::InferenceMode`."},
		BiggerCard,
	},
	Figures: compiledFigures,
	Sources: []string{AllocatorSource, "pytorch/c10/core/InferenceMode.h", "pytorch/torch/csrc/jit/api/module.h"},
}}

// compiledFigures are scene with the configuration that the program was given.
func compiledFigures(c *ledger.Case) map[string]string {
	out := Scene(c)
	out["config"], out["context"] = "", ""
	if f := c.F(); f.ProcessUsed != nil && f.Allocated != nil {
		if rest := c.Mine.Bytes - f.Allocated.Bytes - c.Slack.Bytes; rest > 300*units.MiB {
			out["context"] = units.Amount(rest)
		}
	}
	for _, x := range c.Facts.Talk {
		if name := configIn(x.Text); out["config"] == "" && name != "" {
			out["config"] = "`" + name + "`"
		}
	}
	return out
}

// configIn is the name of the only configuration's file in a text, "" for none and
// for several: the batch size stands in one of them.
func configIn(text string) string {
	only := ""
	for word := range strings.FieldsSeq(text) {
		_, value, found := strings.Cut(word, "=")
		if !found {
			value = word
		}
		name := path.Base(strings.Trim(value, "\"',:()"))
		if end := path.Ext(name); slices.Contains([]string{".yaml", ".yml", ".toml", ".cfg"}, end) && strings.Trim(name, letters) == "" && len(name) < 60 {
			if only != "" && only != name {
				return ""
			}
			only = name
		}
	}
	return only
}

// Config is the file of settings that the command in the log names for a script
// of the reader's, "" for none.
func Config(c *ledger.Case) string {
	for _, x := range c.Facts.Code {
		if x.Own && x.Args != "" {
			return configIn(x.Args)
		}
	}
	return ""
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
