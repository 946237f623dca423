package torch

import (
	"regexp"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Options reads what a script of any kind was told, where it prints that: a
// namespace of argparse, a dict, a YAML or JSON file line by line, a typed
// command. What an option means follows from its name.
var Options = text.Parser{Name: "options", Context: optionWords, Parse: parseOptions}

var optionWords = []string{
	"batch_size", "batch-size", "batchsize", "samples_per_gpu", "ims_per_batch", "micro_batch", "micro-batch", "mini_batch", "mini-batch", "crop_size", "crop-size", "img_size", "img-size", "image_size", "image-size", "imgsz", "input_size", "input-size", "resolution", "--height", "--width",
	"max_len", "max-len", "seq_len", "seq-len", "seqlen", "context_len", "context-len", "cutoff_len", "max_tokens", "max-tokens", "max_duration", "max-duration", "segment_", "num_points", "n_points", "num_frames", "num-frames", "clip_len", "fp16", "use_amp", "num_workers", "workers_per_gpu", "--workers",
	"--btrain", "--bsz ", "--bs ", "--train_bs", "--train-bs", "--batch ", "--train_batch ", "--train-batch ",
}

// optionNames are the settings that names of options stand for; with dashes: as
// an option that was typed.
var optionNames = []struct{ setting, names string }{
	{fact.OptionBatch, `(?:(?:train(?:ing)?|data(?:set|loader)?|per|gpu|device|local|micro|mini|max|model|rollout)_){0,4}batch_?size(?:_per_gpu|_train)?|samples_per_gpu|ims_per_batch|(?:micro|mini)_?batch|--(?:btrain|bsz?|train_bs|(?:train_)?batch)`},
	{fact.OptionSize, `(?:(?:train|data|max|random)_)?(?:crop|img|image|input)_size|imgsz|(?:(?:train|image|max|target)_)?resolution`},
	{fact.OptionLength, `(?:(?:train|data(?:set)?|max|text|audio|video|input|model|source|target|prompt)_){0,3}(?:max|seq|context|cutoff|prompt|completion|response|sequence|sample|audio)_?len(?:gth)?|max_(?:tokens|duration)|segment_(?:size|len(?:gth)?)|num_points|n_points|num_frames|clip_len(?:gth)?`},
	{fact.OptionSides, `--(?:height|width)`},
	{fact.OptionHalf, `(?:use_)?(?:fp16|amp)`},
	{fact.OptionWorkers, `(?:num_)?workers(?:_per_gpu)?`},
}

// optionPair is a name of optionNames and its value; "_" may be "-".
var optionPair = sync.OnceValue(func() *regexp.Regexp {
	var names []string
	for _, x := range optionNames {
		names = append(names, "("+strings.ReplaceAll(x.names, "_", "[_-]")+")")
	}
	return regexp.MustCompile(`(?i)(?:^|[\s{(,'"|.])(--)?(?:` + strings.Join(names, "|") + `)(?:['"]?\s*[:=]\s*|['"]?,?\s+['"]?|\s*\|\s*)[\['"(]*(\d{1,6}(?:\.\d)?|true|false|none|no)\b`)
})

// Where options are looked for: a config has one a line, and a listing of many
// runs hundreds.
const (
	mostOptions   = 60
	longestOption = 6 << 10
)

func parseOptions(l *text.Log, hits []text.Hit, f *fact.Facts) {
	seen := map[int]bool{}
	for _, h := range hits {
		i := l.LineIndex(h.At)
		if line := l.Lines[i].Text; len(seen) < mostOptions && !seen[i] && len(line) < longestOption && !strings.Contains(line, `File "`) {
			seen[i] = true
			options(f, line, l.Lines[i].Number)
		}
	}
}

// options keeps the pairs of one line.
func options(f *fact.Facts, line string, number int) {
	for _, m := range optionPair().FindAllStringSubmatch(line, mostOptions) {
		for k, x := range optionNames {
			name, value := m[k+2], strings.ToLower(m[len(m)-1])
			if isSwitch := x.setting == fact.OptionHalf; name != "" && isSwitch != (value[0] <= '9') && !strings.Contains(value, ".") {
				f.Settings = append(f.Settings, fact.Setting{Name: x.setting, Flag: m[1] + name, Value: value, Line: number})
			}
		}
	}
}
