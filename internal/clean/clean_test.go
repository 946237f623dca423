package clean

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStrip(t *testing.T) {
	const text = "torch.OutOfMemoryError: CUDA out of memory."
	for _, tt := range []struct{ prefix, source string }{
		{"", ""},
		{"[rank3]: ", "rank3"},
		{"rank4]: ", "rank4"},
		{"    ", ""},
		{"> > ", ""},
		{"### ", ""},
		{"**", ""},
		{"│ ", ""},
		{"⠦ ", ""},
		{"(EngineCore_DP0 pid=6880) ", "EngineCore_DP0 pid=6880"},
		{"2026-05-08 11:47:02.257 [Error] (Process) (EngineCore pid=2651) ", "EngineCore pid=2651"}, // under Lemonade
		{"(APIServer pid=1) (EngineCore pid=7) ERROR 12-23 23:04:22 [core.py:1525] ", "EngineCore pid=7"},
		{"(RayWorkerWrapper pid=1054, ip=10.0.0.1) ERROR 01-02 02:39:17 worker_base.py:467] ", "RayWorkerWrapper pid=1054"},
		{"RayWorkerWrapper pid=1861983) ", "RayWorkerWrapper pid=1861983"},
		{"INFO 11-18 18:07:17 worker.py:267] ", ""},
		{"ERROR 04-01 23:46:56 [engine.py:160] ", ""},
		{"vllm-1  | ", ""},
		{"ollama  | ", ""},
		{"Jan 26 17:48:20 host ollama[1418]: ", ""},
		{"12月 03 18:13:23 host ollama[3235]: ", ""},
		{"2024-06-28T06:11:52.685300953Z ", ""},
		{"2023-07-31 14:51:30 ERROR:", ""},
		{"09:45:47-104233 ERROR    ", ""},
		{"[2025-07-02 07:41:58 DP0 TP5] ", "TP5"},
		{"[2023-07-04 17:31:27,755] [INFO] [launch.py:315:sigkill_handler] ", ""},
		{"[TensorRT-LLM][ERROR] ", "TRT-LLM"},
		{"[TRT-LLM] [RANK 1] [E] ", "TRT-LLM rank1"},
		{"(VllmWorker rank=1 pid=2978) ERROR 03-19 07:27:53 [multiproc_executor.py:375] ", "VllmWorker rank=1 pid=2978"},
		{"E1103 02:59:01.152656 81041 backend_model.cc:553] ", ""},
		{"1.06.520.077 E ", ""},
		{"[53193] ", ""},
		{"*** ", ""},
		{"E   ", ""},
		{"ERROR:    ", ""},
		{"\x1b[0;36m(EngineCore pid=7)\x1b[0m ", "EngineCore pid=7"},
		{"^[[0;36m", ""},
		{"#033[2m", ""},
	} {
		got := Lines(tt.prefix+text, 1)[0]
		assert.Equal(t, text, got.Text, "%q", tt.prefix)
		assert.Equal(t, tt.source, got.Source, "%q", tt.prefix)
	}
}

func TestStripKeepsText(t *testing.T) {
	for _, s := range []string{
		`D:\apps\oobabooga_windows\server.py`,
		"(GPU 0; 8.00 GiB total capacity)",
		"[1024,1024,1024,2] is the shape",
		"INFORMATION about memory",
		"12 vs 0",
		"Error: llama runner exited",
		"a | b | c",
	} {
		got, _, _ := Strip(s)
		assert.Equal(t, s, got)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b]0;title\x07memory":                   "memory",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"out\x00 of\u200b memory":                  "out of memory",
		"\u201cquoted\u201d\u00a0text":             `"quoted" text`,
		"tensor[36]":                               "tensor[36]",
		"[36mtorch":                                "torch",
		`\u001b[31mred`:                            "red",
		"a\x1b":                                    "a",
	} {
		assert.Equal(t, want, Printable(in), "%q", in)
	}
}

func TestLines(t *testing.T) {
	got := Lines("one\r\n 10%\r 20%\rTHCudaCheck FAIL\n\nlast", 5)
	var texts []string
	var numbers []int
	for _, l := range got {
		texts, numbers = append(texts, l.Text), append(numbers, l.Number)
	}
	assert.Equal(t, []string{"one", "10%", "20%", "THCudaCheck FAIL", "last"}, texts)
	assert.Equal(t, []int{5, 6, 6, 6, 8}, numbers)
}

