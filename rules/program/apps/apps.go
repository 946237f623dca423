// Package apps knows programs that people start for a purpose of their own:
// transcribing, speaking, singing, separating, making videos, swapping faces,
// chatting over documents.
package apps

import "github.com/oomdoc/oomdoc/rules/program/apps/kit"

// What programs share, by the names that their literals use.
var (
	cure       = kit.Cure
	cards      = kit.Cards
	lookAtCard = kit.LookAtCard
	managePage = kit.ManagePage
	addSwap    = kit.AddSwap
	byPhase    = kit.ByPhase
	noCard     = kit.NoCard
	visible    = kit.Visible
	half       = kit.Half
	halfBatch  = kit.HalfBatch
	unlike     = kit.Unlike
	above      = kit.Above
	without    = kit.Without
	looksFor   = kit.LooksFor
	bound      = kit.Bound
	only       = kit.Only
	framed     = kit.Framed
	onCard     = kit.OnCard
	inRAM      = kit.InRAM
	offRAM     = kit.OffRAM
	fixes      = kit.Fixes
	atWork     = kit.AtWork
	looking    = kit.Looking
	phase      = kit.Phase
	learning   = kit.Learning
	working    = kit.Working
	opening    = kit.Opening
	ramFilled  = kit.RamFilled
	noSums     = kit.NoSums
	notTrained = kit.NotTrained
	swapOrPage = kit.SwapOrPage
	training   = kit.Training
	words      = kit.Words
	saved      = kit.Saved
)

type steps = kit.Steps

// What front ends share with them.
var (
	OnCard, OffRAM, LookAtCard = onCard, offRAM, lookAtCard
	Cards, Cure, NoCard        = cards, cure, noCard
	Visible, InRAM, Training   = visible, inRAM, training
	ByPhase                    = byPhase
	SwapOrPage                 = swapOrPage
	AtWork, Looking            = atWork, looking
	Only                       = only
)
