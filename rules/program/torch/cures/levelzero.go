package cures

import "github.com/oomdoc/oomdoc/rules/ledger"

// LevelZero is scene with what the runtime's code means.
func LevelZero(c *ledger.Case) map[string]string {
	out := Scene(c)
	out["ended"], out["code"] = "out of memory, or of something else", "OUT_OF_DEVICE_MEMORY and OUT_OF_HOST_MEMORY mean what they say; OUT_OF_RESOURCES is also what a kernel gets that its driver cannot run, or that comes after one that had failed."
	switch {
	case c.Contains("out_of_device_memory"):
		out["ended"], out["code"] = "out of the GPU's memory", "Its code says that the GPU's memory was used up (on a graphics unit in the processor: its part of RAM), by this program or by others."
	case c.Contains("out_of_host_memory"):
		out["ended"], out["code"] = "out of system memory (RAM)", "Its code says that system memory (RAM) was used up, by this program or by others."
	}
	return out
}
