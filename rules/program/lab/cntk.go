package lab

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/array"
	"github.com/oomdoc/oomdoc/rules/step"
)

// CNTK is Microsoft's framework of 2015 to 2019, started on a configuration in
// BrainScript or from Python.
var CNTK = program.Program{
	Name: "cntk", Shown: "CNTK", Rank: 40, Edits: "flags", Language: "other",
	Proofs: []string{"Microsoft::MSR::CNTK", "About to throw exception 'CUDA", "About to throw exception 'cuDNN", "EXCEPTION occurred: CUDA failure", "EXCEPTION occurred: cuDNN failure", "-packages/cntk/"},
	Like:   []*program.Program{&array.Frameworks},
	Titles: map[string]string{"lower_batch_size": "Lower minibatchSize"},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_batch_size": step.Paste("config", "SGD = [\n    minibatchSize = 64    # half of yours; 256 unless it is set\n]"),
	},
	Cards: []cause.Card{{
		ID: "cntk/full", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"CUDNN_STATUS_ALLOC_FAILED", "CUDA failure 2"},
		Among:    []string{cause.BatchTooLarge, cause.ModelTooLarge, cause.Unknown, cause.OversizedAllocation},
		Headline: "ran out of GPU memory",
		Means:    "CNTK could not get GPU memory; the log does not say how much it wanted. Activations grow with the minibatch size. With cuDNN, each convolution adds workspace, which CNTK does not limit by default. Another program on the GPU leaves less room.",
		Not:      "PyTorch's memory settings: CNTK does not have them.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Told: "In the SGD block of the configuration (in Python: the size passed to the minibatch source):", Own: true, Cost: "slower; the learning rate may have to follow"},
			{Fix: "kill_stale_process", Title: "See what else is on the GPU", Told: "`deviceId=1` on the command line or in the configuration selects another GPU.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "limit_framework_preallocation", Title: "Limit cuDNN's workspace", Told: "The value is in samples; the default, 0, means no limit:", Kind: "config", Text: "SGD = [\n    maxTempMemSizeInSamplesForCNN = 1\n]", Cost: "slower convolutions"},
		},
		Sources: []string{"CNTK/Source/SGDLib/SGD.cpp", "CNTK/Source/Math/CuDnnConvolutionEngine.cu", "https://github.com/microsoft/CNTK/issues/220"},
	}},
	Sources: program.Sources{"CNTK/Source/SGDLib/SGD.cpp": "minibatchSize maxTempMemSizeInSamplesForCNN"},
}
