package books

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// cachesBefore are the parts of the KV cache that other cards took before one
// was refused, by the names of their buffers (CUDA0, ROCm1).
func cachesBefore(c *ledger.Case) map[string]int64 {
	sizes := map[string]int64{}
	for _, b := range c.Facts.Buffers {
		if b.Kind == "kv" && !fact.HostMemory(b.Device) && b.Size.Line < c.Failure.Line && b.Size.Bytes > 0 {
			sizes[b.Device] = b.Size.Bytes
		}
	}
	return sizes
}

// LargestShare: the card that refused was to hold more of the cache than any of
// two or more others did, and so more layers.
func LargestShare(c *ledger.Case) bool {
	_, most := leastAndMost(cachesBefore(c))
	return c.Failure.Stage == "kv" && most > 0 && most*21/20 < ledger.Requested(c)
}

// leastAndMost of two caches or more, 0 otherwise.
func leastAndMost(sizes map[string]int64) (least, most int64) {
	if len(sizes) < 2 {
		return 0, 0
	}
	all := slices.Sorted(maps.Values(sizes))
	return all[0], all[len(all)-1]
}

// OthersCache says what the others hold of it, and a split in proportion to
// that, with a fifth less for the one that refused; "" where they are not named
// by their numbers.
func OthersCache(c *ledger.Case) (holds, how string) {
	sizes := cachesBefore(c)
	least, most := leastAndMost(sizes)
	if !LargestShare(c) || c.F().Device == nil {
		return "", ""
	}
	if holds = units.Amount(least); least != most {
		holds += " to " + units.Amount(most)
	}
	if len(Cards(c)) > len(sizes)+1 { // a value is needed for each, and what the rest holds is not known
		return holds, ""
	}
	list := make([]string, len(sizes)+1)
	for i := range list {
		share := ledger.Requested(c) * 8 / least
		if int64(i) != int64(c.F().Device.Value) {
			share = 0
			for device, size := range sizes {
				if strings.HasSuffix(device, fmt.Sprint(i)) && strings.TrimRight(device, "0123456789")+fmt.Sprint(i) == device {
					share = size * 10 / least
				}
			}
		}
		if share == 0 {
			return holds, ""
		}
		list[i] = fmt.Sprint(share)
	}
	return holds, "`-ts " + strings.Join(list, ",") + "` moves about a fifth of its layers to them."
}
