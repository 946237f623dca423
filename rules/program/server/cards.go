package server

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// onCard are the failures of an allocation on the card under a server.
var onCard = []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle, fact.NCCLAlloc, fact.XPURuntime}

// as is a cure as the program has it: its own step, with the value computed.
func as(fix, title, cost string) cause.Cure { return cause.Cure{Fix: fix, Title: title, Cost: cost} }

// tell is a cure in words, typed one of a command.
func tell(fix, title, text, cost string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Kind: "text", Text: text, Cost: cost}
}

func typed(fix, title, text, cost string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Kind: "shell", Text: text, Cost: cost}
}

// otherHolders: other processes hold more of the card than a desktop does.
func otherHolders(c *ledger.Case) bool { return c.Others.Has() && c.OthersAtMost.Bytes > 4<<30 }
func mostOthers(c *ledger.Case) bool   { return c.Others.Bytes >= c.Mine.Bytes }

// enoughCard: the share that one request needs can be had from this card.
func enoughCard(c *ledger.Case) bool {
	u, ok := neededUtilization(c)
	return ok && u <= mostUtilization && !nearlyAll(c) && !when.Set("kv_cache_memory_bytes", "")(c)
}

var notOthers, taken = when.Not(otherHolders), when.Any(when.All(otherHolders, mostOthers), when.All(when.Root(fact.VLLMFreeTooLow), takenByJob))

// hardlyFree: less than half of the share that is wanted.
func hardlyFree(c *ledger.Case) bool { f := c.F().Free; return f != nil && f.Bytes*2 < c.Asked.Bytes }