func TestHTML(t *testing.T) {
	got := Lines(`<span style="x">OutOfMemoryError</span><span>: CUDA out of memory. 3 &lt; 4</span>`, 1)[0]
	assert.Equal(t, "OutOfMemoryError: CUDA out of memory. 3 < 4", got.Text)
	assert.Equal(t, "red bell", Lines("&#27;[31mred &#7;bell", 1)[0].Text)
}

func TestSqueeze(t *testing.T) {
	for in, want := range map[string]string{
		"CUDA out of\nmemory":                       "cudaoutofmemory",
		"Try `max_num_seqs` **now**":                "trymax_num_seqsnow",
		`error="a\nb \"c\""`:                        `error="ab"c""`,
		`C:\new\table D:\x`:                         `c:\new\tabled:\x`,
		"│ RuntimeError │":                          "runtimeerror",
		"Получено 16.9\n4 GiB":                      "Получено16.94gib",
		"File \"torch\\nn\\functional.py\", line 3": `file"torch\nn\functional.py",line3`,
		`msg=\"lost\nfile\tx\"`:                     `msg="lostfilex"`,
	} {
		got := Squeeze(in)
		assert.Equal(t, want, got.Lower)
		assert.Len(t, got.At, len(got.Lower))
	}
}

func FuzzLines(f *testing.F) {
	f.Add("[rank0]: (a pid=1) 2024-01-01 10:00:00 x\n> │ y")
	f.Fuzz(func(t *testing.T, s string) {
		for _, l := range Lines(s, 1) {
			if strings.ContainsAny(l.Text, "\x1b\x07\r\n\x00") {
				t.Errorf("control character left in %q", l.Text)
			}
			sq := Squeeze(l.Text)
			if len(sq.At) != len(sq.Lower) {
				t.Errorf("offsets do not match the text: %q", l.Text)
			}
		}
	})
}

func TestUnwrap(t *testing.T) {
	for in, want := range map[string]Line{
		`{"log":"[rank3]: CUDA out of memory.\n","stream":"stderr","time":"2025-01-02T03:04:05Z"}`: {Number: 1, Text: "CUDA out of memory.", Source: "rank3", Logged: true},
		`MESSAGE=[rank3]: CUDA out of memory.`:                                                     {Number: 1, Text: "CUDA out of memory.", Source: "rank3", Logged: true},
		`{"log":"cut in the mid`:                                                                   {Number: 1, Text: `{"log":"cut in the mid`},
	} {
		got := Lines(in, 1)
		require.Len(t, got, 1, in)
		got[0].Width = 0
		assert.Equal(t, want, got[0], in)
	}
}

// TestUnseen: letters that look like nothing do not reach a command.
func TestUnseen(t *testing.T) {
	for _, r := range []rune{0x3164, 0x115f, 0x1160, 0xffa0, 0xfe00, 0xfe0f, 0x180b, 0x180e, 0x034f, 0xe0100, 0x2800, 0x200b, 0x2062, 0xfeff, 0xfff0} {
		assert.Equal(t, "--model a/b", Lines("--model a/"+string(r)+"b", 1)[0].Text, "%U", r)
	}
}

// TestEscapedLineEnds: what a record says is lines, what else stands in quotes
// is none.
func TestEscapedLineEnds(t *testing.T) {
	for in, want := range map[string][]string{
		`ERROR a\nb\\nc`:                             {"a", "b", "c"},
		`{"level":"error","msg":"a\nb"}`:             {`{"level":"error","msg":"a`, `b"}`},
		`{"x":1,"log":"msg=\"a\\nb\" x=\"c\\nd\""}`:  {`{"x":1,"log":"msg=\"a`, `b\" x=\"c\\nd\""}`},
		`args: {'x': 'a\nvllm serve y', 'z': "b\n"}`: {`args: {'x': 'a\nvllm serve y', 'z': "b\n"}`},
		`it's a\nb`:     {"it's a", "b"},
		`C:\new "D:\n"`: {`C:\new "D:\n"`},
	} {
		var got []string
		for i, l := range Lines(in, 1) {
			got = append(got, l.Text)
			assert.Equal(t, i > 0, l.Inner, in)
		}
		assert.Equal(t, want, got, in)
	}
}
