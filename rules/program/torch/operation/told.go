package operation

import (
	"path"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// told is what a line computes, as a thing and as what follows the line, with what
// it grows with, and words of which one shows that a page says so already.
var told = map[ID]struct{ name, what, said string }{
	Scores:        {"attention scores", "works on attention scores: a number for every query and key, so twice the length (of an image, twice the pixels) takes four times the memory", "attention"},
	Logits:        {"logits", "works on logits: a score for every class or word of the vocabulary at every position, in several copies", "vocabulary|every class|for every word"},
	Loss:          {"logits", "compares logits with labels: a score for every class or word at every position, in several copies", "vocabulary|every class|for every word"},
	OneHot:        {"one-hot rows", "makes one-hot rows: a number for every label and every class", "one-hot|one_hot"},
	Distances:     {"all pairs of rows", "compares all pairs of rows: twice the rows takes four times the memory", "every row|all pairs|every point|all patches|pairs of|every patch|each against each"},
	Boxes:         {"all pairs of boxes", "compares every box or anchor with every other: one image with many objects is enough", "every box|queries of the batch|cost matrix"},
	Correlation:   {"a correlation volume", "computes a correlation volume: every position of one feature map meets all of the other, so twice the width and height takes sixteen times the memory", "correlation|all pairs of"},
	Volume:        {"a cost volume", "builds a cost volume: channels x depths (or disparities) x height x width", "cost volume|every depth|disparit"},
	Residues:      {"a pair representation", "works on the pair representation: residues x residues x channels", "pair representation|residues"},
	Flat:          {"gradients in one buffer", "flattens gradients into one buffer: it grows with the trained parameters, not with the batch", "flat|gradients into"},
	State:         {"optimizer state", "makes the optimizer's own tensors: as large as the trained parameters, whatever the batch", "optimizer|adam"},
	Twice:         {"copied weights", "copies weights: the copy is as large as the model, whatever the batch", "copy of all weights|second copy|copies of its state"},
	Gathered:      {"gathered tensors", "gathers the tensors of all ranks on each GPU: it grows with the number of ranks", "gather"},
	Exchange:      {"a packed object", "sends a Python object through GPU memory: packed, on each rank", "object"},
	Cache:         {"KV cache", "copies the KV cache for the next token: keys and values of all tokens so far, in each layer", "kv cache"},
	WholeSet:      {"data in one tensor", "puts all samples (images, frames, rows) into one block: it grows with the data, not with the batch", "whole data set|all the images|all images|all frames|all of your data|all your data"},
	Dense:         {"a dense matrix", "makes a sparse matrix dense: rows x columns, zeros included", "dense|every row with every other"},
	Result:        {"collected scores", "adds up scores for a whole image or volume: classes x its size", "image size|classes x|whole volume"},
	Gathering:     {"rows by index", "makes a row for every edge or index, however few the nodes are", "for every index|edge"},
	Padding:       {"padded input", "pads its input: the result is a copy with the border, or as long as the longest sample", "pad"},
	Patches:       {"patches", "copies every overlapping patch: kernel x kernel times the input", "patch"},
	Masking:       {"selected values", "selects by a mask or counts in it: a copy of what is selected, with 8-byte indices", "mask"},
	Second:        {"a second derivative", "computes a gradient of which another gradient is taken: it keeps the activations of the backward pass, too", "second derivative|create_graph"},
	Spectrum:      {"a spectrum", "computes a spectrum: it grows with the length of the recording or the size of the image", "fourier|spectr|stft"},
	Decomposition: {"an n x n matrix", "decomposes, inverts or multiplies out an n x n matrix: twice the rows takes four times the memory", "n x n|inver|decompos|each against each|covarian"},
	Sorting:       {"sorted values", "sorts: values, an 8-byte index for each, and a working copy", "sort"},
	Repetition:    {"repeated input", "repeats its input: a full copy each time", "full copies|repeat"},
	Upsampling:    {"resampled images", "resamples to a target size: all channels at that size at once", "upsampl|resampl|target size"},
	Concatenation: {"", "joins tensors: the result is a copy beside its parts", "joins|joined|joining|concatenat|beside its parts"},
	Recurrent:     {"", "keeps a state for every time step: batch x length x width", "time step"},
	Convolution:   {"", "is a convolution: its result is batch x channels x area, and training keeps it", "convolution|every layer|activations"},
	Pointwise:     {"", "is an ordinary activation or normalisation layer, only the last straw: its result is as large as its input", "activation|normalisation"},
	Projection:    {"", "is a matrix product: batch x length x width", "matrix product|activations"},
	Softmax:       {"", "is a softmax: its result is as large as the scores that go in", "softmax|attention"},
	Feeding:       {"", "hands a batch to a network: its layers' outputs grow with the batch and the size of a sample", "network in one call|activations|of the batch|the model without training|forward pass|all texts"},
}

// Line is what the failing line computes by its own words, else the operation of
// the innermost frames; found once a case, where somebody asks.
func Line(c *ledger.Case) ID {
	return ID(c.OfCard("operation/line", func(c *ledger.Case) map[string]string {
		frames := ledger.Trace(c)
		id := ID(c.Operation)
		if own := read(frames); own != "" {
			id = own
		} else if len(frames) > 0 && networkCall(frames[len(frames)-1].Source) {
			id = Feeding
		}
		return map[string]string{"": string(id)}
	})[""])
}

// Reads holds where the failing line computes that.
func Reads(id ID) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return Line(c) == id }
}

