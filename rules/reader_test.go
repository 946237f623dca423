package rules

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
)

// readBy is who reads a log of one failure, with a stack of what it proves.
func readBy(t *testing.T, log string, stack ...string) ledger.Reader {
	t.Helper()
	facts := parsers.New(Proofs(), Words()).Parse(text.NewLog(clean.Lines(log, 1)))
	require.NotEmpty(t, facts.Failures)
	x := facts.Failures[0]
	for _, p := range facts.Programs {
		if p.Weight >= 2 {
			stack = append(stack, p.Name)
		}
	}
	c := &ledger.Case{Failure: x, Chain: []fact.Failure{x}, Facts: facts, Backend: x.Backend, Phase: "unknown", Stack: append(stack, x.Framework)}
	reader.Learn(c, known(c))
	return c.Reader
}

// TestWhoReads: what a log of a few lines says of who pasted it.
func TestWhoReads(t *testing.T) {
	const torch = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 6.00 GiB already allocated; 1.00 GiB free; 6.50 GiB reserved in total by PyTorch)\n"
	for _, tt := range []struct {
		name, log string
		want      ledger.Reader
	}{
		{"a message alone", torch, ledger.Reader{Language: "python"}},
		{"a script for pictures", "  File \"/home/me/shop/train_detector.py\", line 8, in <module>\n" + torch, ledger.Reader{Program: "own-script", Work: "vision", Edits: "code", OS: "linux", Language: "python"}},
		{"a script for text", "  File \"C:\\work\\sft_llama.py\", line 8, in train\n" + torch, ledger.Reader{Program: "own-script", Work: "text-training", Edits: "code", OS: "windows", Language: "python"}},
		{"a notebook", "Cell In[4], line 2\n----> 2 b = a.cuda()\n" + torch, ledger.Reader{Program: "own-script", Edits: "code", Language: "python"}},
		{"a package alone is nobody's", "  File \"lib/site-packages/torch/nn/modules/linear.py\", line 114, in forward\n" + torch, ledger.Reader{Language: "python"}},
		{"an environment is somebody's", "  File \"/data/conda/envs/crowd/lib/python3.9/site-packages/torch/nn/modules/linear.py\", line 114, in forward\n" + torch, ledger.Reader{Program: "own-script", Edits: "code", OS: "linux", Language: "python"}},
		{"a program before the library", "  File \"/srv/nnUNet/nnunetv2/run/run_training.py\", line 208, in run_training\n" + torch, ledger.Reader{Program: "nnunetv2", Work: "vision", Edits: "flags", OS: "linux", Language: "python"}},
		{"video in a program for pictures", "got prompt\nRequested to load WanVAE\n!!! Exception during processing !!! CUDA out of memory.\n" + torch, ledger.Reader{Program: "comfyui", Work: "video-generation", Edits: "flags", Language: "python"}},
		{"Python's own word", "  File \"/usr/lib/python3.11/site-packages/transformers/trainer.py\", line 3, in step\n" + torch, ledger.Reader{Program: "hf-trainer", Work: "text-training", Edits: "code", OS: "linux", Language: "python"}},
		{"the kernel's victim", "Out of memory: Killed process 4242 (node) total-vm:40000000kB, anon-rss:30000000kB, file-rss:0kB, shmem-rss:0kB\n", ledger.Reader{Program: "linux-oom-killer", Edits: "admin", OS: "linux", Language: "js"}},
		{"a script that was killed", "/bin/bash: line 1:  88 Killed                  python3 -u prep.py --all\n", ledger.Reader{Program: "own-script", Edits: "code", OS: "linux", Language: "python"}},
		{"a network in its file's name", "  File \"/home/me/hall/nets/ResNet50.py\", line 8, in block\n" + torch, ledger.Reader{Program: "own-script", Work: "vision", Edits: "code", OS: "linux", Language: "python"}},
		{"the kind of work in a command", "%%bash\npython run.py \\\n    --arch roberta \\\n    --do_train\n" + torch, ledger.Reader{Program: "own-script", Work: "text-training", Edits: "code", Language: "python"}},
		{"a prompt is of many kinds", "python run.py --prompt fox --text_encoder big\n" + torch, ledger.Reader{Program: "own-script", Edits: "code", Language: "python"}},
		{"embeddings of an engine for text", "  File \"/usr/lib/python3.11/site-packages/xinference/api/restful_api.py\", line 3, in create_embedding\n" + torch, ledger.Reader{Program: "xinference", Work: "embedding", Edits: "flags", OS: "linux", Language: "python"}},
		{"an engine for text has embeddings inside", "  File \"/usr/lib/python3.11/site-packages/vllm/model_executor/layers/vocab_parallel_embedding.py\", line 3, in forward\n" + torch, ledger.Reader{Program: "vllm", Work: "text-inference", Edits: "flags", OS: "linux", Language: "python"}},
		{"a mesh of devices", "  File \"/srv/mesh/shard.py\", line 3, in put\n" + torch, ledger.Reader{Program: "own-script", Edits: "code", OS: "linux", Language: "python"}},
		{"the shell of a Mac", "Killed: 9                  python3 prep.py\n/bin/bash: line 1:  88 Killed                  python3 -u prep.py --all\n", ledger.Reader{Program: "own-script", Edits: "code", OS: "mac", Language: "python"}},
		{"a Mac", "RuntimeError: MPS backend out of memory (MPS allocated: 5.00 GB, other allocations: 1.00 GB, max allowed: 6.00 GB). Tried to allocate 1.00 GB on private pool.\n", ledger.Reader{OS: "mac", Language: "python"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := readBy(t, tt.log)
			got.Cards, got.Ranks, got.Lines = 0, 0, nil
			assert.Equal(t, tt.want, got)
		})
	}
}

