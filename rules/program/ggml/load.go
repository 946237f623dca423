package ggml

import "github.com/oomdoc/oomdoc/rules/program/ggml/load"

// budget is the arithmetic of package load, whose words these are.
type budget = load.Budget

const (
	contextReserve = load.ContextReserve
	leastContext   = load.LeastContext
	loadReserve    = load.LoadReserve
	mostParts      = load.MostParts
	mostTokens     = load.MostTokens
	pieceLimit     = load.PieceLimit
)

var (
	FailingCard, Crammed, loadedBefore      = load.FailingCard, load.Crammed, load.LoadedBefore
	BatchToTry, LayersKnown, absurdGraph    = load.BatchToTry, load.LayersKnown, load.AbsurdGraph
	beyond, beyondContext, bitsPerWeight    = load.Beyond, load.BeyondContext, load.BitsPerWeight
	budgetOf, byOllama, cacheOfShape        = load.BudgetOf, load.ByOllama, load.CacheOfShape
	claimed, contextOf, contextToTry        = load.Claimed, load.ContextOf, load.ContextToTry
	count, devicesOf, expertsMoved          = load.Count, load.DevicesOf, load.ExpertsMoved
	layersToKeep, mayFail, mixtureOfExperts = load.LayersToKeep, load.MayFail, load.MixtureOfExperts
	offloadedLayers, onMetal, onSYCL        = load.OffloadedLayers, load.OnMetal, load.OnSYCL
	onVulkan, ownLength, perSlot            = load.OnVulkan, load.OwnLength, load.PerSlot
	physicalBatch, pieced, placed           = load.PhysicalBatch, load.Pieced, load.Placed
	promptTokens, scores, scoresFill        = load.PromptTokens, load.Scores, load.ScoresFill
	severalDevices, sharesOf, slots         = load.SeveralDevices, load.SharesOf, load.Slots
	softwareDevice                          = load.SoftwareDevice
)
