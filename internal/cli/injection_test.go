package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/workshop/paste"
)

// attacks stand where a log has the name of a model, a path, a PID or the value
// of a flag. What they would run is "touch pwned".
var attacks = []string{
	"; touch pwned", "$(touch pwned)", "`touch pwned`", "| touch pwned", "&& touch pwned", "& touch pwned &", "> pwned; touch pwned", "'; touch pwned; '", `"; touch pwned; "`, `\'; touch pwned #`, `a\`,
	"'\"'; touch pwned; '\"'", "$'\\x3btouch pwned'", "${IFS}touch${IFS}pwned", "$IFS;touch$IFS;pwned", "!touch pwned", "#; touch pwned", "~root; touch pwned", "*; touch pwned", "--output=/etc/passwd; touch pwned", "-rf / ; touch pwned",
	"a' -e 'touch pwned", "{touch,pwned}", "<(touch pwned)", "a\ttouch pwned", "a\r; touch pwned", "a\\n; touch pwned", "%0a touch pwned", "1; touch pwned", "-1", "0", "1 -1", "4242; touch pwned", "$$",
	"\x1b]52;c;dG91Y2ggcHduZWQ=\x07", "\x1b]0;title\x07", "\x1b[2J\x1b[1;1H", "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\", "\u009d52;c;aGk=\u009c", "\x1bP+q544e\x1b\\", "\u202egnp.sh", "a\u200b\u2066b", "&#27;]52;c;aGk=&#7;",
	"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "![x](https://evil.example/p.png)", "[click](https://evil.example)", "[x]: https://evil.example", "<https://evil.example>", "``` touch pwned", "`````", "| a | b |", "**bold**", "# Heading", "- item", "</code></pre><b>", "{{7*7}}", "%s%n", "=cmd|'/c calc'!A0",
	"os.system('touch pwned')", `"); os.system("touch pwned"); ("`, `'); os.system('touch pwned'); ('`, "\u2028touch pwned",
}

// victims are logs with a place for an attack.
var victims = []string{
	"$ vllm serve %s --max-model-len 32768 --gpu-memory-utilization 0.9\nINFO non-default args: {'model': '%[1]s', 'max_model_len': 32768}\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.20 GiB is free.\n",
	"$ vllm serve meta-llama/Llama-2-13b-hf --max-model-len %s --gpu-memory-utilization %[1]s --tensor-parallel-size %[1]s\nValueError: To serve at least one request with the models's max seq len (32768), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (3.20 GiB). Based on the available memory, the estimated maximum model length is 6544.\n",
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 200.00 MiB is free. Process %s has 6.00 GiB memory in use. Including non-PyTorch memory, this process has 1.60 GiB memory in use.\n",
	"|    0   N/A  N/A            %s      C   /usr/bin/python%[1]s                        6000MiB |\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 200.00 MiB is free.\n",
	"$ llama-server -m %s -ngl 99 -c 32768 --host %[1]s\nllama_model_loader: loaded meta data with 30 key-value pairs and 724 tensors from %[1]s (version GGUF V3 (latest))\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 24102.50 MiB on device 0: cudaMalloc failed: out of memory\nllama_model_load: error loading model: unable to allocate CUDA0 buffer\n",
	"$ ollama run %s\ntime=2025-03-04T21:14:01.120+01:00 level=INFO source=sched.go:456 msg=\"new model will fit\" model=%[1]s\nError: model requires more system memory (9.8 GiB) than is available (4.2 GiB)\n",
	"$ python train.py --model_name_or_path %s --per_device_train_batch_size %[1]s\nTraceback (most recent call last):\n  File \"%[1]s/train.py\", line 9, in <module>\n    loss.backward()\n  File \"/x/torch/_tensor.py\", line 1, in backward\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)\n",
	"    model = AutoModelForCausalLM.from_pretrained(\"%s\")\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)\n",
	"09:14:40-551201 INFO     Loading \"%s\"\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)\n",
	"Out of memory: Killed process 4242 (%s) total-vm:61203384kB, anon-rss:27914240kB, file-rss:211844kB, shmem-rss:0kB, UID:0 pgtables:61204kB oom_score_adj:0\n",
	"python -m sglang.launch_server --model-path %s --mem-fraction-static %[1]s\nRuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n",
	"%s\ntorch.OutOfMemoryError: CUDA out of memory. %[1]s Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 0 bytes is free. %[1]s\n%[1]s\n",
	"slurmstepd: error: Detected 1 oom_kill event in StepId=%s. Some of the step tasks have been OOM Killed.\n#SBATCH --mem=%[1]s\n",
	"docker run --memory %s --name %[1]s image\n\"OOMKilled\": true, \"ExitCode\": 137 container %[1]s\n",
}

// TestInjection: no log changes what the reader sees, or what a suggested
// command does, in any format.
func TestInjection(t *testing.T) {
	t.Parallel()
	python := map[string]bool{}
	for _, victim := range victims {
		for _, attack := range attacks {
			log := fmt.Sprintf(victim, attack)
			name := fmt.Sprintf("%.30q in %.40q", attack, victim)
			page := run(t, log, "--format", "markdown")
			assertHarmlessMarkdown(t, page, name)
			assertNoControls(t, page, name)
			assertNoControls(t, run(t, log, "--format", "text"), name)
			assertNoControls(t, sgr.ReplaceAllString(run(t, log, "--color", "always"), ""), name)
			out := run(t, log, "--format", "json")
			assertNoControls(t, out, name)
			var r diagnose.Report
			require.NoError(t, json.Unmarshal([]byte(out), &r), name)
			for _, step := range shellSteps(&r) {
				assert.NoError(t, paste.Shell(step, "pwned"), "%s: %s", name, step)
			}
			for _, step := range steps(&r, "python") {
				assert.NoError(t, paste.Python(step, "pwned"), "%s: %s", name, step)
				python[step] = true
			}
		}
	}
	assertPython(t, slices.Collect(maps.Keys(python)))
}

// TestStepsParse: every command that the test logs lead to is one that a shell
// takes, and all code is Python.
func TestStepsParse(t *testing.T) {
	logs, err := filepath.Glob("../../testdata/logs/*/*.log")
	require.NoError(t, err)
	python := map[string]bool{}
	for _, path := range logs {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		r := diagnose.Bytes(raw)
		for _, step := range shellSteps(r) {
			assert.NoError(t, paste.Shell(step, "pwned"), "%s: %s", path, step)
		}
		for _, step := range steps(r, "python") {
			python[step] = true
		}
	}
	assertPython(t, slices.Collect(maps.Keys(python)))
}

// readPython has Python parse pieces of code, and say where the marker stands
// anywhere but in a string.
const readPython = `
import ast, json, sys
for code in json.load(sys.stdin):
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError) as e:
        print(f"{e}: {code}")
        continue
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, str) and "pwned" in value and not isinstance(node, ast.Constant):
                print(f"{value} is a {type(node).__name__}: {code}")
