package fit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Request asks what of a model fits.
type Request struct {
	// Model is any name that Find takes. Known overrides it: a model read from
	// a GGUF or a config.json.
	Model string
	Known *Model
	Basis string
	// Card by name, or VRAM in bytes. Neither: the plan has needs only.
	Card string
	VRAM int64
	// Devices are this computer's cards, used where neither card nor size is
	// given.
	Devices []Device
	// RAM that programs can have, in bytes: what is put there must fit it. 0 if
	// not known.
	RAM int64
	// Own models and cards come before the built-in ones.
	Own *Own
	// Contexts and Formats are tried one by one; empty means the usual.
	Contexts []int
	Formats  []string
	Setting
}

// Errors of a request.
var (
	ErrModel = errors.New("unknown model")
	ErrCard  = errors.New("unknown card")
	// ErrEngine: a program that there is no plan for, or that has no such setting.
	ErrEngine = errors.New("no plan for this engine")
)

// The usual formats by falling quality.
var (
	ggufLadder       = []string{"Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "IQ4_XS", "Q3_K_M", "IQ3_XXS", "Q2_K", "IQ2_XS"}
	checkpointLadder = []string{"bf16", "fp8", "awq-int4"}
	// The denoiser's, GGUF files as ComfyUI-GGUF and stable-diffusion.cpp read them
	// among them; text encoders and VAE stay 16 bit.
	diffusionLadder = []string{"bf16", "Q8_0", "fp8", "Q6_K", "Q5_K_S", "Q4_K_S", "nf4", "Q3_K_S", "Q2_K"}
	// What transformers makes of a 16-bit checkpoint while it loads.
	bitsandbytesLadder = []string{"bf16", "int8", "nf4"}
)

// model resolves the request to a shape, or to nil and a size.
func (r Request) model() (*Model, PlanModel, error) {
	match := r.match()
	if match.Basis == "" || match.Basis == "name" && match.Parameters == 0 {
		if ids := Family(r.Model); ids != nil {
			return nil, PlanModel{}, familyError(r.Model, ids)
		}
		err := fmt.Errorf("%w: %q", ErrModel, r.Model)
		if near := Near(r.Model); len(near) > 0 {
			err = fmt.Errorf("%w: near are %s", err, strings.Join(near, ", "))
		}
		return nil, PlanModel{}, err
	}
	pm := PlanModel{ID: r.Model, Parameters: match.Parameters, ActiveParameters: cmp.Or(match.ActiveParameters, match.Parameters), Basis: match.Basis}
	if m := match.Model; m != nil {
		pm.ID, pm.Layers, pm.MaxContext = m.ID, m.Layers, m.Context
	} else {
		pm.Kind = KindByName(r.Model)
	}
	return match.Model, pm, nil
}

func (r Request) match() Match {
	known := func(m *Model, basis string) Match {
		return Match{Model: m, Parameters: m.Parameters, ActiveParameters: m.ActiveParameters, Basis: basis}
	}
	if r.Known != nil {
		return known(r.Known, cmp.Or(r.Basis, "config"))
	}
	if m := r.Own.model(r.Model); m != nil {
		return known(m, "own catalogue")
	}
	if m, ok := ModelByID(r.Model); ok {
		return known(m, "catalogue")
	}
	return Find(r.Model)
}

func (r Request) engine(m *Model) string {
	switch {
	case m != nil && m.Kind == "diffusion":
		return "diffusers"
	case m != nil && m.Kind == "speech":
		return "faster-whisper"
	}
	if m == nil && r.Engine == "" {
		switch KindByName(r.Model) {
		case "video", "pictures":
			return "diffusers"
		case "speech", "embeddings", "proteins":
			return "transformers"
		}
	}
	return cmp.Or(r.Engine, "llama.cpp")
}

// usualContexts are the columns of a table when none are asked for.
var usualContexts = []int{4096, 8192, 32768, 131072}

// contexts are the contexts to try, and the one to recommend for, 0 for any.
func (r Request) contexts(m *Model, wanted int) (all []int, preferred int) {
	most := math.MaxInt
	if m != nil && m.Context > 0 {
		most = m.Context
	}
	switch {
	case len(r.Contexts) > 0:
		return r.Contexts, wanted
	case wanted > 0:
		return []int{min(wanted, most)}, 0
	case m != nil && m.Kind == "speech":
		return []int{m.Context}, 0
	case m != nil && m.Kind == "diffusion", m == nil && KindByName(r.Model) != "":
		return []int{r.Context}, 0
	}
	for _, n := range usualContexts {
		if n < most {
			all = append(all, n)
		}
	}
	if len(all) < len(usualContexts) {
		all = append(all, most)
	}
	return all, min(r.Context, most)
}

func (r Request) formats(m *Model) []string {
	switch {
	case len(r.Formats) > 0:
		return r.Formats
	case r.Known != nil && r.Known.file != nil && (!r.Known.checkpoint || r.runs(r.Known.file.Format)):
		return []string{r.Known.file.Format}
	}
	if f := Find(r.Model).Format; f != "" && r.Known == nil && (!r.llama() || engineOf(f) == "") {
		if _, ok := lookupFormat(f, ""); ok {
			return []string{f}
		}
	}
	if r.Engine == "ollama" && ollamaTag(r.Model) {
		if f := ggufFormats(m); len(f) == 1 {
			return f
		}
		return []string{"Q4_K_M"} // the file behind a tag that names none
	}
	switch {
	case m != nil && m.Kind == "speech":
		return speechFormats
	case m != nil && m.Kind == "diffusion", m == nil && KindByName(r.Model) != "":
		return diffusionLadder
	case r.llama():
		return ggufFormats(m)
	}
	e, _ := engineNamed(r.Engine)
	ladder := e.formats
	if m != nil && m.Native != "" && r.Engine != "exllama" {
		return nativeLadder(m.Native, ladder)
	}
	return ladder
}

// nativeLadder begins with the format that a model was published in; larger ones
// hold no more, and one whose experts have 4 bits (gpt-oss) exists so only.
func nativeLadder(native string, ladder []string) []string {
	f, ok := lookupFormat(native, "")
	out := []string{native}
	if !ok || f.expertsOnly {
		return out
	}
	for _, name := range ladder {
		if other, ok := lookupFormat(name, ""); ok && other.bits < f.bits {
			out = append(out, name)
		}
	}
	return out
}

// ollamaTag: "qwen3:8b".
func ollamaTag(name string) bool {
	return strings.Contains(name, ":") && !strings.ContainsAny(name, `/\`)
}

// engineOf is the engine for a format that llama.cpp cannot read, "" for all
// others, and for those that only programs run that have no plan here (MLX).
func engineOf(name string) string {
	f, ok := lookupFormat(name, "")
	switch {
	case !ok || name == "" || f.gguf != "":
		return ""
	case strings.HasPrefix(f.name, "gptq") || strings.HasPrefix(f.name, "awq") || strings.HasPrefix(f.name, "fp8") || f.name == "nvfp4":
		return "vllm"
	case isEXL(f):
		return "exllama"
	case strings.HasPrefix(f.name, "nf4") || f.name == "fp4" || f.name == "int8" || strings.HasPrefix(f.name, "hqq"):
		return "transformers"
	}
	return ""
}

// runs reports that an engine reads a format at all.
func (r Request) runs(name string) bool {
	f, ok := lookupFormat(name, "")
	e, known := engineNamed(r.Engine)
	return ok && known && e.reads(f)
}

// ggufFormats are the formats to try for llama.cpp. A model that was published
// in MXFP4 (gpt-oss) keeps its experts so in every file: there is only one size.
func ggufFormats(m *Model) []string {
	if m != nil && m.Native == "mxfp4" {
		return []string{"MXFP4_MOE"}
	}
	return ggufLadder
}

// needs sizes a format at any setting: as much of it as fits the card.
func (r Request) needs(m *Model, pm PlanModel, card *PlanCard, format string) (func(Setting) (Need, error), error) {
	if m == nil {
		return func(s Setting) (Need, error) { return needOfSize(pm, format, s) }, nil
	}
	z, err := m.sized(format)
	return func(s Setting) (Need, error) {
		if card == nil {
			return z.need(s, -1)
		}
		_, n, err := z.mostLayers(s, card.TotalBytes)
		if err == nil && card.ram > 0 && n.Sum()+n.CPUWeights > card.ram-macOS {
			return z.need(s, -1) // what the GPU may not take lies in the same memory
		}
		return n, err
	}, err
}
