// Package script reads the line of the reader's own code that was refused memory,
// with the names that stand in it, and has the cards for what such lines do.
package script

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/reader"
)

// statement is the innermost line of the reader's own code in the traceback.
type statement struct {
	source, function string
	// below are the frames of libraries that it led to, the innermost last.
	below []fact.Code
}

// failing is the statement of a case, with ok false where the log shows none.
func failing(c *ledger.Case) (s statement, ok bool) {
	frames := ledger.Trace(c)
	for i := len(frames) - 1; i >= 0; i-- {
		if frames[i].Own {
			return statement{frames[i].Source, frames[i].Function, frames[i+1:]}, frames[i].Source != ""
		}
	}
	return s, false
}

// through reports that the traceback goes through a file of one of the paths.
func through(c *ledger.Case, paths ...string) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool { return containsAny(strings.ReplaceAll(f.File, `\`, "/"), paths...) })
}

// itself reports that the statement computes what was refused: no module that it
// calls lies below.
func (s statement) itself() bool {
	return !slices.ContainsFunc(s.below, func(f fact.Code) bool {
		return f.Function == "forward" || f.Function == "__call__" || strings.HasSuffix(f.Function, "_call_impl") || strings.Contains(f.File, "autograd")
	})
}

// reached reports that a function of a library lies below the statement.
func (s statement) reached(functions ...string) bool {
	return slices.ContainsFunc(s.below, func(f fact.Code) bool { return slices.Contains(functions, f.Function) })
}

// says reports that the statement has one of the texts.
func (s statement) says(texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(s.source, text) })
}

// evaluates reports a function that uses a model: names are cut into words.
func (s statement) evaluates() bool { return s.within(evaluation) }

// within reports that the name of the statement's function has one of the words.
func (s statement) within(words []string) bool {
	for word := range reader.Words(s.function) {
		if slices.Contains(words, word) {
			return true
		}
	}
	return false
}

var evaluation = strings.Fields("evaluate eval evaluation validate validation val valid test testing predict prediction infer inference extract extraction encode embed detect segment score")

// A name of Python with its attributes; what is longer is left alone.
const name = `[A-Za-z_][A-Za-z0-9_.]{0,40}`

var patterns = sync.OnceValue(func() (p struct{ grown, joined, buffer, added, copied, window, operands, assigned, appended *regexp.Regexp }) {
	joins := `(?:torch|np)\.(?:cat|concat|concatenate|stack|vstack|hstack)\(`
	p.appended = regexp.MustCompile(`^(` + name + `)\.append\(\s*(?:\[|\()?(.{1,120}?)\)?$`)
	p.assigned = regexp.MustCompile(`^(` + name + `)\s*=[^=]`)
	p.grown = regexp.MustCompile(`^(` + name + `)\s*=\s*` + joins + `\s*[\[(]\s*(` + name + `)\s*,\s*(` + name + `)\b`)
	p.joined = regexp.MustCompile(joins + `\s*(?:list\(|tuple\()?(` + name + `)\s*[,)]`)
	p.buffer = regexp.MustCompile(`\bfor\s+[\w, ]{1,30}\s+in\s+(` + name + `)`)
	p.added = regexp.MustCompile(`^(` + name + `)(?:\[[^\]]{0,60}\])?\s*(?:\+=|=\s*(` + name + `)\s*\+)\s*(` + name + `)?`)
	p.copied = regexp.MustCompile(`deepcopy\(\s*(` + name + `)\s*\)`)
	p.window = regexp.MustCompile(`(?:unfold|im2col)\([^)]{0,60}?(?:kernel_size\s*=\s*)?\(?(\d{1,3})\b`)
	simple := `(?:self\.)?[A-Za-z_]\w{0,30}`
	p.operands = regexp.MustCompile(`\(\s*(` + simple + `)(?:\.\w+\([^()]{0,60}\))*\s*,\s*(` + simple + `)\b`)
	return p
})

// growing: a result that takes itself and one part more: x = cat((x, part)).
func (s statement) growing() (whole, part string, ok bool) {
	if !s.itself() || !s.joins() {
		return "", "", false
	}
	switch m := patterns().grown.FindStringSubmatch(s.source); {
	case m == nil:
	case m[1] == m[2]:
		return m[1], m[3], true
	case m[1] == m[3]:
		return m[1], m[2], true
	}
	return "", "", false
}

// buffers are what an agent remembers.
var buffers = strings.Fields("memory buffer replay rollout rollouts trajectory trajectories transitions experiences episodes")

// remembered is the store that the statement reads as a whole, "" for none.
func (s statement) remembered() string {
	if !s.itself() || !s.says("stack(", "cat(", "tensor(", "Tensor(", "array(") {
		return ""
	}
	m := patterns().buffer.FindStringSubmatch(s.source)
	if m == nil {
		return ""
	}
	for word := range reader.Words(m[1]) {
		if slices.Contains(buffers, word) {
			return m[1]
		}
	}
	return ""
}

// results are words in the names of lists that a loop fills.
var results = strings.Fields("all feat feats feature features pred preds prediction predictions output outputs out outs result results emb embs embedding embeddings score scores logit logits prob probs list lst hidden hiddens rep reps vecs vectors latents recons attn attns gallery query bank history labels")

// joins: one of the functions that the patterns of joints look for is called.
func (s statement) joins() bool { return s.says("cat(", "concatenate(", "stack(") }

// joined is the list that the statement makes one tensor of, "" for none. In a
// layer, or where samples become a batch, that is nothing which grows.
func (s statement) joined() string {
	if !s.itself() || s.function == "forward" || !s.joins() || s.within([]string{"collate", "getitem", "augment", "transform"}) {
		return ""
	}
	m := patterns().joined.FindStringSubmatch(s.source)
	if m == nil {
		return ""
	}
	for word := range reader.Words(m[1]) {
		if slices.Contains(results, word) {
			return m[1]
		}
	}
	return ""
}

// append is the match of a call of append, nil where there is none.
func (s statement) append() []string {
	if !s.says(".append(") {
		return nil
	}
	return patterns().appended.FindStringSubmatch(s.source)
}

// appended is the list of results that the statement makes longer, and what goes
// there: a name, or "" for an expression.
func (s statement) appended() (list, part string) {
	m := s.append()
	if m == nil || s.says(".cpu()", ".item()", ".numpy()", ".tolist()", "loss") {
		return "", ""
	}
	for word := range reader.Words(m[1]) {
		if slices.Contains(results, word) {
			part = m[2]
			if strings.Trim(part, letters) != "" && part+")" == between(s.source) { // a call, whose bracket the pattern took
				part += ")"
			}
			if strings.Trim(part, letters+"(), ") != "" || strings.Count(part, "(") > 1 || strings.Count(part, "(") != strings.Count(part, ")") {
				part = ""
			}
			return m[1], part
		}
	}
	return "", ""
}

// between is what stands in the brackets of append.
func between(source string) string {
	_, inside, _ := strings.Cut(source, ".append(")
	return strings.TrimSuffix(inside, ")")
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

// collected is the list of models that the statement makes longer.
func (s statement) collected() string {
	m := s.append()
	if m == nil || !s.says(".cuda(", ".to(", "load(", "load_") {
		return ""
	}
	for word := range reader.Words(m[1]) {
		if slices.Contains([]string{"models", "nets", "networks", "ensemble", "experts", "learners", "teachers"}, word) {
			return m[1]
		}
	}
	return ""
}

// sums are words in the names of what an evaluation adds up.
var sums = strings.Fields("score scores pred preds prediction predictions logit logits prob probs heatmap heatmaps out output outputs votes vote seg mask masks result results confidence")

// added is the result to which an evaluation adds that of one part more.
func (s statement) added() (whole, part string, ok bool) {
	if !s.itself() || !s.evaluates() {
		return "", "", false
	}
	m := patterns().added.FindStringSubmatch(s.source)
	if m == nil || m[2] != "" && m[2] != m[1] || s.says(".item()", ".mean()", ".sum()") {
		return "", "", false
	}
	for word := range reader.Words(m[1]) {
		ok = ok || slices.Contains(sums, word)
	}
	return m[1], m[3], ok
}

// copied is the model that is copied, "" for none or where it has no name.
func (s statement) copied() (of string, ok bool) {
	if !s.reached("deepcopy", "__deepcopy__", "_deepcopy_dict", "_reconstruct") && !s.says("deepcopy(") || !s.says("copy") {
		return "", false
	}
	if m := patterns().copied.FindStringSubmatch(s.source); m != nil {
		of = m[1]
	}
	return of, true
}

// averages: what it copies is to follow the network in training.
func (s statement) averages() bool { return s.says("ema", "target", "teacher", "shadow", "momentum") }

// losses are PyTorch's functions that compare scores with classes.
var losses = []string{"cross_entropy", "nll_loss", "log_softmax", "cross_entropy_loss", "binary_cross_entropy_with_logits"}

// compares reports a loss over classes.
func (s statement) compares() bool { return s.reached(losses...) || s.itself() && s.says(losses...) }

// comparing are words in the names of functions that compare all with all.
var comparing = strings.Fields("knn dist distance distances distmat pairwise cdist similarity sim cosine cos iou giou diou overlaps nms corr correlation affinity chamfer hausdorff mmd")

// compared reports that every row of one side meets every row of the other.
func (s statement) compared() bool {
	if !s.itself() {
		return false
	}
	turned := s.says(".t()", ".T", ".mT", ".transpose(", ".permute(", "transpose_b") && s.says("mm(", "matmul(", "@", "einsum(")
	spread := s.says("[:, None", ":, None,", "[None", ".unsqueeze(") && s.says("-", "*", "torch.min(", "torch.max(", "==") || strings.Count(s.source, ".expand(") > 1
	filled := s.within(comparing) && s.says("zeros(", "empty(") && strings.Count(s.source, ".shape[0]")+strings.Count(s.source, ".size(0)") > 1
	return filled || turned || s.differs() || strings.HasPrefix(s.source, "sim") && s.says("mm(", "matmul(", "@") || spread && s.within(comparing) || strings.Count(s.source, ".expand(") > 1 && s.says("+") || s.says("cdist(", "cos_sim(", "pairwise_distances(", "box_iou(", "all_pairs") || s.within(comparing) && s.says(".transpose(", " - ", " * ", "matmul", "mm(")
}

// differs reports differences of all pairs, number by number.
func (s statement) differs() bool {
	return s.says("unsqueeze(1)") && s.says("unsqueeze(0)") && s.says(" - ") || s.says("[:, None") && s.says("[None", ":, None,") && s.says(" - ")
}

// boxes reports that what meets are the boxes of a detector.
func (s statement) boxes() bool {
	return s.within(strings.Fields("iou giou diou overlaps nms suppression boxes box anchors assign matcher")) || s.says("iou", "boxes")
}

// scored reports a matrix of attention, which has cards of its own.
func (s statement) scored() bool {
	return !operation.SelfProduct(s.source) && (s.within(strings.Fields("attention attn")) || s.says("attn", "attention", "(q,", "(Q,", "q @", "query", "energy"))
}

// operands are the scores and the labels that a loss compares, by their usual
// names where the statement does not show them.
func (s statement) operands() (scores, labels string) {
	if m := patterns().operands.FindStringSubmatch(s.source); m != nil {
		return m[1], m[2]
	}
	return "scores", "labels"
}

// movedResult is what an evaluation collects, where a line or the one that called
// it puts it on the card, and the function; "" where it is something else.
func movedResult(c *ledger.Case) (result, function string) {
	frames := ledger.Trace(c)
	for i, seen := len(frames)-1, 0; i >= 0 && seen < 3; i-- {
		f := frames[i]
		s := statement{source: f.Source, function: f.Function}
		if !f.Own {
			continue
		}
		seen++
		m := patterns().assigned.FindStringSubmatch(f.Source)
		if m == nil || !s.evaluates() {
			continue
		}
		for word := range reader.Words(m[1]) {
			if slices.Contains(sums, word) {
				return m[1], f.Function
			}
		}
	}
	return "", ""
}

// rollout reports an agent that learns, with the states that it has seen in hand.
func rollout(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		s := statement{source: f.Source, function: f.Function}
		return f.Own && s.within([]string{"update", "learn", "replay", "optimize"}) && s.says("states", "actions", "obs", "rollout", "transitions", "next_state")
	})
}
