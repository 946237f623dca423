package parsers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// TestCode: files of code are found in tracebacks and starts, and told from
// those of packages.
func TestCode(t *testing.T) {
	for line, want := range map[string]fact.Code{
		`  File "/home/me/a b/train.py", line 12, in main`:                            {File: "/home/me/a b/train.py", Function: "main", At: 12, Own: true},
		`  File "D:\work\net.py", line 3, in forward`:                                 {File: "D:/work/net.py", Function: "forward", At: 3, Own: true},
		`  File "/opt/py/lib/python3.9/site-packages/foo/bar.py", line 9, in run`:     {File: "/opt/py/lib/python3.9/site-packages/foo/bar.py", Function: "run", At: 9},
		`~/lab/net.py in forward(self, x)`:                                            {File: "~/lab/net.py", Function: "forward", Own: true},
		`ks/master/networks/arch.py", line 79, in forward`:                            {File: "ks/master/networks/arch.py", Function: "forward", At: 79, Own: true},
		`Cell In[7], line 2`:                                                          {File: "cell.py", Function: "<module>", Own: true},
		`$ python3 -u scripts/fit.py --batch 8`:                                       {File: "scripts/fit.py", Args: " --batch 8", Own: true},
		`  File "/work/ice/tools/../lib/core/loop.py", line 4, in step`:               {File: "/work/ice/tools/../lib/core/loop.py", Function: "step", At: 4, Own: true},
		`  File "E:\shop\infer\lib\net.py", line 4, in step`:                          {File: "E:/shop/infer/lib/net.py", Function: "step", At: 4, Own: true},
		`  File "D:\shop\nets\__init__.py", line 4, in forward`:                       {File: "D:/shop/nets/__init__.py", Function: "forward", At: 4, Own: true},
		`  File "C:\Python311\Lib\queue.py", line 4, in get`:                          {File: "C:/Python311/Lib/queue.py", Function: "get", At: 4},
		`  File "/home/me/envs/ice/lib/queue.py", line 4, in get`:                     {File: "/home/me/envs/ice/lib/queue.py", Function: "get", At: 4},
		`  File "torch/_tensor.py", line 4, in backward`:                              {File: "torch/_tensor.py", Function: "backward", At: 4},
		`torchrun --nproc_per_node 2 run.py`:                                          {File: "run.py", Own: true},
		`	/usr/local/go/src/runtime/panic.go:1229 +0x48`:                              {File: "/usr/local/go/src/runtime/panic.go"},
		`    at load (/srv/app/main.mjs:12:7)`:                                        {File: "/srv/app/main.mjs"},
		`INFO 11-04 10:22:31 [core.py:708] it is a logger's prefix and no own script`: {},
	} {
		f := New(nil, nil).Parse(text.NewLog(clean.Lines(line, 1)))
		if want.File == "" {
			assert.Empty(t, f.Code, line)
			continue
		}
		want.Line = 1
		assert.Equal(t, []fact.Code{want}, f.Code, line)
	}
}

// TestSourceLines: the source line of a frame is read from Python's and from
// IPython's tracebacks, indented or not, and nothing else is taken for one.
func TestSourceLines(t *testing.T) {
	for log, want := range map[string]string{
		"  File \"a.py\", line 3, in f\n    y = g(x)\n        ~^^^\nRuntimeError: no":      "y = g(x)",
		"File \"a.py\", line 3, in f\ny = g(x)\nRuntimeError: no":                          "y = g(x)",
		"  File \"a.py\", line 3, in f\nRuntimeError: no":                                  "",
		"  File \"a.py\", line 3, in f\n  File \"b.py\", line 4, in g\n    z":              "",
		"File \"a.py\", line 3, in f\nValueError: no":                                      "",
		"~/a.py in f(x)\n      6     x = h(x)\n----> 7     y = g(x)\n      8     return y": "y = g(x)",
	} {
		f := New(nil, nil).Parse(text.NewLog(clean.Lines(log, 1)))
		require.NotEmpty(t, f.Code, log)
		assert.Equal(t, want, f.Code[0].Source, log)
	}
}

// TestHeadless: a statement above PyTorch's message is read though the line that
// names its file was cut off, and nothing else is taken for one.
func TestHeadless(t *testing.T) {
	const refused = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity)"
	for above, want := range map[string]string{
		"lm_logits = self.lm_head(outputs[0]) + self.bias\n":           "lm_logits = self.lm_head(outputs[0]) + self.bias",
		"    return F.linear(x, w)\n           ^^^^^^^^^^\n":           "return F.linear(x, w)",
		"y = self.head(x[:, -9:]) + b\n":                               "y = self.head(x[:, -9:]) + b",
		"q, k = self.split(x)\n":                                       "q, k = self.split(x)",
		"Loading model (7B)\n":                                         "",
		"12:01 INFO trainer.step(3)\n":                                 "",
		"epoch 3 loss 0.25\n":                                          "",
		"  File \"a.py\", line 3, in f\n    y = g(x)\n":                "y = g(x)",
		"  File \"a.py\", line 3, in f\n    y = g(x)\n      ~~~^^^^\n": "y = g(x)",
	} {
		f := New(nil, nil).Parse(text.NewLog(clean.Lines(above+refused, 1)))
		if want == "" {
			assert.Empty(t, f.Code, above)
			continue
		}
		require.Len(t, f.Code, 1, above)
		assert.Equal(t, want, f.Code[0].Source)
	}
}

// TestSystem: what names the system that a log was made on, and what only looks
// like it.
func TestSystem(t *testing.T) {
	for line, want := range map[string]string{
		`.\main.exe -m C:\models\a.gguf`:                    fact.OnWindows,
		`loading ..\models\a.gguf`:                          fact.OnWindows,
		`PS C:\Users\me> python run.py`:                     fact.OnWindows,
		`llama_model_load: /home/me/models/a.gguf`:          fact.OnLinux,
		`/Users/me/models/a.gguf`:                           fact.OnMac,
		`Linux version 5.15.90.1-microsoft-standard-WSL2`:   fact.OnWSL,
		`see https://example.org/home/page.py`:              "",
		`Worker.execute() done`:                             "",
		`sys.argv[0] = re.sub('(-script.pyw|.exe)?$', '')`:  "",
		`ggml_metal_init: picking default device: Apple M2`: fact.OnMac,
	} {
		got := map[string]bool{}
		for _, s := range New(nil, nil).Parse(text.NewLog(clean.Lines(line, 1))).Signals {
			got[s.ID] = true
		}
		if want != "" {
			assert.True(t, got[want], line)
			continue
		}
		for _, id := range []string{fact.OnWindows, fact.OnLinux, fact.OnMac, fact.OnWSL} {
			assert.False(t, got[id], "%s: %s", line, id)
		}
	}
}
