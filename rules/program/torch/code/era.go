package code

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
)

// Latest is the newest PyTorch that can have made a log, 1.9 as 109; 0 where
// nothing bounds it. Advice is for that version: what came later is not there.
func Latest(c *ledger.Case) int {
	return ledger.Once(c, "torch/latest", func(c *ledger.Case) int { return cmp.Or(TorchVersion(c), newestByLines(c)) })
}

// newestByLines is the same where the log does not state the version.
func newestByLines(c *ledger.Case) int {
	latest := 0
	if c.Backend == "npu" {
		return 0 // torch_npu kept the wording of an old PyTorch: torch_npu/csrc/core/npu/NPUCachingAllocator.cpp
	}
	bound := func(version int) {
		if version != 0 && (latest == 0 || version < latest) {
			latest = version
		}
	}
	for i := range c.Facts.Code {
		file := strings.ReplaceAll(c.Facts.Code[i].File, `\`, "/")
		if strings.HasSuffix(file, "torch/nn/modules/module.py") {
			bound(byLine(c.Facts.Code[i].Function, c.Facts.Code[i].At))
		}
		if strings.HasSuffix(file, "torch/tensor.py") { // _tensor.py since 1.9
			bound(108)
		}
		if strings.Contains(c.Facts.Code[i].Source, ".data[0]") { // an error since 1.0
			bound(4)
		}
		if strings.Contains(file, "-packages/torch/") {
			bound(byPython(file))
		}
	}
	if c.Contains("/torch/lib/thc/") { // aten/src/THC/ since 0.4
		bound(3)
	}
	if since, ok := c.Fact("torch_since"); ok {
		bound(map[string]int{"1.0": 103, "1.4": 109, "1.10": 200}[since.Text])
	}
	return latest
}

// callLines are up to which line of torch/nn/modules/module.py a module was
// called in which version: the file has grown with nearly every one. Tracebacks
// that name their version have 532 (1.4), 722 (1.6), 889 (1.8) and 1736 (2.5);
// the bounds between them are wide.
var callLines = []struct {
	function      string
	line, version int
}{
	{"__call__", 360, 3}, {"__call__", 492, 100}, {"__call__", 500, 101}, {"__call__", 600, 105},
	{"_call_impl", 760, 107}, {"_call_impl", 930, 108}, {"_call_impl", 1080, 109}, {"_call_impl", 1129, 111}, {"_call_impl", 1220, 113}, {"_call_impl", 1570, 204},
}

func byLine(function string, line int) int {
	for _, x := range callLines {
		if function == x.function && line > 0 && line <= x.line {
			return x.version
		}
	}
	return 0
}

var pythonFolder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/python([23]\.\d{1,2})/`) })

var lastFor = map[string]int{"2.7": 104, "3.5": 105, "3.6": 110, "3.7": 113, "3.8": 204}

// byPython is the last PyTorch that was built for a version of Python.
func byPython(file string) int {
	if !strings.Contains(file, "/python") {
		return 0
	}
	if m := pythonFolder().FindStringSubmatch(file); m != nil {
		return lastFor[m[1]]
	}
	return 0
}

// newer are names that PyTorch has since a version, each with what did the same
// before; "": nothing did, and the sentence goes. The newest stand first: what
// takes a name's place may itself be too new. A part of a call or sentence, which
// begins with a comma or blank, goes alone.
var newer = []struct {
	since         int
	name, instead string
}{
	{203, "torch.amp.GradScaler(\"cuda\", ", "torch.cuda.amp.GradScaler("},
	{200, "scaled_dot_product_attention", ""},
	{111, ", use_reentrant=False", ""}, {111, "bitsandbytes", ""},
	{110, `torch.autocast("cuda", dtype=torch.bfloat16)`, "torch.cuda.amp.autocast()"}, {110, `torch.autocast("cuda", dtype=torch.float16)`, "torch.cuda.amp.autocast()"},
	{110, `torch.autocast("cuda")`, "torch.cuda.amp.autocast()"}, {110, `torch.autocast("cuda", dtype=half)`, "torch.cuda.amp.autocast()"},
	{109, "torch.inference_mode()", "torch.no_grad()"},
	{106, "torch.cuda.amp.", ""},
	{106, ", prefetch_factor=2", ""}, {106, " (then without `prefetch_factor`)", ""},
	{4, "torch.no_grad()", ""}, {4, "torch.utils.checkpoint", ""}, {4, "loss.item()", "loss.data[0]"},
}

// ForEra is a text in the names of the PyTorch that made the log: "" where it
// speaks of nothing that this one has. Without cuts the sentence at an offset.
func ForEra(c *ledger.Case, text string, without func(text string, at int) string) string {
	latest := Latest(c)
	if latest == 0 {
		return text
	}
	for _, x := range newer {
		if latest >= x.since {
			continue
		}
		whole := x.instead != "" || strings.HasPrefix(x.name, ",") || strings.HasPrefix(x.name, " ")
		for at := strings.Index(text, x.name); at >= 0; at = strings.Index(text, x.name) {
			if whole {
				text = text[:at] + x.instead + text[at+len(x.name):]
			} else {
				text = without(text, at)
			}
		}
	}
	if text = strings.TrimSpace(text); strings.HasSuffix(text, ";") {
		text = text[:len(text)-1] + "."
	}
	return text
}

// since are the fixes that a PyTorch has only from a version on.
var since = map[string]int{
	"gradient_checkpointing": 4, "mixed_precision": 106, "optimizer_8bit": 108, "max_split_size": 110, "expandable_segments": 200, "load_in_8bit": 110, "load_in_4bit": 113,
	"enable_flash_attention": 110, "quantize_kv_cache": 200, "use_lora": 106,
}

// TooNew reports a fix that came after the PyTorch that made the log.
func TooNew(c *ledger.Case, fix string) bool {
	latest := Latest(c)
	return latest != 0 && latest < since[fix] || fix == "expandable_segments" && !reader.HasExpandableSegments(c)
}
