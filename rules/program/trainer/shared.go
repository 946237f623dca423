// Package trainer knows what people train PyTorch models with besides the
// libraries for text: detectors, segmenters, speech, graphs, scenes, image
// models, and the larger trainers of language models.
package trainer

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/trainer/kit"
)

// What trainers share with the rooms of repositories.
var (
	Vision, DataAside, LanguageModels = kit.Vision, kit.DataAside, kit.LanguageModels
	// MMFamily is what the projects on MMEngine share.
	MMFamily = &mmFamily
	StepCard = kit.StepCard
	RAMGone  = kit.RAMGone
	Own      = kit.Own
	Ordinary = kit.Ordinary
	Filled   = kit.Filled
	Halved   = kit.Halved
)

// TextFigures are the figures of a step of a language model.
func TextFigures(c *ledger.Case) map[string]string { return textFigures(c) }

// Rounded is a count rounded to what it can mean.
func Rounded(n int64) string { return roundCount(n) }

// What is used here by its short name.
var (
	say, told, config, typed, halved              = kit.Say, kit.Told, kit.Config, kit.Typed, kit.Halved
	number, one, halfOf, inUse, leaner            = kit.Number, kit.One, kit.HalfOf, kit.InUse, kit.Leaner
	stepCard, evaluationCard, withFigures         = kit.StepCard, kit.EvaluationCard, kit.WithFigures
	ownCard, filled, refused, ramGone, freeOthers = kit.Own, kit.Filled, kit.Refused, kit.RAMGone, kit.FreeOthers
	inPieces, plainVision                         = kit.InPieces, kit.PlainVision
)

type spelling = kit.Spelling
