package diagnose_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"html"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// FuzzRead feeds anything to the whole: no panic, and a report that keeps its
// promises. Its seeds are all logs: each report has the shape of schema.json and
// comes back from its JSON as it was.
func FuzzRead(f *testing.F) {
	for _, path := range glob(f, "../testdata/logs/*/*.log") {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte("CUDA out of memory. Tried to allocate 1e400 GiB (GPU 99999999999; -1.00 GiB total capacity; 17179869184.00 GiB free)"))
	f.Add([]byte("\xff\xfeC\x00U\x00D\x00A\x00 \x00"))
	f.Fuzz(func(t *testing.T, raw []byte) { checkReport(t, raw, diagnose.Bytes(raw)) })
}

// TestSpliced does what a byte-wise fuzzer seldom finds: logs cut into one
// another, with characters that break cutting, folding and JSON. Each spliced
// log depends on its number alone, and hardly on which test logs there are: a
// new one must not change what the others are made into.
func TestSpliced(t *testing.T) {
	t.Parallel()
	logs := shelf{}
	for _, path := range glob(t, "../testdata/logs/*/*.log") {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		if len(raw) < 6000 {
			logs = append(logs, shelved{crc32.ChecksumIEEE([]byte(path)), raw})
		}
	}
	slices.SortFunc(logs, func(a, b shelved) int { return cmp.Compare(a.at, b.at) })
	slowest, slow := time.Duration(0), []byte(nil)
	defer func() { t.Logf("the slowest took %v: %.2000q", slowest, slow) }()
	for n := range *splices {
		raw := splice(rand.New(rand.NewPCG(uint64(n), *spliceSeed)), logs)
		start := time.Now()
		r := diagnose.Bytes(raw)
		if took := time.Since(start); took > slowest {
			slowest, slow = took, raw
		}
		if !checkReport(t, raw, r) || !checkPages(t, raw, r) {
			t.Fatalf("%q", raw)
		}
	}
}

var (
	splices    = flag.Int("splices", 250, "how many spliced logs TestSpliced reads")
	spliceSeed = flag.Uint64("splice-seed", 1, "which ones")
)

// awkward breaks cutting, folding, numbers, JSON, shells and pages.
var awkward = []string{
	// bytes and runes
	"\xff", "\xc3", "\xe2\x80", "\x80", "\xed\xa0\x80", "\xf0\x9f", "é", "İ", "\u212a", "ſ", "𝔸", "\u0085", "\u00a0", "\u00ad", "\u061c", "\u180e", "\u2028", "\ufffd", "\ufffe", "\u200b", "\u202e", "\u2066", "\U000e0041", "\ue000", "\u0301", "│", "❱", "🔥",
	// controls and their residue
	"\x00", "\x07", "\x08", "\x1b", "\x1b[31m", "\x1b]52;c;aGk=\x07", "\x1b]8;;https://evil.example\x1b\\", "\u009b31m", "\x7f", "^[[0m", "[36m", "#033[", `\u001b[0m`, `\x1b[1m`, "\n", "\r", "\r\n", "\n\n", "\t", " ", "  ",
	" 45%|####5     | 9/20 [00:01<00:02,  5.00it/s]\r",
	// quotes and escapes
	`"`, `\`, `\\`, `\n`, `\\n`, `\"`, `\ud800`, `\u0000`, "'", "`", "```", "**", "$", "${", "$(", "&#55296;", "&#0;", "&#x1b;", "&#x202e;", "&lt;b&gt;", "&quot;", "&nbsp;", "</span>", "<br>", "<", ">", "(", ")", "[", "]", "{", "}", "|",
	// numbers
	"0", "9", "-", "--", ".", ",", "=", "/", ":", "%", "e400", "nan", "inf", "-1", "-2.00 GiB", "0 bytes", "999999999999999999999", "17179869184.00 GiB", "18446744073709551615", "-9223372036854775808", "9223372036854775807 bytes", "1,2,3.4 MiB", "0x10", "٣", "١", " KiB", " TiB", " B", "1e9",
	// furniture
	"[rank3]: ", "(EngineCore_0 pid=7) ", "(Worker_TP0 pid=-1) ", "ollama  | ", "> ", "│ ", "# ", "E   ", "Jan 26 17:48:20 host ollama[1418]: ", "2024-06-28T06:11:52.685300953Z ", "INFO 11-18 18:07:17 worker.py:267] ", "1.06.520.077 E ", "ERROR:    ", "MESSAGE=", `{"log":"`, `\n","stream":"stderr"}`, `time=2025-03-04T21:14:01.120+01:00 level=INFO msg="`,
	// what would run, or show as a page
	"; touch pwned", "$(touch pwned)", "`touch pwned`", "' ; touch pwned #", "| touch pwned", "\"); pwned(\"", "'); pwned('", "<script>pwned</script>", "![x](https://evil.example)", "@octocat", "# heading", "| a | b |", "~~~",
	// what others print
	"CUDA out of memory. ", "Tried to allocate ", "out of memory", "Killed process 1 (", "--model ", "vllm serve ", "model='", "args: Namespace(", "non-default args: {", "Arguments: (", "| 0  N/A  N/A  1  C  python  1MiB |\n", "Traceback (most recent call last):\n", "During handling of the above exception, another exception occurred:\n",
}

