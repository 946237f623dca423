// Package webui reads programs with a page of their own, for pictures and
// text: ComfyUI, AUTOMATIC1111, InvokeAI, text-generation-webui, TabbyAPI.
package webui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// ComfyUI reads ComfyUI.
var ComfyUI = text.NewParser("comfyui", map[fact.Kind]int{fact.HostBuffer: 3}, []text.Wording{
	text.On("Got an OOM, unloading all loaded models", text.Quotes(fact.Failure{Kind: fact.ComfyUnload, Framework: "comfyui", Backend: "cuda", Wrapper: true})),
	text.On("This error means you ran out of memory on your GPU", text.Quotes(fact.Failure{Kind: fact.ComfyTips, Framework: "comfyui", Backend: "cuda", Wrapper: true})),
	text.On("Ran out of memory when regular VAE", comfyRetries(fact.ComfyVAE, len("decoding"), fact.Notice{ID: "vae_tiled", Title: "The VAE did not fit in one piece; ComfyUI decoded in tiles instead and went on."})),
	text.On("out of memory error, emptying cache and trying again", comfyRetries(fact.ComfySlices, 0, fact.Notice{ID: "attention_sliced", Title: "Attention did not fit in one piece; ComfyUI computed it in slices instead and went on."})),
	text.On("HostBuffer.read_file_slice failed", text.Quotes(hostBuffer)), text.On("hostbuf_file_reader_read failed", text.Quotes(hostBuffer)),
}, slices.Concat(text.OnAny(loaderNode, "CheckpointLoaderSimple", "UNETLoader", "UnetLoaderGGUF", "DualCLIPLoader", "Node Type: "), []text.Wording{
	text.On("Total VRAM ", readTotalVRAM), text.On(") Memory: ", text.States(90, 30, nunchakuCard)),
	text.On("Transformer blocks on c", text.States(0, 60, text.NewPattern(`blockson(?:cpu:(?<wan_swapped>NUMmb)|cuda:\d:(?<wan_kept>NUMmb))`))), text.On("Sampling ", text.States(0, 50, text.NewPattern(`^sampling(?<wan_frames>INT)framesat\d{2,5}x\d{2,5}`))), // kijai's WanVideoWrapper
	text.On("loaded completely", comfyLoaded), text.On("loaded partially", comfyLoaded),
	text.On("loading in lowvram mode", text.Signals("lowvram_active")),
	text.On("model weight dtype torch.float32", text.Says("weights_32")),
	text.On("memory leak with model", text.Signals("comfy_leak")),
}))

// loaderNode: the node that failed loads a model. A report names it in a line of
// its own or behind "Node Type"; the workflow below it names all nodes.
func loaderNode(m text.Message) int {
	before, _, loads := strings.Cut(m.Log.LineText(m.At), "Load")
	if _, node, _ := strings.Cut(m.Log.LineText(m.At), "Node Type:"); node != "" && len(node) < 60 {
		m.Say("comfy_node", strings.Trim(node, " *"))
	}
	if loads && strings.Contains(before, "Node Type") || !strings.ContainsAny(before, " \"'{,:") {
		return text.Signals("loading")(m)
	}
	return m.End
}

var hostBuffer = fact.Failure{Kind: fact.HostBuffer, Framework: "comfyui", Backend: "cpu"}

// comfyRetries tells what ComfyUI did after all, in smaller pieces, from what it
// did not: only when the prompt was executed without an exception is it settled.
// A message goes on for some bytes behind its literal.
func comfyRetries(kind fact.Kind, more int, settled fact.Notice) func(text.Message) int {
	return func(m text.Message) int {
		s := m.Log.Squeezed()
		done, raised := m.Log.Next("promptexecutedin", m.At), m.Log.Next("exceptionduringprocessing", m.At)
		if done >= 0 && (raised < 0 || raised > done) {
			m.Notice(settled)
			return m.End
		}
		x := fact.Failure{Kind: kind, Framework: "comfyui", Backend: "cuda", Phase: "inference", Stage: "compute", Wrapper: raised >= 0}
		text.Fail(m.Facts, m.Log, m.At, min(m.End+more, len(s)), x)
		return m.End
	}
}

// "MB" are MiB there.
var (
	totalVRAM = text.NewPattern(`totalvram(?<total>NUMmb)`)
	loadedNow = text.NewPattern(`loaded(?:completely|partially);(?:NUMmbusable,)?(?<both>(?<loaded>NUMmb)loaded,(?:(?<offloaded>NUMmb)offloaded)?)`)
)

func readTotalVRAM(m text.Message) int {
	k := m.Find(totalVRAM, 40)
	size := k.Size("total") // DirectML does not say what there is
	if placeholder := size != nil && size.Bytes == units.GiB && m.Mentions("directml"); k.Ok() && !placeholder {
		text.Card(m.Facts, fact.Device{Index: -1, Total: size, Line: m.Log.Line(m.At)}, m.Log.LineText(m.At))
	}
	return m.End
}

// nunchakuCard is "GPU 0 (NVIDIA GeForce RTX 3070) Memory: 8191.375 MiB", from
// Nunchaku's loader (nodes/models/flux.py, 0.1 to 1.0).
var nunchakuCard = text.NewPattern(`gpu(?<device>\d{1,2})\([^()]{3,60}(?:\(r\)[^()]{0,40})?\)memory:(?<total>NUMmib)`)

// comfyLoaded reads "loaded partially; 0.00 MB usable, 0.00 MB loaded, 1344.02
// MB offloaded, ..." (2025-10 and later): the weights are loaded + offloaded.
func comfyLoaded(m text.Message) int {
	line, said := m.Log.Line(m.At), m.Log.LineText(m.At)
	if strings.HasPrefix(said, "loaded partially") || strings.Contains(said, " loaded partially") {
		text.Signals("lowvram_active")(m)
	}
	k := m.Find(loadedNow, 140)
	size := cmp.Or(k.Size("loaded"), loadedBefore(said, "loaded completely ", "True", line))
	if more := k.Size("offloaded"); more != nil && size != nil {
		whole := fact.Size{Bytes: size.Bytes + more.Bytes, Text: k.Text("both"), Line: size.Line}
		if size.Bytes == 0 {
			whole.Text = more.Text
		}
		size = &whole
	}
	m.Fact("weights", size)
	m.Fact("loaded_part", loadedBefore(said, "loaded partially ", "", line))
	return m.End
}

// loadedBefore reads "loaded completely 2098.11 242.03 True" and "loaded
// partially 17970.96 17970.70 167": MiB usable, then MiB loaded (2024-08 to
// 2025-10). Squeezed, the two numbers would be one.
func loadedBefore(text, how, then string, line int) *fact.Size {
	_, rest, ok := strings.Cut(text, how)
	if words := strings.Fields(rest); ok && len(words) > 2 && strings.HasPrefix(words[2], then) {
		if bytes, ok := units.Parse(words[1] + "MB"); ok {
			return &fact.Size{Bytes: bytes, Text: words[1], Line: line}
		}
	}
	return nil
}
