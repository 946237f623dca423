package cli

import (
	"cmp"
	"flag"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
)

// fitOptions are what `oomdoc fit` is asked for.
type fitOptions struct {
	options
	gpu, vram, contexts, formats string
	kvType, flash, engine        string
	engineVersion, unified       string
	draft, reserve, ram          string
	catalogue, size, textEncoder string
	frames                       int
	tiled                        bool
	parallel, ubatch, batch      int
	prompt                       int
	fullWindow, projector        bool
}

func (o *fitOptions) define(fs *flag.FlagSet) {
	fs.StringVar(&o.vram, "vram", "", "how much memory the card has, such as `SIZE` 8GiB")
	fs.StringVar(&o.gpu, "gpu", "", "the card's `NAME`, such as \"RTX 3060\", 2x3090 or 3090+3060; without, this computer's")
	fs.StringVar(&o.contexts, "context", "", "tokens of context, `N` or N,N,...")
	fs.StringVar(&o.formats, "quant", "", "only these formats of the weights, `F` or F,F,...: Q4_K_M, bf16, awq-int4, nf4...")
	fs.StringVar(&o.kvType, "kv-type", "", "type of the KV cache, `T`: f16, q8_0, q4_0, fp8")
	fs.StringVar(&o.flash, "flash-attn", "on", "flash attention, `on or off`")
	fs.IntVar(&o.parallel, "parallel", 1, "`N` requests at once")
	fs.StringVar(&o.unified, "unified", "on", "llama.cpp's slots share one cache, `on or off`")
	fs.BoolVar(&o.fullWindow, "swa-full", false, "llama.cpp's layers with a window cache the whole context")
	fs.IntVar(&o.batch, "batch", 0, "llama.cpp's logical batch, `N` tokens; 2048 if not given")
	fs.IntVar(&o.ubatch, "ubatch", 0, "llama.cpp's physical batch, `N` tokens; 512 if not given")
	fs.IntVar(&o.prompt, "prompt", 0, "transformers reads `N` tokens in one piece; the whole context if not given")
	fs.BoolVar(&o.projector, "mmproj", false, "count the projector for images")
	fs.StringVar(&o.draft, "draft", "", "a smaller `MODEL` that drafts, also NAME:FORMAT")
	fs.StringVar(&o.engine, "engine", "", "`PROGRAM`: "+strings.Join(fit.Engines(), ", "))
	fs.StringVar(&o.engineVersion, "engine-version", "", "its version `V`, such as b5400; the newest if not given")
	fs.StringVar(&o.size, "size", "", "pixels of a picture, `WxH`")
	fs.IntVar(&o.frames, "frames", 0, "`N` frames of a video")
	fs.StringVar(&o.textEncoder, "text-encoder", "", "of pictures: `gpu, 8bit or cpu`; without, it takes turns with the denoiser")
	fs.BoolVar(&o.tiled, "vae-tiling", false, "decode pictures in pieces")
	fs.StringVar(&o.reserve, "reserve", "", "what must stay free on each card, such as `SIZE` 1GiB")
	fs.StringVar(&o.ram, "ram", "", "RAM that there is for what is not on the card, such as `SIZE` 64GiB")
	fs.StringVar(&o.catalogue, "catalogue", "", "`FILE` of your own models (.json) or cards (.tsv)")
	o.outputs = []string{"markdown", "json"}
	fs.StringVar(&o.format, "format", "markdown", "write `markdown or json`; --quant says which formats of the weights")
	fs.BoolVar(&o.json, "json", false, "the same as --format json")
	fs.StringVar(&o.color, "color", "auto", "`auto, always or never`")
	fs.StringVar(&o.theme, "theme", "auto", "colours for a `dark or light` terminal")
	fs.IntVar(&o.width, "width", widthAuto, "wrap at `N` columns, 0 not at all")
	fs.BoolVar(&o.help, "help", false, "print this help")
	fs.BoolVar(&o.help, "h", false, "")
}

// Sizes beyond these are slips of the keyboard.
const (
	smallestCard   = 256 * units.MiB
	largestCard    = 16 * units.TiB
	longestContext = 1 << 27
	largestCount   = 1 << 20
)

