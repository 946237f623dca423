package field

import (
	"regexp"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// lolMiner says that a card is too small before it asks for memory, and does not
// say why it was refused.
var lolMiner = []cause.Card{{
	ID: "miner/epoch", Said: []string{"insufficient memory for DAG epoch"},
	Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: epochDAG,
	Headline: "found the card too small for the DAG[[ of epoch {epoch}: {dag}]]",
	Means:    "lolMiner compares the card with the DAG before it asks for memory[[: epoch {epoch} has {dag}]]. Its \"Zombie mode\" keeps a part of the DAG and computes the rest, slower; it is made for AMD's cards of 4 GB on Linux and a few of 5 GB. Where \"Allocation of DAG failed\" follows, this card or driver does not get that far.",
	Not:      "A larger page file, or closing programs: the card itself is smaller than the DAG, which grows with each epoch.",
	Cures: []cause.Cure{
		{Fix: "use_smaller_model", Title: "Mine something with a smaller DAG on this card", Told: "Another coin (`--algo`): a DAG has 1 GiB and 8 MiB for each epoch of its chain, so a card of 4 GB ends at about 375. Or an algorithm without a DAG.", Cost: "another coin"},
		{Fix: "select_gpu", Title: "Let the larger cards mine alone", Told: "`--devices 1,2` with the numbers of those that stay (`--list-devices` shows them).", Cost: "this card's hash rate"},
		{Fix: "raise_memory_limit", Title: "AMD, 4 GB, Linux: let the part of the DAG fill the card", Told: "`--4g-alloc-size 4078` (MB; less with an older driver or kernel), `--keepfree 0` in place of 5.", Cost: "none"},
	},
	Sources: []string{"lolMiner-releases/4G_Ethash_Linux_Readme.md", "https://github.com/Lolliedieb/lolMiner-releases/issues/102", "https://github.com/Lolliedieb/lolMiner-releases/issues/429"},
}, {
	ID: "miner/refused", Said: []string{"Allocation of DAG failed", "allocating memory or building DAG", "allocating memory for the DAG"},
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "got no memory for the DAG",
	Means:    "The miner does not say why. A DAG has 1 GiB and 8 MiB for each epoch (\"New job received\" names it; epoch 400 is 4.13 GiB), and a desktop takes some hundred MB beside it. On a card that is larger than that, Windows refuses when its page file is smaller than what lies on all cards together.",
	Not:      "Plugging the cards into other slots, or another pool.",
	Cures: []cause.Cure{
		{Fix: "raise_pagefile", Title: "Windows: enlarge the page file to the sum of all cards", Told: "Two of 8 GB and three of 6: 34 GB and more; several rigs ran only then. Advanced system settings, Performance, Settings, Advanced, Virtual memory: initial and maximum size in MB, then restart. More than four cards also need \"Above 4G Decoding\" in the BIOS.", Cost: "disk space, and a restart"},
		{Fix: "use_smaller_model", Title: "If the card is hardly larger than the DAG: another coin", Told: "Cards of 3 GB end at about epoch 230 on Windows, of 4 GB at about 370; later epochs need a coin whose DAG is smaller.", Cost: "another coin"},
		{Fix: "close_other_apps"}, {Fix: "select_gpu"},
	},
	Sources: []string{"https://github.com/Lolliedieb/lolMiner-releases/issues/231", "https://github.com/Lolliedieb/lolMiner-releases/issues/284", "https://github.com/Lolliedieb/lolMiner-releases/issues/709"}, Solved: 1,
}}

var epochOf = regexp.MustCompile(`DAG epoch (\d{1,4})\b`)

// epochDAG is how large Ethash's data set is in the epoch that the message names.
func epochDAG(c *ledger.Case) map[string]string {
	found := epochOf.FindStringSubmatch(c.Failure.Message)
	if found == nil {
		return map[string]string{"epoch": "", "dag": ""}
	}
	n, _ := strconv.ParseInt(found[1], 10, 64)
	return map[string]string{"epoch": found[1], "dag": units.Amount(units.GiB + n*8*units.MiB)}
}
