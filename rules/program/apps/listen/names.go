// Package listen knows programs that write down what is said, most of them on
// Whisper.
package listen

import "github.com/oomdoc/oomdoc/rules/program/apps/kit"

// What programs share, by the names that their literals use.
var (
	cure       = kit.Cure
	cards      = kit.Cards
	lookAtCard = kit.LookAtCard
	managePage = kit.ManagePage
	addSwap    = kit.AddSwap
	noCard     = kit.NoCard
	visible    = kit.Visible
	halfBatch  = kit.HalfBatch
	only       = kit.Only
	framed     = kit.Framed
	onCard     = kit.OnCard
	inRAM      = kit.InRAM
	offRAM     = kit.OffRAM
	fixes      = kit.Fixes
	seen       = kit.Seen
	looking    = kit.Looking
	swapOrPage = kit.SwapOrPage
	words      = kit.Words
	saved      = kit.Saved
)

type steps = kit.Steps
