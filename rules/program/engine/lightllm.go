package engine

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

const lightllmArgs = "https://github.com/ModelTC/LightLLM/blob/main/docs/EN/source/tutorial/api_server_args.rst"

// LightLLM is what is peculiar to LightLLM. Its cache takes mem_fraction of the
// card, less the weights, or as many tokens as max_total_token_num says.
var LightLLM = program.Program{
	Name: "lightllm", Shown: "LightLLM", Rank: 80, Work: "text-inference", Edits: "flags", Language: "python", Systems: []string{"linux", "wsl"},
	Proofs:   []string{"lightllm.server", "lightllm/server/", "lightllm/common/", "lightllm/models/"},
	Commands: []string{"lightllm.server.api_server"},
	Sources:  program.Sources{lightllmArgs: "--mem_fraction --max_total_token_num --batch_max_tokens --running_max_req_size --tp"},
	Cards: []cause.Card{
		{
			ID: "lightllm/start", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"in init_model", "_init_weights", "load_hf_weights", "_init_mem_manager", "_check_mem_size", "_init_cudagraph", "in _init_kv_move_buffer"},
			Cause: cause.ModelTooLarge, Weight: cause.Likely,
			Headline: "did not start: weights and cache did not fit on the card",
			Means:    "It loads the weights, then makes its cache at once: up to `mem_fraction` of the card (0.9 unless set), or as many tokens as `max_total_token_num` says, a number that is believed as it stands. Graphs come after that. The frames say which of them it was: load_hf_weights the weights, mem_manager the cache, cudagraph the graphs.",
			Not:      "Shorter prompts: nothing was served yet.",
			Cures: []cause.Cure{
				{Fix: "lower_mem_fraction", Title: "A smaller cache", Told: "Added to `python -m lightllm.server.api_server`; leave `--max_total_token_num` out, if it is set.", Kind: "config", Text: "--mem_fraction 0.8 --running_max_req_size 32", Cost: "fewer tokens and requests at a time"},
				{Fix: "multi_gpu", Title: "The weights alone fill it: more cards", Told: "Or a quantised checkpoint.", Kind: "config", Text: "--tp 2", Cost: "needs them"},
				{Fix: "kill_stale_process", Title: "See what else is on the card", Kind: "shell", Text: look, Cost: "free"},
			},
			Sources: []string{lightllmArgs},
		},
		{
			ID: "lightllm/serving", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Unsaid: []string{"in init_model", "_init_weights", "load_hf_weights", "_init_mem_manager", "_check_mem_size", "_init_cudagraph"},
			Said:  []string{"in forward", "prefill", "decode", "context_forward", "token_forward"},
			Cause: cause.BatchTooLarge, Weight: cause.Likely,
			Headline: "ran out of graphics memory at a request",
			Means:    "Weights and cache were in place; what a batch of prompts needs while it is computed found no room beside them. How many tokens that are follows `batch_max_tokens`, a sixth of all tokens unless set.",
			Not:      "A smaller model first: it was loaded.",
			Cures: []cause.Cure{
				{Fix: "lower_max_batched_tokens", Title: "Fewer prompt tokens at once", Told: "Added to its command:", Kind: "config", Text: "--batch_max_tokens 4096", Cost: "long prompts wait"},
				{Fix: "lower_mem_fraction", Title: "A smaller cache", Kind: "config", Text: "--mem_fraction 0.8", Cost: "fewer tokens at a time"},
				{Fix: "multi_gpu", Title: "Or more cards", Kind: "config", Text: "--tp 2", Cost: "needs them"},
			},
			Sources: []string{lightllmArgs, "https://github.com/ModelTC/lightllm/blob/main/docs/ApiServerArgs.md"},
		},
	},
}
