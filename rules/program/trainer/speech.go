package trainer

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Speech is what trainers share whose samples are of very different length: the
// longest ones decide.
var Speech = program.Program{
	Remedies: map[string][]cause.Remedy{
		cause.Fragmentation: parts.InPieces, cause.BatchTooLarge: speechWork, cause.TrainingStateTooLarge: speechWork,
		cause.OversizedAllocation: {{Fix: "lower_context", Fit: cause.Cures}, {Fix: "lower_batch_size", Fit: cause.Helps}},
		cause.ContextTooLong:      {{Fix: "lower_context", Fit: cause.Cures}, {Fix: "lower_batch_size", Fit: cause.Helps}},
		cause.ModelTooLarge:       {{Fix: "lower_batch_size", Fit: cause.Cures}, {Fix: "use_smaller_model", Fit: cause.Helps}, {Fix: "mixed_precision", Fit: cause.Helps}, {Fix: "close_other_apps", Fit: cause.MayHelp}},
	},
	Titles: map[string]string{"lower_context": "Drop or cut the longest samples"},
	Costs:  map[string]string{"lower_context": "What is longer is not trained on."},
}

var speechWork = []cause.Remedy{
	{Fix: "lower_batch_size", Fit: cause.Cures},
	{Fix: "lower_context", Fit: cause.Cures},
	{Fix: "mixed_precision", Fit: cause.Helps, If: (*ledger.Case).Training},
}

// NeMo trains speech and language models from YAML files with overrides.
var NeMo = program.Program{
	Name: "nemo", Shown: "NeMo",
	Work: "audio", Edits: "flags", Language: "python",
	Sources: program.Sources{"NeMo/examples/asr/conf/conformer/conformer_transducer_bpe.yaml": "model.train_ds.batch_size model.train_ds.max_duration model.joint.fused_batch_size trainer.precision trainer.accumulate_grad_batches", "NeMo/docs/source/asr/datasets.rst": "model.train_ds.batch_duration"},
	Proofs:  []string{"nemo/collections/", "nemo/core/", "[NeMo W ", "[NeMo I ", "[NeMo E "},
	Steps: parts.Spelling{
		"lower_batch_size":  parts.Say("Halve `model.train_ds.batch_size` and double `trainer.accumulate_grad_batches`. With Lhotse halve `model.train_ds.batch_duration` (seconds). If it fails in validation, halve `model.validation_ds.batch_size`. For transducers lower `model.joint.fused_batch_size` to 2, then 1."),
		"lower_context":     parts.Say("Training: lower `model.train_ds.max_duration` (seconds), so that longer recordings are left out. Transcribing: cut long files, or use the scripts in examples/asr/asr_chunked_inference."),
		"mixed_precision":   parts.Say("Add `trainer.precision=bf16-mixed` (older releases: 16)."),
		"lower_num_workers": parts.Say("Add `model.train_ds.num_workers=2`."),
	},
	Like:  []*program.Program{&parts.DataAside, &Speech},
	Cards: nemoCards,
}

// ESPnet fills batches up to a number of elements.
var ESPnet = program.Program{
	Name: "espnet", Shown: "ESPnet",
	Work: "audio", Edits: "flags", Language: "python",
	Sources: program.Sources{"espnet/espnet2/tasks/abs_task.py": "batch_bins accum_grad use_amp --valid_batch_bins --num_workers", "espnet/espnet/bin/asr_train.py": "--batch-bins --batch-size --accum-grad --n-iter-processes", "espnet/egs2/TEMPLATE/asr1/asr.sh": "--max_wav_duration", "espnet/utils/remove_longshortdata.sh": "--maxframes"},
	Proofs:  []string{"espnet2/", "espnet/bin/", "espnet/asr/", "espnet/nets/", "espnet/tts/"},
	Steps: parts.Spelling{
		"lower_batch_size":  parts.Say("Halve `batch_bins` in the training config and double `accum_grad`. ESPnet 1: `batch-bins` or `batch-size`, and `accum-grad`."),
		"lower_context":     parts.Say("Leave out long utterances: `--max_wav_duration 15` of asr.sh (default 20), then run stage 4 again. ESPnet 1: lower `--maxframes` of remove_longshortdata.sh in run.sh."),
		"mixed_precision":   parts.Config("use_amp: true"),
		"lower_num_workers": parts.Say("ESPnet 2: `num_workers: 0` in the training config. ESPnet 1: `--n-iter-processes 0`, its default."),
	},
	Titles: map[string]string{"lower_batch_size": "Halve batch_bins, double accum_grad"},
	Like:   []*program.Program{&parts.DataAside, &Speech},
	Cards:  espnetCards,
}

// Fairseq fills batches up to a number of tokens; for audio these are samples.
var Fairseq = program.Program{
	Name: "fairseq", Shown: "fairseq",
	Work: "text-training", Edits: "flags", Language: "python",
	Sources: program.Sources{
		"fairseq/fairseq/dataclass/configs.py":                     "--max-tokens --max-tokens-valid --update-freq --fp16 --memory-efficient-fp16 --skip-invalid-size-inputs-valid-test --num-workers",
		"fairseq/fairseq/models/transformer/transformer_config.py": "--checkpoint-activations",
		"fairseq/fairseq/tasks/translation.py":                     "--max-source-positions --max-target-positions",
	},
	Proofs: []string{"fairseq_cli/", "fairseq/trainer.py", "fairseq/tasks/", "fairseq-train ", "| INFO | fairseq", "| WARNING | fairseq", "OOM: Ran out of memory with exception", "fairseq/trainer", "ran out of memory with exception", "(with max tokens per GPU"}, Hints: []string{"| WARNING: ran out of memory on GPU #"},
	Beside: map[string][]string{"ran out of memory with exception": {"cudaoutofmemory"}},
	Steps: parts.Spelling{
		"lower_batch_size": func(c *ledger.Case) []step.Step {
			n := parts.Halved(c, "", "max_tokens")
			if n == "" {
				return []step.Step{{Kind: "text", Text: "Halve `--max-tokens` and double `--update-freq`; if it fails in validation, lower `--max-tokens-valid`."}}
			}
			return []step.Step{{Kind: "text", Text: "Set `--max-tokens " + n + "` and double `--update-freq`; if it fails in validation, add `--max-tokens-valid " + n + "`."}}
		},
		"lower_context":          parts.Say("Add `--skip-invalid-size-inputs-valid-test` with a lower `--max-source-positions` and `--max-target-positions`: longer samples are then skipped."),
		"mixed_precision":        parts.Say("Add `--fp16`, or `--memory-efficient-fp16`, which also saves the 32-bit copy of the weights."),
		"gradient_checkpointing": parts.Say("Add `--checkpoint-activations` (Transformer models; 0.9 does not have it)."),
		"lower_num_workers":      parts.Say("Add `--num-workers 1`."),
	},
	Titles: map[string]string{"lower_batch_size": "Lower --max-tokens, raise --update-freq"},
	Like:   []*program.Program{&parts.DataAside, &Speech},
	Cards:  fairseqCards,
}
