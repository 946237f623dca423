package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

var cpuOffload = Fix{
	ID:       "cpu_offload",
	Title:    "Put some layers into system memory",
	Tradeoff: "5 to 20 times slower, and system memory for what is moved.",
	Cost:     costly,
	Check:    "`print(model.hf_device_map)` shows which layers are on `cpu`; `nvidia-smi` shows 1 to 2 GiB free after loading.",
	Next:     "Lower the limit for the card by 1 GiB; if most layers are on `cpu`, use a smaller model.",
	Needs:    Needs{works: generated, branch: "A language model", told: "put some of its layers into system memory."},
	Told:     "Leave a part of the model in system memory, if your program has a setting for it; it is slower.",
	Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{step.FromPretrained(c, "half = "+reader.HalfType(c)+"\n", reader.DtypeArgument(c)+"=half", `device_map="auto"`, maxMemory(c))}
	},
}

// maxMemory is the max_memory argument: the card's share, measured where the
// log does not say how large it is, and as much RAM as the rest needs.
func maxMemory(c *ledger.Case) string {
	ram := int64(24)
	if z, ok := ledger.SizingOf(c); ok {
		if weights, ok := effect.WeightsOf(z); ok {
			ram = max(ledger.CeilDiv(weights-CardShare(c), units.GiB)+2, 4)
		}
	}
	if t := c.F().Total; t != nil && ledger.OnCard(c) {
		return fmt.Sprintf("max_memory={%d: \"%dGiB\", \"cpu\": \"%dGiB\"}", ledger.GPU(c), CardShare(c)/units.GiB, ram)
	}
	return fmt.Sprintf("max_memory={%d: torch.cuda.mem_get_info(%d)[0] - 3 * 2**29, \"cpu\": \"%dGiB\"}   # what is free less 1.5 GiB", ledger.GPU(c), ledger.GPU(c), ram)
}

// CardShare is how much of the card weights may take, in whole GiB: all of it
// less what others hold, and less room for the piece that failed, 1.25 GiB at
// least.
func CardShare(c *ledger.Case) int64 {
	f := c.F()
	if f.Total == nil {
		return 0
	}
	beside := units.GiB * 5 / 4
	if f.Requested != nil {
		beside = max(beside, f.Requested.Bytes+ledger.DriverContext)
	}
	if c.Others.Has() && c.Others.Bytes > ledger.DriverContext {
		beside += c.Others.Bytes - ledger.DriverContext
	}
	return max((f.Total.Bytes-beside)/units.GiB, 1) * units.GiB
}
