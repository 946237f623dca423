package server

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/engine"
	"github.com/oomdoc/oomdoc/rules/program/server/parts"
	"github.com/oomdoc/oomdoc/rules/program/server/vllm"
	"github.com/oomdoc/oomdoc/rules/step"
)

// placed are the steps with where they go, under a program that hands options on
// to vLLM: without a card nothing else says it.
func placed(own map[string]func(c *ledger.Case) []step.Step) map[string]func(c *ledger.Case) []step.Step {
	out := map[string]func(c *ledger.Case) []step.Step{}
	for fix, steps := range own {
		out[fix] = func(c *ledger.Case) []step.Step {
			list := steps(c)
			if host, hosted := vllm.Server.Host(c); hosted && len(list) == 1 && list[0].Kind == "config" {
				return append([]step.Step{{Kind: "text", Text: host.Where}}, list...)
			}
			return list
		}
	}
	return out
}

// onEngine chooses by the engine below: vLLM's own step, or words for Transformers.
func onEngine(fix, otherwise string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		if c.In("vllm") {
			return placed(vllmSteps)[fix](c)
		}
		return text(otherwise)(c)
	}
}

// smallerLaunch lowers the share as vLLM's figures allow.
func smallerLaunch(c *ledger.Case) []step.Step {
	n := vllmFigures(c)
	told := "First run `xinference terminate --model-uid UID` (UID: from `xinference list`). Then launch the model with your options and `--gpu_memory_utilization " + n["low"] + "` instead of " + n["from"]
	if n["freed"] != "" {
		told += ", which leaves " + n["freed"] + " more of the GPU free"
	}
	return text(told + "." + inPage)(c)
}

const inPage = " In the web page: additional parameters passed to the inference engine."

// oneEngineHolds: what others hold is about the share that vLLM takes unset.
func oneEngineHolds(c *ledger.Case) bool {
	return c.Others.Has() && c.Total.Has() && c.Others.Bytes > c.Total.Bytes*85/100 && c.Others.Bytes < c.Total.Bytes*96/100
}

// Xinference launches models on engines of others and hands their options on.
var Xinference = program.Program{
	Name: "xinference", Shown: "Xinference", Work: "text-inference", Edits: "flags", Language: "python",
	Commands: []string{"xinference"},
	Units:    []string{"xinference"},
	Proofs:   []string{"xinference/core/", "xinference/model/", "xinference/api/", "xinference.core", "xinference.model", "xinference.api", "xinference/", "xinference.", "envs/xinference", "[address=0.0.0.0:", "[address=127.0.0.1:", "Model actor is out of memory, model id"},
	Sources: program.Sources{
		"xinference/model/llm/llama_cpp/core.py":                    "--n_gpu_layers",
		"xinference/deploy/cmdline.py":                              "--gpu-idx --model-engine --model-uid --n-gpu --quantization --size-in-billions",
		"inference/doc/source/getting_started/using_xinference.rst": "--gpu_memory_utilization --max_model_len --max_num_batched_tokens --max_num_seqs --enforce_eager",
	},
	Steps: steps{
		"lower_context":                onEngine("lower_context", "Launch the model again with a smaller context: `n_ctx` of the llama.cpp engine; with Transformers send shorter prompts and lower `max_tokens`."),
		"lower_gpu_memory_utilization": smallerLaunch,
		"multi_gpu":                    text("Launch the model again with `--n-gpu 2` (web page: GPU Count)."),
		"select_gpu":                   text("Launch the model again with `--gpu-idx 1` (web page: GPU Idx), the number of a free GPU in `nvidia-smi`."),
		"fewer_gpu_layers":             text("Launch the model again with `--n_gpu_layers 20` (web page: additional parameters passed to the inference engine): the other layers stay in RAM."),
		"use_lower_quant":              text("Choose another Quantization on the launch page, or `--quantization` on the command line (AWQ or GPTQ Int4, a GGUF Q4_K_M)."),
		"use_smaller_model":            text("Choose a smaller Model Size on the launch page, or `--size-in-billions` on the command line."),
		"lower_batch_size":             onEngine("lower_max_num_seqs", "Send fewer texts per request: an embedding or rerank request is computed in large batches."),
		"restart_session":              step.Paste("shell", "xinference list   # then, for each model that you do not need: xinference terminate --model-uid UID (UID: its first column)"),
		"upgrade_version":              step.Paste("shell", "pip install -U xinference"),
	},
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge: {
			{Fix: "use_lower_quant", Fit: cause.Cures}, {Fix: "fewer_gpu_layers", Fit: cause.Cures, If: func(c *ledger.Case) bool { return c.In("llama.cpp") }}, {Fix: "restart_session", Fit: cause.Cures}, {Fix: "use_smaller_model", Fit: cause.Helps}, {Fix: "multi_gpu", Fit: cause.Helps}, {Fix: "select_gpu", Fit: cause.MayHelp},
		},
		cause.LeakedProcess: {{Fix: "restart_session", Fit: cause.Cures}, {Fix: "kill_stale_process", Fit: cause.Cures}, {Fix: "select_gpu", Fit: cause.Helps}},
	},
	Titles: map[string]string{"restart_session": "Terminate models that you do not need"},
	Cards: append(append(slices.Clip(engine.XinferenceCards), []cause.Card{parts.Xinference, {
		ID: "xinference/other-models", Kinds: append([]fact.Kind{fact.VLLMFreeTooLow}, onCard...), If: taken,
		Cause: cause.LeakedProcess, Weight: cause.Likely,
		Headline: "found most of the GPU in use by other processes",
		Means:    "Other processes use much of this GPU[[: {others} of {total}]]. Usually that is another model that Xinference launched, or one left over from an earlier start.[[ {listed}]]", Figures: vllm.Listed,
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "To keep both on this GPU, launch each with a share", If: oneEngineHolds, Told: "vLLM takes 0.9 of the GPU by default, about what is in use here. Terminate that model, then launch both with `--gpu_memory_utilization 0.45` each (web page: additional parameters passed to the inference engine). Each share must hold the model's weights and KV cache.", Cost: "a smaller KV cache for each"},
			{Fix: "select_gpu", Title: "Or launch this model on another GPU", If: oneEngineHolds, Cost: "needs a free GPU"},
			{Fix: "restart_session", Cost: "that model is gone until launched again"},
			typed("kill_stale_process", "Then check for leftover processes", "nvidia-smi   # end what is yours with: kill PID", "free"),
			{Fix: "select_gpu", Title: "Or launch it on another GPU", Cost: "needs a free GPU"},
		},
		Sources: []string{"xinference/deploy/cmdline.py", "xinference/core/supervisor.py"},
	}}...), vllm.XinferenceCards...),
}
