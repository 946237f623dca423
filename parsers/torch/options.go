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
	"batch_size", "batch-size", "batchsize", "samples_per_gpu", "ims_per_batch", "crop_size", "img_size", "image_size", "imgsz", "input_size", "resolution",
	"max_len", "max_seq_len", "seq_len", "num_points", "n_points", "num_frames", "clip_len",
	"fp16", "use_amp", "num_workers", "workers_per_gpu", "--workers",
}

// optionNames are the settings that names of options stand for.
var optionNames = []struct{ setting, names string }{
	{fact.OptionBatch, `(?:train_|per_gpu_|local_|(?:per_device_|micro_)(?:train_)?)?batch_?size(?:_per_gpu|_train)?|samples_per_gpu|ims_per_batch`},
	{fact.OptionSize, `(?:train_)?(?:crop|img|image|input)_size|imgsz|resolution`},
	{fact.OptionLength, `max_len(?:gth)?|max_seq_len(?:gth)?|seq_len(?:gth)?|num_points|n_points|num_frames|clip_len`},
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
