package scan

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"unsafe"
)

// Search finds many literals in one pass, ASCII letters in either case. It is
// safe for concurrent use.
//
// It looks at every stride-th position of the text only, at a gram of a few
// bytes there. A word of gram+stride-1 bytes has one of its first stride grams
// at such a position wherever it stands, and only one, so each occurrence is
// found once. A bitmap of those grams says no nearly always; since no position
// waits for the one before, as in Wu and Manber's or Aho and Corasick's
// automata, the processor looks at several of them at a time.
type Search struct {
	words   []string
	longest int
	classes []*class
}

// class holds the words that one gram and one stride fit.
type class struct {
	gram, stride int
	fold, factor uint64 // of its hash
	grams        bitmap
	bucketShift  int      // leaves the upper bits of a hash, which number the buckets
	starts       []uint16 // by bucket: where the places begin
	places       []place
}

// place is a gram of a word.
type place struct {
	print  uint32 // of the gram, to tell it from others of its bucket
	word   uint16
	offset uint16
}

// bitmapBits is the size of the bitmap: it fills a first-level cache, of which
// ordinary text uses little.
const bitmapBits = 18

// Where the parts of a hash begin: the word of the bitmap, its bit, what tells
// the grams of one bucket apart.
const (
	wordShift  = 64 - bitmapBits + 6
	bitShift   = 40
	printShift = 20
)

// fits are the grams and strides that words are sorted into, by length.
var fits = [...]struct{ gram, stride int }{{6, 4}, {4, 2}, {3, 1}}

// longestStride is as far as words of any length let the search go: longer ones
// have more grams that are met in vain.
const longestStride = 4

// caseBits fold letters; what else falls together is told apart by equalFold.
const (
	caseBits = 0x2020202020202020
	mixer    = 0x9e3779b97f4a7c15
)

// Hit is a word found at an offset of the searched text.
type Hit struct {
	Word int
	At   int
}

// NewSearch prepares a search for words of three bytes and more, which are in
// lower case. It keeps them.
func NewSearch(words []string) *Search {
	s := &Search{words: words}
	s.prepare(func(int) bool { return true })
	return s
}

// Only returns a search for some of the words, under the numbers that they
// have.
func (s *Search) Only(wanted func(word int) bool) *Search {
	fewer := &Search{words: s.words}
	fewer.prepare(wanted)
	return fewer
}

// prepare makes the tables for those words that are wanted.
func (s *Search) prepare(wanted func(word int) bool) {
	sorted := [len(fits)][]uint16{}
	for i, w := range s.words {
		if !wanted(i) {
			continue
		}
		s.longest = max(s.longest, len(w))
		k := slices.IndexFunc(fits[:], func(f struct{ gram, stride int }) bool { return len(w) >= f.gram+f.stride-1 })
		if k < 0 {
			panic("scan: words of three bytes and more are needed")
		}
		sorted[k] = append(sorted[k], uint16(i))
	}
	for k, f := range fits {
		if len(sorted[k]) == 0 {
			continue
		}
		shortest := s.longest
		for _, i := range sorted[k] {
			shortest = min(shortest, len(s.words[i]))
		}
		// The stride may be longer where all words are.
		s.classes = append(s.classes, s.newClass(f.gram, min(max(f.stride, shortest-f.gram+1), longestStride), sorted[k]))
	}
}