// TestReaderCounts: cards and ranks are those that the log shows, and lines
// prove what is said.
func TestReaderCounts(t *testing.T) {
	const refused = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 23.64 GiB of which 1.00 GiB is free.\n"
	r := readBy(t, "[rank0]: "+refused+"[rank3]:   File \"/home/me/a.py\", line 3, in <module>\n[rank3]: "+refused)
	assert.Equal(t, 4, r.Cards)
	assert.Equal(t, 2, r.Ranks)
	assert.Contains(t, r.Lines, 2)
}

// TestWords: names are cut where people read a new word.
func TestWords(t *testing.T) {
	for name, want := range map[string][]string{
		"train_one_epoch": {"train", "one", "epoch"}, "DQNModel.py": {"dqnmodel", "py"}, "maskHead": {"mask", "head"}, "": nil, "a--b": {"a", "b"},
	} {
		assert.Equal(t, want, slices.Collect(reader.Words(name)), name)
	}
}

// TestProgramsSayWhoReads: every program's literal says what its reader can
// change, in the words of the report.
func TestProgramsSayWhoReads(t *testing.T) {
	works := []string{"", "text-inference", "text-training", "embedding", "image-generation", "video-generation", "vision", "audio", "graph", "science", "data", "rendering", "build"}
	for _, p := range Programs() {
		if p.Name == "" || p == &other {
			continue
		}
		assert.Contains(t, works, p.Work, p.Name)
		assert.Contains(t, []string{"code", "flags", "admin", ""}, p.Edits, p.Name)
		assert.Contains(t, []string{"python", "cpp", "go", "js", "rust", "java", "csharp", "other", ""}, p.Language, p.Name)
		for _, s := range p.Systems {
			assert.Contains(t, []string{"windows", "linux", "mac", "wsl"}, s, p.Name)
		}
		assert.False(t, p.Script != "" && p.Edits != "code", "%s: whoever runs a script on a library edits code", p.Name)
	}
}
