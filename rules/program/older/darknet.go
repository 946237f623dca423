package older

import (
	"regexp"
	"strconv"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Darknet is darknet, the first YOLO.
var Darknet = program.Program{
	Name: "darknet", Shown: "Darknet", Work: "vision", Edits: "flags", Language: "cpp",
	Proofs:   []string{"darknet:", "./darknet", "darknet detector", "darknet.exe", "layer filters size input output", "layer filters size/strd(dil) input output", "subdivisions: Using default", "dark_cuda.c", "Try to set subdivisions="},
	Titles:   map[string]string{"lower_batch_size": "Raise subdivisions", "lower_resolution": "Smaller network input"},
	Costs:    map[string]string{"lower_batch_size": "Slower per step; the same batch.", "lower_resolution": "May miss small objects."},
	Remedies: cures(cause.InOrder("lower_batch_size", "lower_resolution", "kill_stale_process"), cause.InOrder("lower_batch_size", "add_swap")),
	Steps: steps{
		"lower_batch_size": step.Paste("text", "In `[net]` of the .cfg file set `subdivisions` to twice its value, at most `batch`: the GPU holds batch / subdivisions images at once."),
		"lower_resolution": smallerNet,
	},
	Cards: darknetCards,
}

var (
	resizedTo    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(\d{3,4}) x \d{3,4}\s*$`) })
	failingLayer = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(\d{1,3}) CUDA Error`) })
	detects      = []string{"darknet detect cfg", "darknet detect ./cfg", "detector test", "detector demo", "detector map", "detector valid", "darknet yolo test"}
)

// inTable: it failed while the layers were set up, at one of the first.
func inTable(c *ledger.Case) bool {
	n, err := strconv.Atoi(layer(c))
	return err == nil && n < 3 && images(c) < 8
}

func layer(c *ledger.Case) string { return said(c, failingLayer()) }

// side is the side of the network's input, from the first row of the table or the
// size that training changed to; 0 where the log shows neither.
func side(c *ledger.Case) int {
	if n, err := strconv.Atoi(said(c, resizedTo())); err == nil {
		return n
	}
	return counted(c, "darknet_side")
}

// smallerNet is the next usual size below the network's.
func smallerNet(c *ledger.Case) []step.Step {
	size, was := "416", ""
	if n := side(c); n > 0 {
		was = "was " + strconv.Itoa(n) + "; "
		if n <= 416 {
			size = strconv.Itoa(max(n*3/4/32*32, 32))
		}
	}
	return []step.Step{{Kind: "config", Text: "[net]\nwidth=" + size + "\nheight=" + size + "   # " + was + "multiples of 32; random=0 in each [yolo] section"}}
}

// counted is a number that the .cfg in the log sets, 0 where the log has none.
func counted(c *ledger.Case, name string) int {
	if x, ok := c.Fact(name); ok && x.Count != nil {
		return int(x.Count.Value)
	}
	return 0
}

// images are those on the GPU at once: as darknet prints it, or batch / subdivisions
// of the .cfg; 0 where the log shows neither.
func images(c *ledger.Case) int {
	if n := ledger.IntSetting(c, fact.OptionBatch); n > 0 {
		return n
	}
	return counted(c, "darknet_batch") / max(counted(c, "darknet_parts"), 1)
}

// atOnce puts it into words, with what would be less.
func atOnce(c *ledger.Case) map[string]string {
	out := map[string]string{"images": "", "side": "", "layer": layer(c), "set": "", "parts": "to twice its value, at most `batch`"}
	if n := images(c); n > 1 {
		out["images"] = strconv.Itoa(n)
	}
	if batch, parts := counted(c, "darknet_batch"), counted(c, "darknet_parts"); parts > 0 && parts < batch {
		out["set"] = "`batch=" + strconv.Itoa(batch) + "` and `subdivisions=" + strconv.Itoa(parts) + "`"
		out["parts"] = "to " + strconv.Itoa(min(max(2*parts, 16), batch))
	}
	if n := side(c); n > 0 {
		out["side"] = strconv.Itoa(n)
	}
	return out
}

// single: one image at a time already.
func single(c *ledger.Case) bool {
	return images(c) == 1 || c.Near("batch = 64, subdivisions = 64", "batch = 32, subdivisions = 32", "batch = 1, subdivisions = 1")
}

