package ggml

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// splitShares writes the proportions for a command.
func splitShares(c *ledger.Case) string {
	list := shareList(c)
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = fmt.Sprint(s)
	}
	return strings.Join(parts, ",")
}

// shareList are proportions in the order of the devices, about GiB: the weights
// that each took, with what was refused taken off the failing card; free memory
// before loading where the weights did not come that far. It is nil where the
// log does not name every device.
func shareList(c *ledger.Case) []int64 {
	shares := splitOfWeights(c)
	if len(shares) < 2 {
		shares = freeByIndex(c)
	}
	if len(shares) < 2 || len(shares) > 16 {
		return nil
	}
	list := make([]int64, len(shares))
	for i := range list {
		bytes, ok := shares[i]
		if !ok {
			return nil
		}
		list[i] = max((bytes+units.GiB/2)/units.GiB, 1)
	}
	return list
}

// freeByIndex is what each device had before loading.
func freeByIndex(c *ledger.Case) map[int]int64 {
	free := map[int]int64{}
	for _, d := range c.Facts.Devices {
		if d.Free != nil && d.Index >= 0 {
			free[d.Index] = d.Free.Bytes
		}
	}
	return free
}

// weightsByIndex are the model buffers of the devices, and their sum.
func weightsByIndex(c *ledger.Case) (weights map[int]int64, sum int64) {
	weights = map[int]int64{}
	for _, b := range c.Facts.Buffers {
		index := strings.TrimLeft(b.Device, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
		if n, ok := ledger.Whole(index); ok && b.Kind == "weights" {
			sum += b.Size.Bytes - weights[int(n)]
			weights[int(n)] = b.Size.Bytes
		}
	}
	return weights, sum
}

func splitOfWeights(c *ledger.Case) map[int]int64 {
	shares, _ := weightsByIndex(c)
	f := c.F()
	if f.Device == nil || shares[int(f.Device.Value)] <= 2*ledger.Requested(c) {
		return nil
	}
	moved := ledger.Requested(c)
	shares[int(f.Device.Value)] -= moved
	for i := range shares {
		if i != int(f.Device.Value) {
			shares[i] += moved / int64(max(len(shares)-1, 1))
		}
	}
	return shares
}
