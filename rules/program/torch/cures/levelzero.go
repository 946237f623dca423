package cures

import "github.com/oomdoc/oomdoc/rules/ledger"

// LevelZero is scene with what the runtime's code means.
func LevelZero(c *ledger.Case) map[string]string {
	out := Scene(c)
	out["ended"], out["code"] = "out of memory, or of something else", "OUT_OF_DEVICE_MEMORY means GPU memory, and OUT_OF_HOST_MEMORY means RAM. OUT_OF_RESOURCES also appears if the driver cannot run a kernel, or if an earlier kernel failed."
	switch {
	case c.Contains("out_of_device_memory"):
		out["ended"], out["code"] = "out of the GPU's memory", "The error code says that GPU memory was used up (on an integrated GPU: its part of RAM), by this program or by others."
	case c.Contains("out_of_host_memory"):
		out["ended"], out["code"] = "out of system memory (RAM)", "The error code says that system memory (RAM) was used up, by this program or by others."
	}
	return out
}
