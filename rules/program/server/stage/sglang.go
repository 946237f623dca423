package stage

import "github.com/oomdoc/oomdoc/rules/ledger"

// SGLangShare is the part of a card that SGLang takes on several when nobody says:
// less, the more there are (sglang/python/sglang/srt/server_args.py, 0.4).
func SGLangShare(c *ledger.Case) (float64, bool) {
	cards := c.Reader.Cards
	if d := c.F().Device; d != nil {
		cards = max(cards, int(d.Value)+1)
	}
	switch {
	case cards >= 16:
		return 0.79, true
	case cards >= 8:
		return 0.81, true
	case cards >= 4:
		return 0.85, true
	case cards >= 2:
		return 0.87, true
	}
	return 0, false
}
