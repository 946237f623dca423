package spans

import (
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/scan"
)

// Marks that end a turn of a conversation, by the chat templates that have them.
var turnEnds = []string{
	"<|im_end|>", "<|eot_id|>", "[/INST]", "<end_of_turn>", "<|end|>", "<|endoftext|>", "<|eom_id|>", "</s>", "<|return|>", "<|call|>", "<|END_OF_TURN_TOKEN|>", "<｜end▁of▁sentence｜>",
	"### Response:", "### Assistant:", "ASSISTANT:",
}

// turnStarts begin one.
var turnStarts = []string{
	"<|im_start|>", "<|start_header_id|>", "[INST]", "<start_of_turn>", "<|user|>", "<|system|>", "<|assistant|>", "<|start|>", "<｜User｜>", "<|START_OF_TURN_TOKEN|>", "### Instruction:", "### Human:",
}

// Spread returns texts of which one stands in every span that goes over several
// lines of a file, sorted.
func Spread() []string {
	return slices.Sorted(slices.Values(append([]string{"Negative prompt: ", " wrote:", "\"role\": \"", "\"messages\": ["}, turnStarts...)))
}

// turn reads one turn of a conversation that a template wrote: up to the mark
// that ends it or begins the next, or to the end of the line. A tokenizer's own
// list of its marks ("BOS token = 1 '<|im_start|>'") has none.
func turn(f *finder, at, end int) {
	if end >= len(f.s) || strings.IndexByte("'\"`,)]", f.s[end]) >= 0 || f.s[end] == '\\' && end+1 < len(f.s) && strings.IndexByte("'\"", f.s[end+1]) >= 0 {
		return
	}
	line := f.lineEnd(end)
	next := f.turnAfter(end)
	switch {
	case next == nil || next.at-end > maxReach, next.at > line && !next.ends:
		f.add(at, f.stringEnd(end, line), Prompt) // the answer is to follow, or it was cut
	case next.at > line && (f.budget < next.at-end || strings.Count(f.s[end:next.at], "\n") > maxLines):
		f.budget -= next.at - end
		f.add(at, f.stringEnd(end, line), Prompt)
	case next.ends:
		f.add(at, next.at+next.size, Prompt)
	default:
		f.add(at, next.at, Prompt)
	}
}

// turnMark is a mark of a chat template in the text.
type turnMark struct {
	at, size int
	ends     bool
}

// turnAfter returns the first mark from an offset on, nil if there is none.
func (f *finder) turnAfter(at int) *turnMark {
	if !f.turned {
		f.turned = true
		for _, h := range turnWords().All(f.s) {
			n, ends := h.Word, h.Word >= len(turnStarts)
			if ends {
				n -= len(turnStarts)
				f.turns = append(f.turns, turnMark{h.At, len(turnEnds[n]), true})
			} else {
				f.turns = append(f.turns, turnMark{h.At, len(turnStarts[n]), false})
			}
		}
	}
	for len(f.turns) > 0 && f.turns[0].at < at {
		f.turns = f.turns[1:]
	}
	if len(f.turns) == 0 {
		return nil
	}
	return &f.turns[0]
}

var turnWords = sync.OnceValue(func() *scan.Search {
	words := slices.Concat(turnStarts, turnEnds)
	for i, w := range words {
		words[i] = strings.ToLower(w)
	}
	return scan.NewSearch(words)
})

// stringEnd is the first quote mark between two offsets that can end a string
// in which they stand: a mark with punctuation or a blank behind it.
func (f *finder) stringEnd(from, to int) int {
	for i := from; i < to; i++ {
		if m, ok := f.markAt(i); ok && m.text != "'" {
			return i
		}
	}
	return to
}

// spoken reads "USER: ... ASSISTANT:", the template of Vicuna and its like.
func spoken(f *finder, at, end int) {
	if f.s[at:end] != "USER: " || at > 0 && wordly(f.s[at-1]) {
		return
	}
	limit := min(len(f.s), end+maxReach/4, end+max(f.budget, 0))
	f.budget -= (limit - end) / 8
	if i := strings.Index(f.s[end:limit], "ASSISTANT:"); i >= 0 {
		f.add(end, end+i, Prompt)
	}
}

// objectOf makes the reader of a key that only requests have: all of the object
// that it stands in was written by who asked. An object that is a record of the
// log itself has other keys as well, and only the value is theirs.
func objectOf(f *finder, at, end int) {
	begin, ok := f.behindKey(end)
	if !ok {
		return
	}
	open := f.around(at)
	if open < 0 {
		f.value(begin, Prompt)
		return
	}
	to, _ := f.bracket(open)
	if to <= at || recordKeys(f.s[open:min(to, open+maxReach)]) {
		f.value(begin, Prompt)
		return
	}
	f.mixed(open+1, to)
}

// keysOfRecords are those of loggers that write JSON.
var keysOfRecords = []string{"level", "severity", "levelname", "lvl", "logger", "msg", "message", "timestamp", "ts", "time", "@timestamp"}

// recordKeys reports keys of a logger among those that stand directly in an
// object.
func recordKeys(object string) bool {
	f := &finder{s: object}
	depth := 0
	for i := 0; i < len(object); i++ {
		switch c := object[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '"', '\'', '\\', '&':
			m, ok := f.markAt(i)
			if !ok || !opens(object, i) {
				continue
			}
			from := i + len(m.text)
			end := f.closing(m, from, len(object))
			if end < 0 {
				return false
			}
			i = f.behind(m, end) - 1
			if rest := strings.TrimLeft(object[i+1:min(len(object), i+8)], " "); depth == 1 && strings.HasPrefix(rest, ":") && slices.Contains(keysOfRecords, object[from:end]) {
				return true
			}
		}
	}
	return false
}

func wordly(c byte) bool {
	return c == '_' || digit(c) || c|0x20 >= 'a' && c|0x20 <= 'z'
}
