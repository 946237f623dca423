package server

import (
	"fmt"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
)

// listedOthers: together they hold an eighth of the card, more than contexts do.
func listedOthers(c *ledger.Case) bool {
	others, bytes, _ := stage.Others(c)
	return stage.OnCard(c) && len(others) > 0 && bytes*8 > c.Total.Bytes && bytes > int64(len(others))*ledger.DriverContext && c.Total.Has()
}

func listedFigures(c *ledger.Case) map[string]string {
	out := vllmFigures(c)
	others, bytes, known := stage.Others(c)
	out["theirs"], out["count"], out["whose"] = units.Amount(bytes), strconv.Itoa(len(others)+1), "Beside this one"
	if !known {
		out["whose"] = "If the largest is this one,"
	}
	for _, p := range others[:min(len(others), 3)] {
		out["list"] += fmt.Sprintf(", %d with %s", p.PID, units.Amount(p.Bytes))
	}
	out["list"] = out["list"][2:]
	return out
}

// shareBeside is the share of the card that leaves the others theirs, and 1 GiB.
func shareBeside(c *ledger.Case) string {
	_, bytes, _ := stage.Others(c)
	return fmt.Sprintf("0.%02d", (c.Total.Bytes-bytes-units.GiB)*100/max(c.Total.Bytes, 1))
}

// roomBeside: a share of three tenths and more is left.
func roomBeside(c *ledger.Case) bool { return shareBeside(c) >= "0.30" && shareBeside(c) <= "0.95" }