// request checks the flags.
func (o *fitOptions) request() (fit.Request, error) {
	r := fit.Request{Card: o.gpu}
	r.Engine, r.KVType, r.Parallel, r.UBatch, r.Batch, r.Version = o.engine, o.kvType, o.parallel, o.ubatch, o.batch, o.engineVersion
	r.FullWindow, r.Projector, r.Prompt = o.fullWindow, o.projector, o.prompt
	if !slices.Contains(o.outputs, o.format) && o.formats == "" {
		// Other tools call it so: --format was what --quant is.
		o.formats, o.format = o.format, "markdown"
	}
	if err := o.check(); err != nil {
		return r, err
	}
	if o.engine != "" && !slices.Contains(fit.Engines(), o.engine) {
		return r, trouble("--engine %q is not known; use %s", o.engine, strings.Join(fit.Engines(), ", "))
	}
	for flag, value := range map[string]string{"--flash-attn": o.flash, "--unified": o.unified} {
		if value != "on" && value != "off" {
			return r, trouble("%s %q is not known; use on or off", flag, value)
		}
	}
	r.NoFlashAttention, r.Split = o.flash == "off", o.unified == "off"
	if o.parallel < 1 || o.parallel > 1<<16 || min(o.ubatch, o.batch, o.prompt) < 0 || max(o.ubatch, o.batch) > largestCount || o.prompt > longestContext {
		return r, trouble("--parallel, --batch, --ubatch and --prompt are counts of one and more")
	}
	if err := o.sizes(&r); err != nil {
		return r, err
	}
	if err := o.picture(&r.Picture); err != nil {
		return r, err
	}
	return r, o.draftModel(&r)
}

// picture reads what a diffusion model is to make.
func (o *fitOptions) picture(p *fit.Picture) error {
	const most = 1 << 14
	if o.size != "" {
		w, h, ok := strings.Cut(strings.ToLower(o.size), "x")
		width, err1 := strconv.Atoi(w)
		height, err2 := strconv.Atoi(h)
		if !ok || err1 != nil || err2 != nil || min(width, height) < 64 || max(width, height) > most {
			return trouble("--size %q is no size of a picture; say it as in 1024x1024", o.size)
		}
		p.Width, p.Height = width, height
	}
	if o.frames < 0 || o.frames > most {
		return trouble("--frames is a count of one and more")
	}
	if !slices.Contains([]string{"", "gpu", "8bit", "cpu"}, o.textEncoder) {
		return trouble("--text-encoder %q is not known; use gpu, 8bit or cpu", o.textEncoder)
	}
	p.Frames, p.TextEncoder, p.Tiled = o.frames, o.textEncoder, o.tiled
	return nil
}

// sizes reads what is written with units or as a list.
func (o *fitOptions) sizes(r *fit.Request) error {
	if o.vram != "" {
		n, ok := units.Parse(o.vram)
		if !ok || n < smallestCard || n > largestCard {
			return trouble("--vram %q is no size of a card; say it as in 8GiB or 8192MiB", o.vram)
		}
		r.VRAM = n
	}
	if o.ram != "" {
		n, ok := units.Parse(o.ram)
		if !ok || n < smallestCard || n > largestCard {
			return trouble("--ram %q is no size of memory; say it as in 64GiB", o.ram)
		}
		r.RAM = n
	}
	if o.reserve != "" {
		n, ok := units.Parse(o.reserve)
		if !ok && strings.TrimSpace(o.reserve) != "0" || n < 0 || n > largestCard {
			return trouble("--reserve %q is no size; say it as in 1GiB, or 0 for none", o.reserve)
		}
		if r.Reserve = n; n == 0 {
			r.Reserve = -1
		}
	}
	for part := range strings.SplitSeq(o.contexts, ",") {
		if o.contexts == "" {
			break
		}
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > longestContext {
			return trouble("--context %q is no number of tokens; say it as in 8192 or 4096,32768", o.contexts)
		}
		r.Contexts = append(r.Contexts, n)
	}
	if o.formats != "" {
		for part := range strings.SplitSeq(o.formats, ",") {
			r.Formats = append(r.Formats, strings.TrimSpace(part))
		}
	}
	return nil
}

// draftModel finds the model that drafts.
func (o *fitOptions) draftModel(r *fit.Request) error {
	if o.draft == "" {
		return nil
	}
	name, format, _ := strings.Cut(o.draft, ":")
	m := fit.Find(name)
	if own, ok := fit.ModelByID(name); ok {
		m.Model = own
	}
	if m.Model == nil {
		return trouble("--draft %q is no model of the catalogue", shortened(o.draft))
	}
	r.Draft, r.DraftFormat = m.Model, cmp.Or(format, m.Format)
	if _, err := r.Draft.Weights(r.DraftFormat); err != nil {
		return trouble("--draft %q: %v", shortened(o.draft), err)
	}
	return nil
}
