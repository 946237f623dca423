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
	Headline: "found the card too small for the DAG[[ of epoch {epoch} ({dag})]]",
	Means:    "lolMiner compares the card's memory with the DAG before it starts. Its \"Zombie mode\" keeps only a part of the DAG and computes the rest, which is slower; it is made for AMD cards with 4 GB on Linux and a few with 5 GB. If \"Allocation of DAG failed\" follows, it does not work with this card or driver.",
	Not:      "A larger page file, or closing programs: the card is smaller than the DAG, which grows with each epoch.",
	Cures: []cause.Cure{
		{Fix: "use_smaller_model", Title: "Mine a coin with a smaller DAG on this card", Told: "Choose another coin (`--algo`), or an algorithm without a DAG. A DAG takes 1 GiB plus 8 MiB per epoch of its chain, so 4 GB cards end at about epoch 375.", Cost: "another coin"},
		{Fix: "select_gpu", Title: "Mine only with the larger cards", Told: "`--devices 1,2`, with the numbers of those that stay (`--list-devices` shows them).", Cost: "this card's hash rate"},
		{Fix: "raise_memory_limit", If: func(c *ledger.Case) bool { return !c.Near("GeForce") }, Title: "AMD, 4 GB, Linux: let the DAG use the whole card", Told: "Add `--4g-alloc-size 4078` (in MB; less with an older driver or kernel) and `--keepfree 0` (default 5).", Cost: "None"},
	},
	Sources: []string{"lolMiner-releases/4G_Ethash_Linux_Readme.md", "https://github.com/Lolliedieb/lolMiner-releases/issues/102", "https://github.com/Lolliedieb/lolMiner-releases/issues/429"},
}, {
	ID: "miner/refused", Said: []string{"Allocation of DAG failed", "allocating memory or building DAG", "allocating memory for the DAG"},
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "could not get GPU memory for the DAG",
	Means:    "The miner does not say why. A DAG takes 1 GiB plus 8 MiB per epoch (\"New job received\" names it; epoch 400: 4.13 GiB), and a desktop some hundred MB beside it. If the card is larger than that, Windows refuses when its page file is smaller than what lies on all cards together.",
	Not:      "Other slots for the cards, or another pool.",
	Cures: []cause.Cure{
		{Fix: "raise_pagefile", Title: "On Windows, make the page file as large as all cards together", Told: "Two cards of 8 GB and three of 6 GB need 34 GB. Press Win+R, run `SystemPropertiesAdvanced`; Performance: Settings, Advanced, Virtual memory: Change. Set that in MB as initial and maximum size, then restart. More than four cards need \"Above 4G Decoding\" in the BIOS.", Cost: "disk space, and a restart"},
		{Fix: "use_smaller_model", Title: "If the card is hardly larger than the DAG, mine another coin", Told: "Cards with 3 GB end at about epoch 230 on Windows, with 4 GB at about 370. Later epochs need a coin with a smaller DAG.", Cost: "another coin"},
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
