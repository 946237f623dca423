package lab

import (
	"strings"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

// vocabularies are the words of models that people evaluate, by what their names
// begin with.
var vocabularies = []struct {
	name  string
	words int64
}{
	{"llama-2", 32000}, {"llama-3", 128256}, {"llama3", 128256}, {"llama-4", 202048}, {"mistral", 32768}, {"mixtral", 32000},
	{"qwen", 151936}, {"gemma", 256000}, {"phi-3", 32064}, {"gpt2", 50257}, {"pythia", 50304}, {"gpt-neo", 50257}, {"opt-", 50272}, {"bloom", 250880}, {"falcon", 65024},
}

// scoreFigures say how many tokens the scores are for that were refused, of the
// model of the log.
func scoreFigures(c *ledger.Case) map[string]string {
	out := phaseFigures(c)
	out["scored"] = ""
	name := strings.ToLower(c.ModelName())
	for _, v := range vocabularies {
		if n := ledger.Requested(c) / v.words / 4; n >= 1000 && strings.Contains(name, v.name) {
			out["scored"] = c.Asked.String() + " is about " + trainer.Rounded(n) + " tokens x this model's vocabulary of " + trainer.Rounded(v.words) + " at 32 bit."
			break
		}
	}
	return out
}

// itself narrows a card to models that the program runs itself.
func itself(k cause.Card) cause.Card {
	also := k.If
	k.If = func(c *ledger.Case) bool {
		return !c.In("vllm", "sglang", "lmdeploy", "tensorrt-llm", "whisperx") && also(c)
	}
	return k
}

// scored is an evaluation by the scores of given answers.
func scored(program, means, not, source string, cures ...string) cause.Card {
	k := while(useOf(program, "", means, not, source, cures...), "while scoring answers")
	k.ID, k.Figures = program+"/scores", scoreFigures
	k.Said = []string{"in loglikelihood", "in _loglikelihood_tokens", "in _model_call", "log_softmax", "loglikelihood requests", "in loglikelihood_rolling", "in get_ppl", "in _get_ppl", "in greedy_until", "Running loglikelihood"}
	return k
}

// Evaluators of language models and of embeddings.
var (
	// LMEval is EleutherAI's evaluation harness.
	LMEval = program.Program{
		Name: "lm-eval", Shown: "lm-evaluation-harness", Work: "text-inference", Edits: "flags", Language: "python", Commands: []string{"lm_eval", "lm-eval"},
		Sources: program.Sources{
			"lm-evaluation-harness/lm_eval/_cli/run.py":           "--batch_size --max_batch_size --device --limit --model_args",
			"lm-evaluation-harness/lm_eval/models/huggingface.py": "max_length dtype parallelize load_in_8bit load_in_4bit max_memory_per_gpu logits_cache",
		},
		Proofs: []string{"lm_eval/", "lm-evaluation-harness/", "lm_eval --model", "lm-eval --model"},
		Steps: spelling{
			"lower_batch_size": evalBatch,
			"lower_context":    say("In `--model_args`: `max_length=2048`. The default is the model's own maximum."),
			"half_precision":   say("In `--model_args`: `dtype=bfloat16` (`float16` before RTX 30)."),
			"load_in_8bit":     say("In `--model_args`: `load_in_8bit=True` (bitsandbytes)."),
			"load_in_4bit":     say("In `--model_args`: `load_in_4bit=True` (bitsandbytes); scores shift a little."),
			"multi_gpu":        say("In `--model_args`: `parallelize=True` spreads one copy of the model over all visible GPUs. `accelerate launch -m lm_eval` would put a whole copy on each"),
			"cpu_offload":      say("In `--model_args`: `parallelize=True,max_memory_per_gpu=20GB,offload_folder=offload`. What does not fit then goes to RAM."),
		},
		Titles: map[string]string{"lower_context": "Lower `max_length`", "cpu_offload": "Offload a part to RAM"},
		Costs:  map[string]string{"lower_batch_size": "slower; the scores stay", "lower_context": "long prompts lose their beginning"},
		Cards: []cause.Card{
			itself(saying(anyPhase(while(useOf("lm-eval", "", "`dtype` is float32 here: 4 bytes per parameter (28 GB for a 7B model), twice what most models need. The KV cache and scores are in 32 bit too.", "`--limit`: it takes fewer samples, each as long as before.", "lm-evaluation-harness/lm_eval/models/huggingface.py", "half_precision", "lower_batch_size", "lower_context"), "with its weights in 32 bit")), "lm-eval/float32", "dtype=float32", "'dtype': 'float32'", "dtype=float,")),
			itself(loadOf("lm-eval", "The weights take 2 GB per billion parameters in 16 bit, twice that in 32 bit.", "A smaller `--batch_size`: it failed while loading the model.", "lm-evaluation-harness/lm_eval/models/huggingface.py", "load_in_8bit", "multi_gpu", "half_precision")),
			itself(scored("lm-eval", "Multiple-choice and perplexity tasks need logits for every token: batch size x length x vocabulary, plus a second copy for log_softmax.[[ {scored}]] A batch size found by `--batch_size auto` can be too large.",
				"`--limit`: it takes fewer samples, each as long as before.", "lm-evaluation-harness/lm_eval/models/huggingface.py", "lower_batch_size", "lower_context", "multi_gpu")),
			itself(useOf("lm-eval", "while generating", "The KV cache grows with batch size x (prompt + `max_gen_toks`), and few-shot prompts are long.", "`--limit`: it takes fewer samples, each as long as before.", "lm-evaluation-harness/lm_eval/models/huggingface.py", "lower_batch_size", "lower_context", "multi_gpu")),
		},
	}
	// OpenCompass starts a process for each part of the tasks.
	OpenCompass = program.Program{
		Name: "opencompass", Shown: "OpenCompass", Work: "text-inference", Edits: "flags", Language: "python", Commands: []string{"opencompass"},
		Sources: program.Sources{"opencompass/opencompass/cli/main.py": "--batch-size --max-seq-len --max-out-len --hf-num-gpus --max-num-workers --max-workers-per-gpu --model-kwargs"},
		Proofs:  []string{"opencompass/", "OpenICLInfer"},
		Steps: spelling{
			"lower_batch_size": say("Use `batch_size=1` in the model's file below configs/models (8 in most); without one `--batch-size 1`."),
			"lower_context":    say("Use `max_seq_len=2048` in the model's file, or `--max-seq-len 2048 --max-out-len 512`."),
			"lower_parallel":   say("Use `--max-num-workers 1 --max-workers-per-gpu 1`: each worker loads the model again."),
			"multi_gpu":        say("Use `--hf-num-gpus 2` (in a model's file `run_cfg=dict(num_gpus=2)`): one copy over two GPUs."),
			"half_precision":   say("Use `model_kwargs=dict(torch_dtype='torch.bfloat16')` in the model's file, or `--model-kwargs torch_dtype=torch.bfloat16`."),
			"load_in_8bit":     say("A checkpoint that is quantised already, or its LMDeploy backend (`-a lmdeploy`)."),
		},
		Titles: map[string]string{"lower_parallel": "Use one worker on each GPU", "lower_context": "Lower `max_seq_len`"}, Costs: map[string]string{"lower_context": "long prompts are cut"},
		Cards: []cause.Card{
			itself(loadOf("opencompass", "The weights take 2 GB per billion parameters in 16 bit. A task gets as many GPUs as `num_gpus` in its run_cfg says (1 in most files). Several workers on one GPU load the model several times.", "A smaller `batch_size`: it failed while loading the model.", "opencompass/opencompass/configs/models/hf_llama/hf_llama3_8b_instruct.py", "multi_gpu", "lower_parallel", "half_precision")),
			itself(scored("opencompass", "Perplexity tasks need logits for every token: batch size x length x vocabulary in 32 bit.[[ {scored}]] The batch size is set in the model's file, 8 in most.", "", "opencompass/opencompass/models/huggingface_above_v4_33.py", "lower_batch_size", "lower_context", "multi_gpu")),
			itself(useOf("opencompass", "while generating", "The KV cache grows with batch size (8 in most model files) x (prompt + `max_out_len`).", "", "opencompass/opencompass/cli/main.py", "lower_batch_size", "lower_context", "multi_gpu")),
		},
	}
	// LightEval is Hugging Face's.
	LightEval = program.Program{
		Name: "lighteval", Shown: "LightEval", Work: "text-inference", Edits: "flags", Language: "python", Commands: []string{"lighteval"},
		Sources: program.Sources{"lighteval/README.md": "--override_batch_size", "lighteval/src/lighteval/models/transformers/transformers_model.py": "batch_size max_length model_parallel dtype", "lighteval/src/lighteval/models/vllm/vllm_model.py": "gpu_memory_utilization max_model_length"},
		Proofs:  []string{"lighteval/", "lighteval accelerate", "lighteval vllm"},
		Steps: spelling{
			"lower_batch_size":             say("In the model arguments: `batch_size=1` (older releases `--override_batch_size 1`). The default is a search from 512 down."),
			"lower_context":                say("In the model arguments: `max_length=2048`."),
			"half_precision":               say("In the model arguments: `dtype=bfloat16`; 4bit and 8bit are taken there too."),
			"load_in_4bit":                 say("In the model arguments: `dtype=4bit`."),
			"multi_gpu":                    say("In the model arguments: `model_parallel=True`: one copy over all GPUs."),
			"lower_gpu_memory_utilization": say("Use `lighteval vllm`: `gpu_memory_utilization=0.8` in the model arguments."),
		},
		Titles: map[string]string{"lower_context": "Lower `max_length`"}, Costs: map[string]string{"lower_context": "long prompts are cut"},
		Cards: []cause.Card{
			itself(scored("lighteval", "The logits take batch size x length x vocabulary in 32 bit.[[ {scored}]] Unless you set a batch size, LightEval searches for the largest that fits, from 512 down, which leaves no margin.", "", "lighteval/src/lighteval/models/transformers/transformers_model.py", "lower_batch_size", "lower_context", "multi_gpu")),
			itself(useOf("lighteval", "while evaluating", "Memory grows with batch size x length. Unless you set a batch size, LightEval searches for the largest that fits, from 512 down, which leaves no margin.", "", "lighteval/src/lighteval/models/transformers/transformers_model.py", "lower_batch_size", "lower_context", "half_precision")),
		},
	}
	// MTEB measures embeddings.
	MTEB = program.Program{
		Name: "mteb", Shown: "MTEB", Work: "embedding", Edits: "code", Language: "python", Commands: []string{"mteb"},
		Sources: program.Sources{"mteb/mteb/cli/build_cli.py": "--batch_size"},
		Proofs:  []string{"-packages/mteb/", "mteb/evaluation/", "mteb/_evaluators/", "mteb/abstasks/", "mteb/mteb/"},
		Steps: spelling{
			"lower_batch_size": step.Paste("python", "results = mteb.evaluate(model, tasks, encode_kwargs={\"batch_size\": 8})   # before 2.0: evaluation.run(model, encode_kwargs={\"batch_size\": 8}); shell: --batch_size 8"),
			"lower_context":    step.Paste("python", "model.max_seq_length = 512   # before the run; it changes the scores of long texts"),
			"half_precision":   step.Paste("python", "model = SentenceTransformer(name, model_kwargs={\"torch_dtype\": \"float16\"})"),
		},
		Costs:  map[string]string{"lower_batch_size": "slower; the scores stay", "lower_context": "long texts are cut"},
		Titles: map[string]string{"lower_context": "Limit the length of texts (`max_seq_length`)"},
		Cards: []cause.Card{
			{
				ID: "mteb/ram", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "MTEB keeps the embeddings of a task's whole corpus in RAM: passages x dimension x 4 bytes. For MS MARCO (8.8 million passages, dimension 1,024) that is 36 GB. Retrieval tasks need the most.",
				Not:      "A smaller batch size: all embeddings are kept anyway.",
				Cures: []cause.Cure{
					{Fix: "stream_dataset", Title: "Run smaller tasks", Told: "Choose the reduced versions (HardNegatives in the name) or a benchmark without the large retrieval tasks. Run one task per process.", Cost: "not comparable with the full tasks"},
					{Fix: "bigger_gpu", Title: "Use a machine with more RAM", Told: "The full corpora need 64 to 128 GB.", Cost: "money"},
				},
				Sources: []string{"mteb/docs/get_started/advanced_usage/retrieval_backend.md"},
			},
			mtebLong,
			itself(useOf("mteb", "while encoding", "Texts are encoded 32 at a time by default. Models that read up to 8,192 tokens need far more memory for the long documents of retrieval tasks.", "", "mteb/mteb/cli/build_cli.py", "lower_batch_size", "lower_context", "half_precision")),
		},
	}
)

// mtebLong is about a batch of long texts, of which one piece exceeds the card.
var mtebLong = cause.Card{
	ID: "mteb/long-texts", Kinds: cardFull, If: func(c *ledger.Case) bool { return ours(c) && ledger.NeverFits(c) != "" }, Cause: cause.ContextTooLong, Weight: cause.Strong,
	Headline: "wanted {asked} at once while encoding: long texts in a large batch",
	Means:    "Texts are encoded 32 at a time by default, padded to the longest. Without fused attention, a layer's scores take batch x heads x length x length: half the length needs a quarter of the memory.",
	Not:      "A larger GPU or closing programs: {asked} for one tensor is far too much.",
	Cures:    append(fixes("lower_context", "lower_batch_size"), cause.Cure{Fix: "efficient_attention", Title: "Use fused attention, if the model has it", Kind: "python", Text: "model = SentenceTransformer(name, model_kwargs={\"attn_implementation\": \"sdpa\"})   # name: your model", Cost: "none"}),
	Sources:  []string{"mteb/mteb/cli/build_cli.py", "https://github.com/embeddings-benchmark/results/pull/369"},
}

// evalBatch is a smaller batch by hand, with the size of the log halved.
func evalBatch(c *ledger.Case) []step.Step {
	return []step.Step{{Kind: "text", Text: "Use `--batch_size " + parts.Halved(c, "1", "batch_size") + "`. If you use `auto`, cap it with `--max_batch_size` (default 64)."}}
}
