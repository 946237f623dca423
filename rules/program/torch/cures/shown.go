package cures

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Through holds where the traceback runs through a file with one of some words in
// its path.
func Through(words ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool {
		return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool { return containsAny(f.File, words...) })
	}
}

// Near holds where one of some words that a card looks for stands near the failure.
func Near(words ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.Near(words...) }
}

// OfBytes: the failing line makes a tensor of one byte a value.
func OfBytes(c *ledger.Case) bool {
	f := ledger.OwnFrame(c)
	return f != nil && containsAny(f.Source, "int8", "torch.bool")
}

// MachineFull: the kernel ended it, and no limit of a container or job was it.
func MachineFull(c *ledger.Case) bool {
	return c.Root(fact.KernelKill) && !ledger.Capped(c) && !ledger.OnCluster(c) && !c.Says("docker")
}

// BeforeMMEngine: the traceback runs through MMCV's runner or a project's own core,
// as before MMEngine.
func BeforeMMEngine(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		return containsAny(f.File, "mmcv/runner/", "mmdet/core/", "mmrotate/core/", "mmseg/core/") || strings.Contains(f.Source, "train_detector(")
	})
}
