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
	BatchToTry       = load.BatchToTry
	LayersKnown      = load.LayersKnown
	absurdGraph      = load.AbsurdGraph
	beyond           = load.Beyond
	beyondContext    = load.BeyondContext
	bitsPerWeight    = load.BitsPerWeight
	budgetOf         = load.BudgetOf
	byOllama         = load.ByOllama
	cacheOfShape     = load.CacheOfShape
	claimed          = load.Claimed
	contextOf        = load.ContextOf
	contextToTry     = load.ContextToTry
	count            = load.Count
	devicesOf        = load.DevicesOf
	expertsMoved     = load.ExpertsMoved
	layersToKeep     = load.LayersToKeep
	mayFail          = load.MayFail
	mixtureOfExperts = load.MixtureOfExperts
	offloadedLayers  = load.OffloadedLayers
	onMetal          = load.OnMetal
	onSYCL           = load.OnSYCL
	onVulkan         = load.OnVulkan
	ownLength        = load.OwnLength
	perSlot          = load.PerSlot
	physicalBatch    = load.PhysicalBatch
	pieced           = load.Pieced
	placed           = load.Placed
	promptTokens     = load.PromptTokens
	scores           = load.Scores
	scoresFill       = load.ScoresFill
	severalDevices   = load.SeveralDevices
	sharesOf         = load.SharesOf
	slots            = load.Slots
	softwareDevice   = load.SoftwareDevice
)
