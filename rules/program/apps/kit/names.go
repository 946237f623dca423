package kit

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Steps are those of a program by fix.
type Steps = map[string]func(*ledger.Case) []step.Step

// What programs use under these names.
var (
	Cure       = cure
	Cards      = cards
	LookAtCard = lookAtCard
	ManagePage = managePage
	AddSwap    = addSwap
	ByPhase    = byPhase
	NoCard     = noCard
	Visible    = visible
	Half       = half
	HalfBatch  = halfBatch
	Unlike     = unlike
	Above      = above
	Without    = without
	LooksFor   = looksFor
	Bound      = bound
	Only       = only
	Framed     = framed
	OnCard     = onCard
	InRAM      = inRAM
	Killed     = killed
	OffRAM     = offRAM
	Fixes      = fixes
	Seen       = seen
	AtWork     = atWork
	Looking    = looking
	Phase      = phase
	Learning   = learning
	Working    = working
	While      = while
	Opening    = opening
	RamFilled  = ramFilled
	NoSums     = noSums
	NotTrained = notTrained
	SwapOrPage = swapOrPage
	Training   = training
	Words      = words
	Saved      = saved
)
