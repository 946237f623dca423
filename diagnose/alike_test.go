package diagnose

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAlike: a look-alike names the reader's line and what to run, as their
// system sets variables; nothing of the log stands in a command as it is.
func TestAlike(t *testing.T) {
	const failed = "RuntimeError: CUDA error: an illegal memory access was encountered\n"
	const frames = "Traceback (most recent call last):\n  File \"fit.py\", line 40, in <module>\n    main()\n  File \"/home/ria/scan/steps.py\", line 12, in step\n    out = net(batch[idx])\n"
	for name, c := range map[string]struct{ log, title, advice string }{
		"typed":          {"$ python fit.py --width 32 --out=runs/a\n" + frames + failed, "leads to `out = net(batch[idx])` (`steps.py`, line 12), or what failed", "`CUDA_LAUNCH_BLOCKING=1 python fit.py --width 32 --out=runs/a`"},
		"variables":      {"$ CUDA_VISIBLE_DEVICES=1 python3 fit.py\n" + frames + failed, "steps.py", "`CUDA_LAUNCH_BLOCKING=1 CUDA_VISIBLE_DEVICES=1 python3 fit.py`"},
		"hostile":        {"$ python fit.py --out $(id) x`id`\n" + frames + failed, "steps.py", "`CUDA_LAUNCH_BLOCKING=1 python fit.py ...`"},
		"expanded":       {"$ python fit.py --out $(id)\n" + frames + failed, "steps.py", "--out '$(id)'`"},
		"with more":      {"$ python fit.py --width 32 > log.txt 2>&1 &\n" + frames + failed, "steps.py", "`CUDA_LAUNCH_BLOCKING=1 python fit.py --width 32`"},
		"other settings": {"$ LD_PRELOAD=/tmp/x.so python fit.py --plugin /tmp/x.py\n" + frames + failed, "steps.py", "`CUDA_LAUNCH_BLOCKING=1 python fit.py`"},
		"no script":      {"$ python -m pip install x\n" + frames + failed, "steps.py", "`CUDA_LAUNCH_BLOCKING=1 python fit.py ...`"},
		"by its frame":   {frames + failed, "steps.py", "`CUDA_LAUNCH_BLOCKING=1 python fit.py ...`"},
		"several ranks":  {frames + failed + "[rank1]: gone\n", "steps.py", "`CUDA_LAUNCH_BLOCKING=1` before your command"},
		"Windows":        {"C:\\scan>python fit.py --width 32\n" + frames + failed, "steps.py", "`set CUDA_LAUNCH_BLOCKING=1` and then `python fit.py --width 32`"},
		"a notebook":     {"Traceback (most recent call last):\n  File \"/tmp/ipython-input-7-ab12.py\", line 3, in <module>\n    out = net(batch[idx])\n" + failed, "out = net(batch[idx])", "`os.environ[\"CUDA_LAUNCH_BLOCKING\"] = \"1\"` in the first cell"},
		"waited for":     {"$ export CUDA_LAUNCH_BLOCKING=1\n" + frames + failed, "line 12).", "was set"},
		"into a library": {frames + "  File \"/opt/env/lib/python3.10/site-packages/spconv/ops.py\", line 88, in conv\n    return fast(x)\n" + failed, "and from there into spconv (`ops.py`, line 88)", "Then upgrade"},
		"frames cut off": {"    grid = grids.from_points(points)\nRuntimeError: CUDA error: no kernel image is available for execution on the device\n", "The line above the message is `grid = grids.from_points(points)`", ""},
		"innermost first": {"Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f0000000000 (most recent call first):\n  File \"/opt/env/lib/python3.10/site-packages/causal_conv1d/interface.py\", line 71 in forward\n  File \"/home/ria/scan/net.py\", line 12 in mix\n",
			"leads to `mix` (`net.py`, line 12), and from there into causal_conv1d (`interface.py`, line 71)", ""},
		"in a worker": {"ERROR: Unexpected segmentation fault encountered in worker.\n" + frames + "  File \"/opt/env/lib/python3.10/site-packages/torch/utils/data/_utils/signal_handling.py\", line 66, in handler\n    _error_if_any_worker_fails()\nRuntimeError: DataLoader worker (pid 51) is killed by signal: Segmentation fault.\n",
			"not full", "`PYTHONFAULTHANDLER=1 python fit.py ...`"},
	} {
		t.Run(name, func(t *testing.T) {
			report := Bytes([]byte(c.log))
			require.NotEmpty(t, report.Lookalikes)
			assert.Contains(t, report.Lookalikes[0].Title, c.title)
			assert.Contains(t, report.Lookalikes[0].Advice, c.advice)
		})
	}
}

// TestFirstError: a log of which nothing else is known shows its first error, and
// a healthy one none.
func TestFirstError(t *testing.T) {
	for log, want := range map[string]string{
		"2024-05-02 10:11:12 INFO starting\n2024-05-02 10:11:13 ERROR the index is locked\n2024-05-02 10:11:13 ERROR gone\n": "the index is locked",
		"loading\nError: manifest of shard 12 is unreadable\n":                                                               "Error: manifest of shard 12 is unreadable",
		"docker: Error response from daemon: no such network.\n":                                                             "docker: Error response from daemon: no such network.",
		"epoch 1\nError: 0.0213\nerror rate 5 %\nno errors: fine\n":                                                          "",
		"note: ValueError: is what it prints":                                                                                "",
	} {
		report := Bytes([]byte(log))
		if want == "" {
			assert.Empty(t, report.Lookalikes, log)
		} else if assert.Len(t, report.Lookalikes, 1, log) {
			assert.Equal(t, want, report.Lookalikes[0].Text)
		}
	}
}
