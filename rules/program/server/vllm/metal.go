package vllm

import (
	"math"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// widerShare is the share of the Mac's limit that holds the plan and a cache of
// 1 GiB, 0 where none does.
func widerShare(c *ledger.Case) float64 {
	f := c.F()
	if f.Total == nil || f.Limit == nil || f.KVAvailable == nil || f.KVAvailable.Bytes >= 0 || f.Total.Bytes <= 0 {
		return 0
	}
	share := math.Ceil(float64(f.Limit.Bytes-f.KVAvailable.Bytes+units.GiB)/float64(f.Total.Bytes)*20) / 20
	if share > 0.9 {
		return 0
	}
	return share
}

// ShareTooSmall: the plan fits into what macOS allows, and not into vLLM's share.
func ShareTooSmall(c *ledger.Case) bool { return c.Backend == "metal" && widerShare(c) > 0 }

// MetalFigures adds what the plan of vllm-metal states.
func MetalFigures(c *ledger.Case, out map[string]string) map[string]string {
	out["limit"], out["usable"], out["weights"], out["overhead"], out["gain"], out["enough"], out["share"] = "", "", "", "", "", "", ""
	f := c.F()
	for name, size := range map[string]*fact.Size{"limit": f.Total, "usable": f.Limit, "weights": f.Weights, "overhead": f.ActivationPeak} {
		if size != nil {
			out[name] = units.Amount(size.Bytes)
		}
	}
	out["wider"] = ""
	if w := widerShare(c); w > 0 {
		out["wider"] = strconv.FormatFloat(w, 'g', 3, 64)
	}
	if f.Utilization != nil {
		out["share"] = f.Utilization.Text
	}
	if f.Total != nil && f.Limit != nil {
		gain := f.Total.Bytes - f.Limit.Bytes
		out["gain"] = units.Amount(gain)
		if f.KVAvailable != nil && gain < -f.KVAvailable.Bytes {
			out["enough"] = "A larger share alone: all of it is " + out["gain"] + " more, less than is missing."
		}
	}
	return out
}
