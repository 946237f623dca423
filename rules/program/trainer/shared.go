// Package trainer knows what people train PyTorch models with besides the
// libraries for text: detectors, segmenters, speech, graphs, scenes, image
// models, and the larger trainers of language models.
package trainer

import "github.com/oomdoc/oomdoc/rules/ledger"

// MMFamily is what the projects on MMEngine share.
var MMFamily = &mmFamily

// TextFigures are the figures of a step of a language model.
func TextFigures(c *ledger.Case) map[string]string { return textFigures(c) }

// Rounded is a count rounded to what it can mean.
func Rounded(n int64) string { return roundCount(n) }
