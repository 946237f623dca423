package diagnose_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/workshop/cputime"
)

// patience is far more processor time than anything here takes, and far less
// than what is quadratic in its input would.
const patience = 10 * time.Second

// repeated is a reader of a text n times over, to be read without holding it.
func repeated(text string, n int) io.Reader {
	return &repeatedReader{text: text, left: n}
}

type repeatedReader struct {
	text string
	left int
	rest string
}

func (r *repeatedReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if r.rest == "" {
			if r.left == 0 {
				break
			}
			r.rest, r.left = r.text, r.left-1
		}
		k := copy(p[n:], r.rest)
		r.rest, n = r.rest[k:], n+k
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestHugeInputs: size, depth and repetition cost time in proportion.
func TestHugeInputs(t *testing.T) {
	crash := torchLine("2.00", "1.20")
	flat := strings.TrimSuffix(crash, "\n")
	for name, in := range map[string]io.Reader{
		"64 MiB in one line":              io.MultiReader(repeated("x", 32<<20), strings.NewReader(flat), repeated("y", 32<<20)),
		"one line that ends in a crash":   io.MultiReader(repeated("all is well, ", 4<<20), strings.NewReader(flat)),
		"a crash behind 10^6 prefixes":    io.MultiReader(repeated("[rank0]: ", 1e6), strings.NewReader(crash)),
		"a crash behind 10^6 quote marks": io.MultiReader(repeated("> ", 1e6), strings.NewReader(crash)),
		"a crash behind nested prefixes":  io.MultiReader(repeated("(EngineCore pid=7) ", 20_000), strings.NewReader(crash)),
		"carriage returns":                io.MultiReader(repeated("\r", 8<<20), strings.NewReader(crash)),
		"empty lines":                     io.MultiReader(repeated("\n", 8<<20), strings.NewReader(crash)),
		"NUL bytes":                       io.MultiReader(repeated("\x00", 8<<20), strings.NewReader("\n"+crash)),
		"bytes that are no UTF-8":         io.MultiReader(repeated("\xc0\xff\xfe", 1<<20), strings.NewReader("\n"+crash)),
		"escape sequences":                io.MultiReader(repeated("\x1b[", 4<<20), strings.NewReader("\n"+crash)),
		"a sequence that never ends":      io.MultiReader(repeated("\x1b]52;c;", 1<<20), strings.NewReader("\n"+crash)),
		"open brackets":                   io.MultiReader(repeated("({[<", 1<<20), strings.NewReader("\n"+crash)),
		"backslashes":                     io.MultiReader(repeated(`\`, 4<<20), strings.NewReader("\n"+crash)),
		"a list of arguments, never done": io.MultiReader(repeated("Arguments: ('", 1<<18), strings.NewReader("\n"+crash)),
	} {
		t.Run(name, func(t *testing.T) {
			var r *diagnose.Report
			took := cputime.Of(func() {
				var err error
				r, err = diagnose.Read(context.Background(), in)
				require.NoError(t, err)
			})
			assert.Less(t, took, patience)
			if name == "64 MiB in one line" || strings.Contains(name, "behind") || strings.Contains(name, "arguments") {
				return // found or not: it must end
			}
			require.Len(t, r.Incidents, 1)
			assert.EqualValues(t, 2<<30, r.Incidents[0].Figures.Requested.Bytes)
		})
	}
}

// TestShortAndHard: 200 KiB are kept whole, so that cleaning and parsing see
// all of it.
func TestShortAndHard(t *testing.T) {
	t.Parallel()
	crash := torchLine("2.00", "1.20")
	for _, unit := range []string{
		"[rank0]: ", "> ", "(EngineCore pid=7) ", "\x1b[", "\x1b]", "^[[", `\u001b[`, "#033[", "\r", "|", "│ ", "* ", `\n`, `\\n`, `\"`, "'", "`", "**", "<b>", "&lt;", "<", "{\"log\":\"", "Arguments: (",
		"CUDA out of memory. ", "Tried to allocate 1", "out of memory", "1", "1,", "1.", "-", ".", "GiB", "1 GiB ", "1 GiB (", "Process 1 has 1.00 GiB memory in use. ", "model='", "--model ", "non-default args: {", "Namespace(", "Killed process 1 (", "total-vm:1kB, ",
		"| 0  N/A  N/A  1  C  python  1MiB |\n", "llama_kv_cache_init: ", "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1.00 MiB on device 0: cudaMalloc failed: out of memory\n", "{\"", "time=", "msg=\"", "Traceback (most recent call last):\n", "  File \"a\", line 1, in f\n",
		crash, "\u202e", "\u200b", "\ufeff", "\xed\xa0\x80", "é", "\U0001f4a5",
	} {
		n := 200 << 10 / len(unit)
		took := cputime.Of(func() {
			for _, text := range []string{strings.Repeat(unit, n), strings.Repeat(unit, n) + "\n" + crash, crash + strings.Repeat(unit, n)} {
				diagnose.Bytes([]byte(text))
			}
		})
		assert.Less(t, took, patience, "%.40q", unit)
		t.Logf("%8v for %.40q", took.Round(time.Millisecond), unit)
	}
}

// TestOddBytes: what editors, terminals and pipes do to bytes changes nothing.
func TestOddBytes(t *testing.T) {
	crash := torchLine("2.00", "1.20")
	want := amounts(diagnose.Bytes([]byte(crash)).Incidents[0])
	sixteen := func(order binary.AppendByteOrder) string {
		return string(utf16Bytes(strings.Repeat("INFO all is well\n", 40)+crash, order))
	}
	for name, text := range map[string]string{
		"NUL between letters":             strings.ReplaceAll(crash, "o", "\x00o"),
		"zero-width between words":        strings.ReplaceAll(crash, " ", "\u200b \u2060"),
		"directions":                      "\u202e" + strings.ReplaceAll(crash, " ", " \u2066") + "\u2069\u202c",
		"invalid UTF-8 around":            "\xc0\x80\xff\xfe " + crash + "\xf0\x9f",
		"lone surrogates in UTF-8":        "\xed\xa0\x80 " + crash + "\xed\xbf\xbf",
		"C1 controls":                     "\u009b31m" + crash + "\u009d0;x\u009c",
		"UTF-16 without a mark":           sixteen(binary.LittleEndian),
		"UTF-16, the other order":         sixteen(binary.BigEndian),
		"UTF-16 with a lone surrogate":    "\xff\xfe\x00\xd8" + sixteen(binary.LittleEndian),
		"UTF-16 that ends in half a unit": "\xff\xfe" + sixteen(binary.LittleEndian) + "x",
		"vertical tabs and form feeds":    "\v\f" + crash + "\v\f",
	} {
		r := diagnose.Bytes([]byte(text))
		if assert.Len(t, r.Incidents, 1, name) {
			assert.Equal(t, want, amounts(r.Incidents[0]), name)
		}
	}
}

// TestAbsurdFigures: numbers that are no amounts of memory are left out, and
// nothing is computed from them.
func TestAbsurdFigures(t *testing.T) {
	numbers := []string{
		"1" + strings.Repeat("0", 400), "1" + strings.Repeat("0", 400) + ".00", "-2.00", "-0.00", "NaN", "nan", "inf", "-inf", "1e400", "1e-400", "0x10", "0", "0.00", "18446744073709551616", "18446744073709551615",
		"17179869184.00", "9223372036854775807", "-9223372036854775808", "9007199254740993", ".", ",", "1,2,3", "1.2.3", "--1", "1,,,,,1", strings.Repeat("9", 100), "٣", "１",
	}
	for _, n := range numbers {
		for _, unit := range []string{"GiB", "bytes", "MiB", "B", ""} {
			size := n + " " + unit
			for _, format := range []string{
				"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %s. GPU %[2]s has a total capacity of %[1]s of which %[1]s is free. Process %[2]s has %[1]s memory in use. Including non-PyTorch memory, this process has %[1]s memory in use. Of the allocated memory %[1]s is allocated by PyTorch, and %[1]s is reserved by PyTorch but unallocated.\n",
				"RuntimeError: CUDA out of memory. Tried to allocate %s (GPU %[2]s; %[1]s total capacity; %[1]s already allocated; %[1]s free; %[1]s reserved in total by PyTorch)\n",
				"ValueError: To serve at least one request with the models's max seq len (%[2]s), (%[1]s KV cache is needed, which is larger than the available KV cache memory (%[1]s). Based on the available memory, the estimated maximum model length is %[2]s. Try increasing `gpu_memory_utilization` or decreasing `max_model_len`\n",
				"ggml_backend_cuda_buffer_type_alloc_buffer: allocating %[1]s on device %[2]s: cudaMalloc failed: out of memory\nllama_kv_cache_init: failed to allocate buffer for kv cache\nn_ctx = %[2]s\noffloaded %[2]s/%[2]s layers to GPU\n",
				"Out of memory: Killed process %[2]s (python) total-vm:%[2]skB, anon-rss:%[2]skB, file-rss:%[2]skB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0\n",
				"time=2025-03-04T21:14:01.120+01:00 level=WARN msg=\"model request too large for system\" requested=\"%[1]s\" available=%[2]s total=\"%[1]s\" free=\"%[1]s\" swap=\"%[1]s\"\n",
				"numpy.core._exceptions._ArrayMemoryError: Unable to allocate %[1]s for an array with shape (%[2]s, %[2]s) and data type float64\n",
			} {
				text := fmt.Sprintf(format, size, n)
				r := diagnose.Bytes([]byte(text))
				for _, in := range r.Incidents {
					checkIncident(t, r, in)
					for key, d := range in.Derived {
						assert.Less(t, d.Bytes, int64(1)<<60, "%s of %.80q", key, text)
						assert.Greater(t, d.Bytes, -int64(1)<<60, "%s of %.80q", key, text)
					}
				}
			}
		}
	}
}

// TestChunks: a report does not depend on how its log arrives: in one of the
// ways, in turn; with -every 1 in all of them.
func TestChunks(t *testing.T) {
	t.Parallel()
	for n, path := range glob(t, "../testdata/logs/*/*.log") {
		raw, want := read(t, path)
		for i, pieces := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
			if *every != 1 && (n+i)%3 != 0 {
				continue
			}
			got, err := diagnose.Read(context.Background(), pieces(bytes.NewReader(raw)))
			require.NoError(t, err)
			assert.Equal(t, want, got, "%s in pieces of way %d", path, i)
		}
	}
}

// TestReadErrors: an input that breaks off is no log that ended, wherever it
// breaks, and whether its reader says so once or always. What came before it is
// diagnosed.
func TestReadErrors(t *testing.T) {
	for _, bytes := range []int{0, 100, 4096, 300 << 10, 3<<20 + 1} {
		for _, before := range []string{"", "\xff\xfe"} { // UTF-16
			for _, err := range []error{io.ErrUnexpectedEOF, iotest.ErrTimeout} { // the first is what gzip says of a cut file
				text := torchLine("2.00", "1.20") + strings.Repeat("x", bytes)
				if before != "" {
					text = utf16LE(text)
				}
				in := io.MultiReader(strings.NewReader(before+text), &failsOnce{err: err})
				r, got := diagnose.Read(context.Background(), in)
				assert.ErrorIs(t, got, err, "after %d bytes", bytes)
				require.NotNil(t, r)
				assert.True(t, r.OOM, "after %d bytes", bytes)
				assert.EqualValues(t, len(before+text), r.Input.Bytes)
				assert.Contains(t, strings.Join(r.Notes, "\n"), "Reading broke off")
			}
		}
	}
}

func utf16LE(s string) string {
	var b []byte
	for _, c := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, c)
	}
	return string(b)
}

// failsOnce is a reader that ends after its error.
type failsOnce struct{ err error }

func (f *failsOnce) Read([]byte) (int, error) {
	err := f.err
	f.err = io.EOF
	return 0, err
}

// TestSeams: wherever the seam between two blocks falls in a crash, the report
// is the same; lines count from the crash.
func TestSeams(t *testing.T) {
	t.Parallel()
	const block = 1 << 20
	crash := "INFO non-default args: {'model': 'meta-llama/Llama-2-13b-hf', 'max_model_len': 4096}\n" +
		"Traceback (most recent call last):\n  File \"/opt/vllm/vllm/v1/worker/gpu_worker.py\", line 183, in load_model\n" + torchLine("2.00", "1.20")
	calm := strings.Repeat("INFO 03-01 08:00:00 step done, all is well\n", 2*block/43) // 43 bytes a line
	var want *diagnose.Incident
	for shift := -100; shift < len(crash)+100; shift += 3 {
		before := block - shift
		filler := calm[:before-before%43] + strings.Repeat("\n", before%43)
		r := diagnose.Bytes([]byte(filler + crash + calm[:block/2]))
		require.Len(t, r.Incidents, 1, "shift %d", shift)
		in := r.Incidents[0]
		first := strings.Count(filler, "\n")
		assert.Equal(t, first+4, in.Line, "shift %d", shift)
		if want == nil {
			want = &in
		}
		assert.Equal(t, amounts(*want), amounts(in), "shift %d", shift)
		assert.Equal(t, want.Model.Name, in.Model.Name, "shift %d", shift)
		assert.Equal(t, want.Causes[0].Confidence, in.Causes[0].Confidence, "shift %d", shift)
		assert.Equal(t, want.Phase, in.Phase, "shift %d", shift)
	}
}

// TestLargeChunks: the same for a log of several blocks, byte by byte.
func TestLargeChunks(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < 3<<20; i++ {
		fmt.Fprintf(&b, "INFO step %d done\n", i)
		if i%5000 == 0 {
			b.WriteString(torchLine("2.00", fmt.Sprintf("1.%02d", i/5000%3)))
		}
	}
	want := diagnose.Bytes([]byte(b.String()))
	got, err := diagnose.Read(context.Background(), iotest.OneByteReader(strings.NewReader(b.String())))
	require.NoError(t, err)
	assert.Equal(t, want, got)
}
