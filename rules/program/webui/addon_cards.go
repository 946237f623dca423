package webui

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/webui/addon"
)

// inAddon are the kinds with which work in an addition fails.
var inAddon = append(slices.Clone(merged), fact.MPSAlloc, fact.MPSBuffer, fact.ORTAlloc, fact.ORTDevice, fact.CUDAHandle)

// comfyAddons and their like speak for custom nodes and extensions.
var (
	comfyAddons = addon.Nodes.Cards("comfyui", inAddon, func(c *ledger.Case) bool { return !c.Near(merging...) }, ownFigures, comfyUnload, lookAround)
	a1111Addons = addon.Extensions.Cards("a1111", inAddon, func(c *ledger.Case) bool { return c.In("a1111") && !inForge(c) }, ownFigures, webuiAfresh, lookAround)
	forgeAddons = addon.Extensions.Cards("forge", inAddon, inForge, ownFigures, webuiAfresh, lookAround)
)

// webuiAfresh is what helps whatever extension it is; lookAround is last:
// nothing of the program's own reaches an addition.
var (
	webuiAfresh = cause.Cure{Fix: "restart_session", Title: "Restart the web UI", Told: "Close its window and start it again: that frees what earlier work left on the card.", Cost: "Free."}
	lookAround  = cause.Cure{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free.", If: func(c *ledger.Case) bool { return notAMD(c) && notMac(c) }}
)