// shelf holds logs at places that their names give, in order.
type shelf []shelved

type shelved struct {
	at  uint32
	raw []byte
}

// pick takes the log behind a place that chance gives.
func (s shelf) pick(chance *rand.Rand) []byte {
	i, _ := slices.BinarySearchFunc(s, chance.Uint32(), func(log shelved, at uint32) int { return cmp.Compare(log.at, at) })
	return s[i%len(s)].raw
}

// splice makes one to eight changes to one of the logs.
func splice(chance *rand.Rand, logs shelf) []byte {
	raw := slices.Clone(logs.pick(chance))
	for range 1 + chance.IntN(8) {
		at := chance.IntN(len(raw) + 1)
		end := min(len(raw), at+chance.IntN(60))
		switch chance.IntN(4) {
		case 0:
			end = at
			fallthrough
		case 1:
			raw = slices.Replace(raw, at, end, []byte(awkward[chance.IntN(len(awkward))])...)
		case 2:
			other := logs.pick(chance)
			from := chance.IntN(len(other))
			raw = slices.Insert(raw, at, other[from:min(len(other), from+chance.IntN(200))]...)
		case 3:
			raw = slices.Delete(raw, at, end)
		}
	}
	return around(chance, raw)
}

// around changes all of a log, now and then: what prints, ships and saves logs
// does so.
func around(chance *rand.Rand, raw []byte) []byte {
	switch chance.IntN(40) {
	case 0:
		return utf16Bytes(string(raw), binary.LittleEndian)
	case 1:
		return utf16Bytes("\ufeff"+string(raw), binary.BigEndian)
	case 2:
		return []byte(html.EscapeString(string(raw)))
	case 3:
		quoted, _ := json.Marshal(string(raw)) // never fails for a string
		return quoted
	case 4:
		return bytes.ReplaceAll(raw, []byte("\n"), []byte("\r"))
	case 5:
		return bytes.ReplaceAll(raw, []byte("\n"), []byte("\n"+awkward[chance.IntN(len(awkward))]))
	case 6:
		return bytes.ReplaceAll(raw, []byte(" "), []byte(awkward[chance.IntN(len(awkward))]))
	case 7:
		var lines [][]byte
		for line := range bytes.Lines(raw) {
			quoted, _ := json.Marshal(string(line))
			lines = append(lines, fmt.Appendf(nil, "{\"log\":%s,\"stream\":\"stderr\"}\n", quoted))
		}
		return bytes.Join(lines, nil)
	}
	return raw
}

func utf16Bytes(s string, order binary.AppendByteOrder) []byte {
	var b []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, unit)
	}
	return b
}

// TestConcurrentReads: one library, many readers.
func TestConcurrentReads(t *testing.T) {
	raw, err := os.ReadFile("../testdata/logs/pytorch/traceback-3k.log")
	require.NoError(t, err)
	want := diagnose.Bytes(raw)
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() { assert.Equal(t, want, diagnose.Bytes(raw)) })
	}
	group.Wait()
}