// Name is what the failing line makes, "" where it decides nothing.
func Name(c *ledger.Case) string {
	if !Decides(c) {
		return ""
	}
	return told[Line(c)].name
}

// Decides reports an operation that says by itself what was too large, whatever
// the figures of the card are.
func Decides(c *ledger.Case) bool {
	return !LastStraw(c) && slices.Contains([]ID{Scores, Logits, Loss, OneHot, Distances, Boxes, Correlation, Volume, Residues, Flat, State, Twice, Gathered, Exchange, Cache, WholeSet, Dense, Result, Gathering, Patches, Second, Spectrum, Decomposition, Sorting, Repetition, Upsampling}, Line(c))
}

// LastStraw: the card is full, and the line asks for so little that it only came
// last. What each layer keeps, and what is as large as the model, adds up.
func LastStraw(c *ledger.Case) bool {
	small := ledger.FillsCard(c) && c.Asked.Has() && c.Asked.Bytes*12 < c.Total.Bytes
	return small && !slices.Contains([]ID{Scores, Logits, Loss, Flat, State, Twice, Cache, WholeSet, Second, Volume, Residues}, Line(c))
}

// Told says what the failing line computes, with the line or where it stands, ""
// where that is not known or a text says it already.
func Told(c *ledger.Case, said string) string {
	t, known := told[Line(c)]
	frames := ledger.Trace(c)
	if !known || len(frames) == 0 {
		return ""
	}
	low := strings.ToLower(said)
	if strings.Contains(low, " is little") || slices.Contains(ofLayer, Line(c)) && !slices.ContainsFunc(byFigures, func(words string) bool { return strings.Contains(said, words) }) {
		return ""
	}
	for word := range strings.SplitSeq(t.said, "|") {
		if strings.Contains(low, word) {
			return ""
		}
	}
	f, sure := where(frames, Line(c))
	file := path.Base(strings.ReplaceAll(f.File, `\`, "/"))
	switch source := f.Source; {
	case sure && len(source) <= longestQuote && !strings.ContainsAny(source, "`{}") && !strings.HasSuffix(source, "("):
		return "`" + source + "` " + t.what + "."
	case sure && f.Function != "" && !strings.ContainsAny(f.Function+file, "`{}<>"):
		return "The line in `" + f.Function + "` (" + file + ") " + t.what + "."
	}
	return "The failing line " + t.what + "."
}

// where is the frame whose own line shows an operation.
func where(frames []fact.Code, id ID) (f fact.Code, sure bool) {
	for _, f := range slices.Backward(frames[max(0, len(frames)-innermost):]) {
		shown := f.Source != "" && (reads(lineOf(f)) == id || id == Feeding && networkCall(f.Source))
		if shown || in(f, telling) == id || in(f, plain) == id {
			return f, f.Source != ""
		}
	}
	return f, false
}

// ofLayer are what any network does in turn; a page on its program says more.
var ofLayer = []ID{Convolution, Pointwise, Projection, Softmax, Recurrent, Concatenation, Upsampling, Feeding, Repetition, Sorting}

// byFigures are words of pages that go by figures alone.
var byFigures = []string{"reserved memory is unused", "Even an empty card", "A single tensor of", "that failed", "No setting can bridge", "so this one block is far too large", "forward pass", "One training step"}

// longestQuote is how long a line may be that a sentence quotes.
const longestQuote = 72
