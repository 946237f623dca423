package cures

import (
	"path"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Names of what runs a model on data without training it.
var (
	evaluatingFiles     = []string{"test", "val", "valid", "validate", "eval", "evaluate", "evaluator", "evaluation", "evaler", "inference", "infer", "predict", "test_net", "demo", "detect", "decode", "generate", "recognize", "validation"}
	evaluatingFunctions = []string{"evaluate", "validate", "validation", "validation_step", "test_step", "eval", "test", "val", "predict", "infer", "inference", "demo", "decode_dataset", "decode_one_batch", "generate", "evaluation", "valid_step", "eval_model", "eval_step", "eval_loop"}
)

// Evaluating: the traceback goes through an evaluation, a test or a prediction,
// and through no training step after it.
func Evaluating(c *ledger.Case) bool {
	frames := ledger.Trace(c)
	at := slices.IndexFunc(frames, evaluates)
	return (at >= 0 || Validating(c)) && !slices.ContainsFunc(frames[max(at, 0):], func(f fact.Code) bool { return strings.Contains(f.Source, ".backward(") })
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

func evaluates(f fact.Code) bool {
	file := path.Base(strings.ReplaceAll(strings.ToLower(f.File), `\`, "/"))
	name := strings.TrimLeft(strings.ToLower(f.Function), "_")
	return slices.Contains(evaluatingFiles, strings.TrimSuffix(file, ".py")) || slices.Contains(evaluatingFunctions, name) ||
		strings.HasSuffix(name, "_test") || strings.HasSuffix(name, "_validation") || strings.HasPrefix(name, "evaluate_") || strings.HasPrefix(name, "eval_") || strings.HasPrefix(name, "test_") || strings.HasPrefix(name, "predict_") || strings.HasPrefix(name, "validate_")
}