var (
	moreParts   = cause.Cure{Fix: "lower_batch_size", If: when.Not(single), Title: "Raise subdivisions in the .cfg file", Told: "In `[net]` set `subdivisions` {parts}. Leave `batch` as it is.[[ {set} mean {images} images on the GPU at once.]]", Cost: "Slower; the same result"}
	fixedSize   = cause.Cure{Fix: "fix_shape", Title: "Set random=0 in every [yolo] section", Told: "The network then keeps the size of the .cfg for the whole training.", Cost: "Somewhat worse at other sizes"}
	smallerSize = cause.Cure{Fix: "lower_resolution", Title: "Lower the network size", Steps: smallerNet, Cost: "May miss small objects"}
	tinyNet     = cause.Cure{Fix: "use_smaller_model", If: single, Title: "Use the tiny network", Told: "`cfg/yolov4-tiny-custom.cfg` with `yolov4-tiny.conv.29`; of YOLOv3 `cfg/yolov3-tiny.cfg`.", Cost: "some accuracy"}
	darknetKind = []fact.Kind{fact.CUDAError, fact.PlainDevice}
)

const darknetDetector = "darknet/src/detector.c"

var darknetCards = []cause.Card{{
	ID: "darknet/detect", Kinds: darknetKind, Said: detects, Unsaid: []string{"detector train"}, Figures: atOnce,
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in detection",
	Means: "[[It failed at layer {layer}, while the network was set up, before any picture was read. ]]The original darknet sets up the network for the `batch` of the .cfg in detection as well. So a .cfg for training (batch=64) needs far more than one picture does. Or something else already uses the GPU.",
	Cures: []cause.Cure{
		func() cause.Cure { k := look; k.If = inTable; return k }(),
		{Fix: "lower_batch_size", Title: "Set batch=1 and subdivisions=1 in the .cfg file", Told: "They stand in `[net]`, in many files as commented lines below `# Testing`. Comment out those below `# Training`.", Cost: "None"},
		smallerSize, look,
	},
	Sources: []string{"darknet/README.md", darknetDetector},
}, {
	ID: "darknet/no-subdivisions", Kinds: darknetKind, Said: []string{"subdivisions: Using default"}, Figures: atOnce,
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory: the .cfg sets no subdivisions",
	Means: "\"subdivisions: Using default '1'\" means that `[net]` has no such line, or a misspelled one. The GPU then holds the whole `batch` at once[[, and that failed at layer {layer}]].",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Add subdivisions to the .cfg file", Told: "In `[net]`, below `batch`. If it fails again, go up to the value of `batch`.", Kind: "config", Text: "[net]\nbatch=64\nsubdivisions=16   # 64 / 16 = 4 images at once", Cost: "Slower; the same result"},
		smallerSize, look,
	},
	Sources: []string{"darknet/README.md", "darknet/src/parser.c"},
}, {
	ID: "darknet/resized", Kinds: darknetKind, Said: []string{"Resizing"}, Unsaid: detects, Figures: atOnce,
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory after it changed the network size[[ to {side}]]",
	Means:   "\"Resizing\" shows that a `[yolo]` section has `random=1`: every ten batches training takes another network size, often a larger one than the .cfg's. So it can fail after hours.[[ Here it was {side} x {side}.]] \"Try to set subdivisions=64\" is printed whatever its value is.",
	Cures:   []cause.Cure{fixedSize, moreParts, smallerSize, tinyNet, look},
	Sources: []string{"darknet/README.md", darknetDetector},
}, {
	ID: "darknet/first-layer", Kinds: darknetKind, If: inTable, Figures: atOnce,
	Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "ran out of GPU memory at layer {layer}, when nearly nothing was on the GPU",
	Means:   "The table of layers ends where it failed. So early, something else usually fills the GPU. Otherwise batch / subdivisions images of this size do not fit at once.",
	Cures:   []cause.Cure{look, moreParts, smallerSize},
	Sources: []string{"darknet/README.md", "darknet/src/parser.c"},
}, {
	ID: "darknet/subdivisions", Kinds: darknetKind, Said: []string{"layer filters size", "CUDA Error: out of memory", "darknet:", "darknet detector", "dark_cuda.c", "Try to set subdivisions=", "batch = 64, subdivisions = 64", "batch = 32, subdivisions = 32", "batch = 1, subdivisions = 1"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: atOnce,
	Means:   "The GPU holds batch / subdivisions images at once[[, at {side} x {side}]], and that did not fit. With `random=1` the network grows from time to time, so training can also fail after a while.",
	Cures:   []cause.Cure{moreParts, smallerSize, look},
	Sources: []string{"darknet/README.md", darknetDetector},
}}