func (s *Search) newClass(gram, stride int, words []uint16) *class {
	places := len(words) * stride
	bucketBits := bits.Len(uint(places)) - 1 // one or two places in each
	c := &class{
		gram: gram, stride: stride, fold: caseBits, factor: mixer << (64 - 8*gram), bucketShift: 64 - bucketBits,
		starts: make([]uint16, 1<<bucketBits+1), places: make([]place, places),
	}
	often := c.often()
	bases := make([]uint16, len(words)) // where the grams of each word begin
	for i, w := range words {
		bases[i] = uint16(c.rarest(s.words[w], often))
	}
	each := func(f func(bucket uint64, p place)) {
		for i, w := range words {
			for offset := int(bases[i]); offset < int(bases[i])+stride; offset++ {
				h := c.hash(load(s.words[w][offset:]))
				c.grams.add(h)
				f(h>>c.bucketShift, place{uint32(h >> printShift), w, uint16(offset)})
			}
		}
	}
	each(func(bucket uint64, _ place) { c.starts[bucket]++ })
	for i := 1; i < len(c.starts); i++ {
		c.starts[i] += c.starts[i-1] // where each bucket ends, for now
	}
	each(func(bucket uint64, p place) {
		c.starts[bucket]--
		c.places[c.starts[bucket]] = p
	})
	return c
}

// ordinary is what healthy logs are made of. A word is looked for by a part of
// it that is not in here, if it has one: this halves the time.
const ordinary = " - -- server process request prompt cache engine generation throughput running waiting usage model tokens second time " +
	" total available selected truncated loading loaded weights layers buffer size memory device info warning error debug trace version " +
	" python torch transformers site-packages module function file line config default param sampling response update slot      " +
	" received avg reqs pid= id= gpu kv cache usage: eval time = ms id | task none, post get /v1/chat/completions completion http/1.1 200 ok " +
	" ok\n\x1b[0;36m(apiserver pid=1)\x1b[0m info:     200 ok\n(apiserver pid=1) [loggers.py:1] engine 000: avg prompt throughput: 0.0 tokens/s, avg generation throughput: 0.0 tokens/s, running: 0 reqs, " +
	"waiting: 0 reqs, gpu kv cache usage: 0.0%, prefix cache hit rate: 0.0%\nprocessed prompts: 0%|  | s/it] it/s] slot print_timing: id  0 | task 0 | prompt eval time =    0.0 ms /  0 tokens (    0.0 ms per token,   0.0 tokens per second) " +
	"slot update_slots: id  0 | task 0 | prompt processing progress, n_past = 0, n_tokens = 0, progress = 0.0\nslot      release: stop processing: n_past = 0, truncated = 0\nsrv  log_server_r: request: post slot get_availabl: selected slot by lru, " +
	"t_last = 0\nsrv  params_from_: chat format: content-only\nsrv   prompt_save:  - saving prompt with length 0, total state size = 0.0 mib " +
	"samplingparams temperature skip_special_tokens processing processed update_slots computed preempted tokens/s, " +
	"torch/nn/modules/ torch/utils/ torch.cuda. torch.nn. torch_ -packages/torch/ -packages/transformers/ /models/ ldm/modules/ outofmemory out of memory train_ trainer forward inforward optimizer allocated allocation sample segment "

// often returns the grams of [ordinary].
func (c *class) often() *bitmap {
	grams := new(bitmap)
	for i := range len(ordinary) - c.gram + 1 {
		grams.add(c.hash(load(ordinary[i:])))
	}
	return grams
}

// rarest returns where in a word the grams begin that are ordinary least often.
func (c *class) rarest(word string, often *bitmap) int {
	best, fewest := 0, c.stride+1
	seen := uint(0) // a bit for each gram up to the last one: it is ordinary
	for last := 0; last+c.gram <= len(word) && fewest > 0; last++ {
		seen <<= 1
		if often.has(c.hash(load(word[last:]))) {
			seen |= 1
		}
		base := last - c.stride + 1
		if n := bits.OnesCount(seen & (1<<c.stride - 1)); base >= 0 && n < fewest {
			best, fewest = base, n
		}
	}
	return best
}

// Words returns what is searched for, in lower case.
func (s *Search) Words() []string { return slices.Clone(s.words) }

// Word returns what is searched for under a number.
func (s *Search) Word(number int) string { return s.words[number] }

// Longest returns the length of the longest word.
func (s *Search) Longest() int { return s.longest }

