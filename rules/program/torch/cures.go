package torch

import "github.com/oomdoc/oomdoc/rules/program/torch/cures"

// What cards of PyTorch share with the last ones.
var (
	allocators       = cures.Allocators
	batch            = cures.Batch
	cheaperTraining  = cures.CheaperTraining
	endListed        = cures.EndListed
	findShape        = cures.FindShape
	freeOthers       = cures.FreeOthers
	freshStart       = cures.FreshStart
	halfTooLarge     = cures.HalfTooLarge
	halveModel       = cures.HalveModel
	halveOld         = cures.HalveOld
	halveStep        = cures.HalveStep
	has              = cures.Has
	hiddenLimit      = cures.HiddenLimit
	lastLayer        = cures.LastLayer
	lateStep         = cures.LateStep
	less             = cures.Less
	lessAtOnce       = cures.LessAtOnce
	lessBooked       = cures.LessBooked
	lessInput        = cures.LessInput
	lessToo          = cures.LessToo
	lighter          = cures.Lighter
	lighterOptimizer = cures.LighterOptimizer
	listed           = cures.Listed
	loading          = cures.Loading
	lookAround       = cures.LookAround
	lookFirst        = cures.LookFirst
	mayBeAttention   = cures.MayBeAttention
	names            = cures.Names
	noScores         = cures.NoScores
	onWindows        = cures.OnWindows
	otherCard        = cures.OtherCard
	pagesFirst       = cures.PagesFirst
	quarterOfCard    = cures.QuarterOfCard
	ranked           = cures.Ranked
	scene            = cures.Scene
	shareOut         = cures.ShareOut
	shrinkModel      = cures.ShrinkModel
	smallCard        = cures.SmallCard
	smallerInput     = cures.SmallerInput
	smallerModel     = cures.SmallerModel
	splitEra         = cures.SplitEra
	splitSize        = cures.SplitSize
)

const kept = cures.Kept