`

// assertPython has a real Python read what is to be pasted into one.
func assertPython(t *testing.T, code []string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("no python3 here: code is only looked at as far as its strings")
		return
	}
	in, err := json.Marshal(code)
	require.NoError(t, err)
	cmd := exec.Command(python, "-c", readPython)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Empty(t, string(out))
}

func run(t *testing.T, log string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	err := Run(context.Background(), args, strings.NewReader(log), &out, &errs, func(string) string { return "" })
	code := Exit(err, &errs)
	require.Less(t, code, codeTrouble, errs.String())
	return out.String()
}

func shellSteps(r *diagnose.Report) []string {
	return steps(r, "shell", "env")
}

func steps(r *diagnose.Report, kinds ...string) []string {
	var steps []string
	for _, in := range r.Incidents {
		for _, fix := range in.Fixes {
			for _, step := range fix.Steps {
				if slices.Contains(kinds, step.Kind) {
					steps = append(steps, step.Text)
				}
			}
		}
	}
	return steps
}

// assertNoControls: no escape, no control, none that hides or turns text.
func assertNoControls(t *testing.T, out, name string) {
	t.Helper()
	for _, r := range out {
		if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff || r == 0xfffd) {
			t.Errorf("%s: %U in the output", name, r)
			return
		}
	}
}

// assertHarmlessMarkdown: a reader of Markdown gets no HTML, no image, and no
// link that is not ours.
func assertHarmlessMarkdown(t *testing.T, page, name string) {
	t.Helper()
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader([]byte(page)))
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.HTMLBlock, *ast.RawHTML, *ast.Image:
			t.Errorf("%s: %s in the page", name, n.Kind())
		case *ast.Link:
			assert.NotContains(t, string(n.Destination), "evil", name)
		case *ast.AutoLink:
			assert.NotContains(t, string(n.URL([]byte(page))), "evil", name)
		}
		return ast.WalkContinue, nil
	})
	require.NoError(t, err)
}