// All returns every occurrence of every word, in the order of where they begin.
func (s *Search) All(text string) []Hit {
	hits := make([]Hit, 0, min(len(text)/16, 128))
	for i := range s.classes {
		hits = s.classes[i].find(s.words, text, hits)
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		if a.At != b.At {
			return a.At - b.At
		}
		return a.Word - b.Word
	})
	return hits
}

// find adds the occurrences of a class's words.
func (c *class) find(words []string, text string, hits []Hit) []Hit {
	i := 0
	for {
		i = c.next(text, i)
		if i+c.gram > len(text) {
			return hits
		}
		hits = c.verify(words, text, i, hits)
		i += c.stride
	}
}

// next returns the first position from i on, in strides, that a word's gram may
// stand at. It stops eight bytes before the end at the latest.
func (c *class) next(text string, i int) int {
	p, stride, fold, factor, grams := unsafe.Pointer(unsafe.StringData(text)), c.stride, c.fold, c.factor, &c.grams
	for last := len(text) - 8 - 3*stride; i <= last; i += stride { // four at a time
		if grams.has((eight(p, i) | fold) * factor) {
			return i
		}
		if i += stride; grams.has((eight(p, i) | fold) * factor) {
			return i
		}
		if i += stride; grams.has((eight(p, i) | fold) * factor) {
			return i
		}
		if i += stride; grams.has((eight(p, i) | fold) * factor) {
			return i
		}
	}
	for ; i <= len(text)-8; i += stride {
		if grams.has((eight(p, i) | fold) * factor) {
			return i
		}
	}
	return i
}

// eight reads eight bytes, which must be there.
func eight(p unsafe.Pointer, at int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(p, at))[:])
}

// verify adds the words that have the gram at i.
func (c *class) verify(words []string, text string, i int, hits []Hit) []Hit {
	h := c.hash(load(text[i:]))
	bucket, print := h>>c.bucketShift, uint32(h>>printShift)
	for _, p := range c.places[c.starts[bucket]:c.starts[bucket+1]] {
		if p.print != print {
			continue
		}
		start, word := i-int(p.offset), words[p.word]
		end := start + len(word)
		if start >= 0 && end <= len(text) && (text[end-1]^word[len(word)-1])&^0x20 == 0 && equalFold(text[start:end], word) {
			hits = append(hits, Hit{Word: int(p.word), At: start})
		}
	}
	return hits
}

// hash mixes a gram. What follows the gram is multiplied out of it.
func (c *class) hash(v uint64) uint64 { return (v | c.fold) * c.factor }

// bitmap is a set of hashes.
type bitmap [1 << bitmapBits / 64]uint64

func (b *bitmap) add(hash uint64) { b[hash>>wordShift] |= 1 << (hash >> bitShift % 64) }

// has may also say yes of a hash that was not added.
func (b *bitmap) has(hash uint64) bool { return b[hash>>wordShift]>>(hash>>bitShift%64)&1 != 0 }

// load reads eight bytes, or what there is.
func load(s string) uint64 {
	if len(s) >= 8 {
		return binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(s), 8))
	}
	var b [8]byte
	copy(b[:], s)
	return binary.LittleEndian.Uint64(b[:])
}

// splitSize is the least text that is worth a second core.
const splitSize = 256 << 10

// Parallel is [Search.All] on two cores for long texts.
func (s *Search) Parallel(text string) []Hit {
	if len(text) < splitSize || runtime.GOMAXPROCS(0) < 2 {
		return s.All(text)
	}
	middle := len(text) / 2
	var upper []Hit
	var group sync.WaitGroup
	group.Go(func() {
		upper = s.All(text[middle:])
		for i := range upper {
			upper[i].At += middle
		}
	})
	lower := s.All(text[:min(middle+s.Longest()-1, len(text))])
	group.Wait()
	for len(lower) > 0 && lower[len(lower)-1].At >= middle {
		lower = lower[:len(lower)-1] // the other half found it as well
	}
	return append(lower, upper...)
}

// equalFold compares text with a lower-case word of the same length.
func equalFold(text, word string) bool {
	for i := 0; i < len(word); i++ {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}
