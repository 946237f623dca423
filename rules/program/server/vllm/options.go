// Package vllm spells vLLM's options where its reader sets them, and knows what
// is around it: a notebook, another server, system memory.
package vllm

import (
	"slices"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Server is how vLLM is started.
var Server = launch.Server{
	Command: "vllm_command",
	Offline: "vllm_offline",
	Aliases: map[string]string{"-tp": "tensor_parallel_size", "-pp": "pipeline_parallel_size", "-dp": "data_parallel_size", "-q": "quantization", "-gmu": "gpu_memory_utilization"},
	Repeats: []string{
		"host", "port", "served_model_name", "tokenizer", "trust_remote_code", "dtype", "quantization", "load_format", "kv_cache_dtype",
		"tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "enable_expert_parallel", "max_model_len",
		"gpu_memory_utilization", "max_num_seqs", "max_num_batched_tokens", "enable_chunked_prefill", "enforce_eager", "cpu_offload_gb",
		"swap_space", "block_size", "enable_prefix_caching", "reasoning_parser", "tool_call_parser", "enable_auto_tool_choice",
	},
	Start:  "vllm serve",
	Old:    "python -m vllm.entrypoints.openai.api_server --model",
	Before: before060,
	Flags:  true, Readers: []string{"", "vllm", "ray", "kserve", "vllm-ascend", "vllm-gaudi", "ipex-llm", "tpu-inference", "docker", "kubernetes", "own-script"},
	Hosts: hosts,
}

// before060: "vllm serve" came with 0.6 as far as anybody uses it (0.5.5).
func before060(c *ledger.Case) bool { return era.Lacks(c, "vllm", era.ServeCommand) }

// Given is a cure where a condition holds.
func Given(holds func(*ledger.Case) bool, k cause.Cure) cause.Cure {
	if k.If != nil {
		holds = when.All(holds, k.If)
	}
	k.If = holds
	return k
}

// Words is a cure that is all told.
func Words(fix, title, told, cost string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Told: told, Cost: cost}
}

// Flags is a cure that sets options of vLLM's to these values together.
func Flags(fix, title, told, cost string, set ...launch.Option) cause.Cure {
	choices := make([]launch.Choice, len(set))
	for i, o := range set {
		choices[i] = launch.To(o.Name, o.Value)
		if n, err := strconv.Atoi(o.Value); err == nil && (o.Name == "max_num_seqs" || o.Name == "max_model_len") {
			choices[i] = launch.AtMost(o.Name, n)
		}
		if share, err := strconv.ParseFloat(o.Value, 64); err == nil && o.Name == "gpu_memory_utilization" {
			choices[i] = launch.From(o.Name, func(c *ledger.Case) string { return lessThan(c, share) })
		}
		if o.Name == "max_num_batched_tokens" {
			n, _ := strconv.Atoi(o.Value)
			choices[i] = launch.From(o.Name, Tokens(launch.AtMost(o.Name, n)))
			choices = append(choices, Chunks, launch.From("max_model_len", Tokens(nil)))
		}
	}
	return cause.Cure{Fix: fix, Title: title, Told: told, Cost: cost, Steps: Server.Sets(choices...), If: reaches(set...)}
}

// lessThan is a share of the card, or a tenth less than that which is set where
// that is no larger already.
func lessThan(c *ledger.Case, most float64) string {
	set, _ := c.Setting("gpu_memory_utilization")
	now, _ := strconv.ParseFloat(set.Value, 64)
	if u := c.F().Utilization; u != nil {
		now = u.Value
	}
	if now > 0 && now <= most {
		return launch.Share(max(0.05, now-0.1))
	}
	return strconv.FormatFloat(most, 'g', -1, 64)
}

// Tokens is a number of tokens for a step, and of a request where a step holds
// the longest prompt: before chunks 4096, or half of what is set.
func Tokens(since launch.Choice) func(c *ledger.Case) string {
	return func(c *ledger.Case) string {
		switch {
		case era.Lacks(c, "vllm", "--enable-chunked-prefill"):
			if n := ledger.IntSetting(c, "max_model_len", "max_seq_len"); n > 256 && n <= 4096 {
				return strconv.Itoa(n / 2)
			}
			return launch.AtMost("max_model_len", 4096)(c).Value
		case since == nil:
			return ""
		}
		return since(c).Value
	}
}

// reaches: the reader can set one of these options at least.
func reaches(set ...launch.Option) func(c *ledger.Case) bool {
	return func(c *ledger.Case) bool {
		return slices.ContainsFunc(set, func(o launch.Option) bool { return Server.Reaches(c, o.Name) })
	}
}

// Option is an option of vLLM and its value.
func Option(name, value string) launch.Option { return launch.Option{Name: name, Value: value} }

// Chunks turns chunked prefill on beside fewer tokens for a step where it is
// off: without it vLLM refuses fewer than the longest prompt.
var Chunks = launch.From("enable_chunked_prefill", func(c *ledger.Case) string {
	if WholePrompts(c) {
		return "True"
	}
	return ""
})

// WholePrompts: prompts are not computed in chunks, because an option says so or
// the engine is V0, where that is the default below 32,768 tokens.
func WholePrompts(c *ledger.Case) bool {
	_, v0 := c.Fact("vllm_v0")
	return v0 || era.Lacks(c, "vllm", era.SecondEngine) || when.Set("no_enable_chunked_prefill", "")(c) || when.Set("enable_chunked_prefill", "False")(c)
}

// Where says where the first step goes: the log's own command is pasted whole.
func Where(c *ledger.Case) string {
	_, offline := c.Fact(Server.Offline)
	host, hosted := Server.Host(c)
	switch {
	case hosted:
		return host.Where
	case offline:
		return "In your script:"
	case Server.InImage(c):
		return "Everything after the image's name in your `docker run`:"
	case Server.Logged(c) != nil && when.Fact("variables_before")(c): // a stranger's values are not repeated
		return "Your command with this change, behind the variables that stand before it now:"
	case Server.Logged(c) != nil:
		return "Your command with this change:"
	case Server.Embedded(c):
		return "Set it where that program creates its engine (with underscores in `AsyncEngineArgs` or `LLM(…)`):"
	case Server.Others(c):
		return "This is vLLM's option; your program may use a slightly different name:"
	case Server.Unknown(c) && c.Signal(fact.InContainer) != nil:
		return "Add it after the image's name in `docker run` (Compose: in `command:`, Kubernetes: in `args:`):"
	case Server.Unknown(c):
		return "Add to the command that starts vLLM (in Python, arguments of `LLM(…)` with underscores):"
	case c.Signal(fact.InContainer) != nil:
		return "With your other options (Docker: those after the image's name):"
	}
	return "With your other options:"
}

// HalfTooLarge: a cache of 8 bit would not fit either.
func HalfTooLarge(c *ledger.Case) bool {
	f := c.F()
	return f.KVAvailable != nil && ledger.SizeOf(f.KVNeeded)/2 > f.KVAvailable.Bytes
}

// OnNVIDIA: no other maker shows.
func OnNVIDIA(c *ledger.Case) bool {
	return !c.In("vllm-ascend") && (c.Backend == "cuda" || c.Backend == "")
}
