package cures

import (
	"path"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Names of what takes a training step, and of what runs a model on data without
// training it.
var (
	steppingFunctions   = []string{"train_one_epoch", "training_step", "train_step", "run_step", "forward_train", "loss_and_predict", "loss", "backward", "calculate_loss", "get_loss"}
	evaluatingFiles     = []string{"test", "val", "valid", "validate", "eval", "evaluate", "evaluator", "evaluation", "evaler", "inference", "infer", "predict", "predictor", "validator", "test_net", "demo", "detect", "decode", "generate", "interactive", "recognize", "validation", "export", "exporter"}
	evaluatingFunctions = []string{
		"evaluate", "validate", "validation", "validation_step", "test_step", "eval", "test", "val", "val_step", "do_test", "predict", "infer", "inference", "demo", "decode_dataset", "decode_one_batch", "generate", "evaluation", "evaluation_loop", "valid_step", "eval_model", "eval_step", "eval_loop", "eval_epoch", "run_eval",
		"perform_test", "run_validation", "inference_on_dataset", "inference_step", "simple_test", "aug_test", "forward_test", "predict_once_and_export", "nondist_validation", "dist_validation", "log_validation", "p_sample_loop", "ddim_sample_loop", "get_preds", "get_clip_metrics", "calc_metric", "compute_feature_stats_for_generator", "compute_feature_stats_for_dataset", "validation_pass",
	}
)

// Evaluating: the innermost frame that says which measures or uses a model, an
// evaluation between two epochs, a test, a prediction or an export, and takes no
// training step.
func Evaluating(c *ledger.Case) bool {
	for _, f := range slices.Backward(ledger.Trace(c)) {
		switch {
		case slices.Contains(steppingFunctions, f.Function), strings.Contains(f.Source, ".backward("):
			return false
		case evaluates(f):
			return true
		}
	}
	return Validating(c)
}

// Uses: an evaluation, a test or a prediction by itself, not one between the
// steps of a training.
func Uses(c *ledger.Case) bool {
	return Evaluating(c) && !slices.ContainsFunc(ledger.Trace(c), trains)
}

// trains: a frame of a training, or a call of one.
func trains(f fact.Code) bool {
	name, file := strings.ToLower(f.Function), strings.ToLower(path.Base(strings.ReplaceAll(f.File, `\`, "/")))
	return strings.HasPrefix(file, "train") && file != "training.py" || strings.HasSuffix(file, "_train.py") || strings.HasPrefix(file, "finetune") || strings.HasPrefix(file, "run_") && strings.Contains(file, "train") || strings.HasPrefix(name, "train") || name == "fit" || name == "do_train" ||
		slices.ContainsFunc([]string{".train(", ".fit(", "train_model(", "train(", ".fine_tune("}, func(call string) bool { return strings.Contains(f.Source, call) })
}

// evaluates: a frame of one, by its file or its function.
func evaluates(f fact.Code) bool {
	file := path.Base(strings.ReplaceAll(strings.ToLower(f.File), `\`, "/"))
	return slices.Contains(evaluatingFiles, strings.TrimSuffix(file, ".py")) || Measures(f)
}

// Measures: a function that evaluates, tests or predicts, by its first word or
// its last. Ultralytics calls every forward pass _predict_once, PPO a part of its
// step evaluate_actions.
func Measures(f fact.Code) bool {
	name := strings.TrimLeft(strings.ToLower(f.Function), "_")
	first, _, _ := strings.Cut(name, "_")
	return name != "predict_once" && name != "evaluate_actions" && (slices.Contains(evaluatingFunctions, name) || strings.HasSuffix(name, "_test") || strings.HasSuffix(name, "_validation") ||
		name != first && slices.Contains([]string{"evaluate", "eval", "test", "predict", "validate", "validation", "val", "valid"}, first))
}

// UnfreedEvaluation: the innermost function of the reader's own that trains or evaluates
// evaluates, and no frame turns gradients off.
func UnfreedEvaluation(c *ledger.Case) bool {
	found := Validating(c)
	for _, f := range ledger.Trace(c) {
		begins := func(word string) bool { return f.Own && strings.HasPrefix(f.Function, word) }
		switch {
		case slices.ContainsFunc([]string{"update", "learn", "optimi"}, begins):
			return false // a part of training is called so
		case f.Own && (PassesValidation(f.Source) || Measures(f) && containsAny(f.Function, "val", "test")): // predict and generate are no loops over a set
			found = true
		case begins("train"), begins("fit"), strings.Contains(f.Source, ".backward("):
			found = false
		}
	}
	return found && !Freed(c)
}

// SmallerEvaluation is for an evaluation that does not fit beside a training.
var SmallerEvaluation = cause.Cure{
	Fix: "lower_batch_size", If: Evaluating, Title: "Use a smaller batch or smaller inputs in the evaluation", Cost: "a little time",
	Told: "It failed in an evaluation, whose loader usually has a `batch_size` of its own: try 1, under `torch.no_grad()`. In a training, `del` the last step's output and loss before it.",
}
