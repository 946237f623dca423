package field

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// saltBytes is a salt_t (include/types.h): twice 64 numbers of 32 bit, and 12 more.
const saltBytes = 560

var byOpenCL = []fact.Kind{fact.DeviceAlloc, fact.PlainDevice, fact.PlainMemory}

// Hashcat tries candidates against lists of hashes.
var Hashcat = program.Program{
	Name: "hashcat", Edits: "flags", Language: "cpp", Commands: []string{"hashcat"},
	Sources:  program.Sources{"hashcat/src/usage.c": "--workload-profile --kernel-accel --kernel-loops --backend-devices --left"},
	Proofs:   []string{"hashcat (v", "Not enough allocatable device memory", "enough allocatable device-memory", "MB allocatable", "hashcat64", "hashcat.exe"},
	Titles:   map[string]string{"lower_batch_size": "Use a smaller list of hashes or rules", "lower_parallel": "Use a lighter workload", "select_gpu": "Leave out the small GPU"},
	Costs:    map[string]string{"lower_batch_size": "More runs.", "lower_parallel": "Slower.", "select_gpu": "That card's speed."},
	Remedies: remedies([]string{"lower_parallel", "lower_batch_size", "close_other_apps", "select_gpu"}, []string{"lower_batch_size", "add_swap", "raise_pagefile"}),
	Steps: steps{
		"lower_batch_size": say("Split the hash file in two, and run them one after another. With `-r` use a shorter rule file: all hashes and rules are copied to the GPU."),
		"lower_parallel":   say("Use `-w 1` (default 2), and leave out `-n` and `-u`. Memory-hard modes (scrypt, Argon2) need memory for each candidate that runs at once."),
		"select_gpu":       say("Add `-d` with the number of the larger device. `hashcat -I` lists all with their memory; integrated graphics is one, too."),
	},
	Cards: []cause.Card{{
		ID: "hashcat/host", Kinds: []fact.Kind{fact.DeviceAlloc, fact.PlainHost, fact.PlainMemory}, Said: []string{"Insufficient memory available"}, Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of system memory (RAM), not GPU memory",
		Means: "hashcat prints \"Insufficient memory available\" when the system refuses it RAM; the line about a device only follows from that. For each device it keeps copies of the word and hash buffers in RAM, so several GPUs need several times as much.",
		Cures: []cause.Cure{{Fix: "raise_pagefile", Title: "Windows: enlarge the page file", Told: "Press Win+R, run `SystemPropertiesAdvanced`; Performance: Settings, Advanced, Virtual memory: Change. Custom size: initial 16384, maximum 32768 MB, then restart. On Linux add as much swap.", Cost: "disk space, a restart"}, {Fix: "select_gpu", Title: "Run fewer devices at once", Told: "Add `-d 1`: then only that device is used (`hashcat -I` lists them).", Cost: "the other devices' speed"}, {Fix: "close_other_apps", Title: "Close other programs", Told: "Above all browsers. RAM counts here, not GPU memory.", Cost: "free"}, {Fix: "lower_batch_size"}}, Sources: []string{"hashcat/include/memory.h", "hashcat/src/memory.c"},
	}, {
		ID: "hashcat/salts", Kinds: byOpenCL, If: manySalts, Figures: saltFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "had no room for {salts} salts: {size} in one block",
		Means: "hashcat copies all salts of the list to the GPU in one block, 560 bytes each: {salts} salts take {size}. The OpenCL driver allows only {block} per block here[[, of {whole}]], however much is free.",
		Not:   "A lighter workload (`-w 1`), optimised kernels (`-O`), a smaller word list or mask: the number of salts stays the same.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Split the hash list", Told: "Parts of at most {per} hashes fit. Run hashcat for each part, with your own options:", Steps: splitHashes, Cost: "more runs"},
			{Fix: "upgrade_version", Title: "On NVIDIA, use hashcat 6 or later with the CUDA toolkit", Told: "With CUDA a block may use more than a quarter of the GPU. `hashcat -I` then lists the GPU under CUDA.", Cost: "an installation"},
		},
		Sources: []string{"hashcat/src/backend.c", "hashcat/include/types.h", "https://github.com/hashcat/hashcat/issues/2221"},
	}, {
		ID: "hashcat/list", Kinds: byOpenCL, Said: []string{"Not enough allocatable device memory", "enough allocatable device-memory"}, Figures: saltFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "had no room on the GPU for this list of hashes and rules",
		Means: "Before it starts, hashcat adds up what hashes, salts (560 bytes each), rules and bitmaps need on this device, and it was too much. They are copied as a whole.[[ One block may have {block} of {whole} here.]] An integrated GPU has only a little memory.",
		Not:   "A smaller word list: it is read in parts.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Split the hash list or the rules", Told: "Run two hash files one after another, or use a shorter `-r` file. `--left` lists the hashes that are not cracked yet.", Cost: "more runs"},
			{Fix: "select_gpu", Title: "Leave that device out", Told: "Add `-d` with the number of the other device, if you have one (`hashcat -I` lists them).", Cost: "that device's speed"},
			{Fix: "close_other_apps", Title: "Close other programs that use the GPU", Told: "Browsers and games. `hashcat -I` shows the memory of each device.", Cost: "free"},
		},
		Sources: []string{"hashcat/src/backend.c", "https://github.com/hashcat/hashcat/issues/516"},
	}, {
		ID: "hashcat/block", Kinds: byOpenCL, Said: []string{"CL_MEM_OBJECT_ALLOCATION_FAILURE", "CL_OUT_OF_RESOURCES", "CL_OUT_OF_HOST_MEMORY"}, Figures: saltFigures,
		Among:    []string{cause.BatchTooLarge, cause.OversizedAllocation, cause.ModelTooLarge, cause.Unknown},
		Headline: "could not get a block of GPU memory (OpenCL)",
		Means:    "OpenCL drivers allow only a part of the GPU memory in one block[[ ({block} of {whole} here)]]. Two things fill it: the workload (`-w`, `-n`, `-u`; memory-hard modes need memory for each candidate), and the list, which is copied as a whole. The call that failed need not be the one that asked.",
		Not:      "A smaller word list: it is read in parts.",
		Cures: []cause.Cure{
			{Fix: "lower_parallel"},
			{Fix: "lower_batch_size", If: oneHash, Title: "Use a shorter rule file, and free the GPU", Told: "With one hash the list is not the reason. Use a shorter `-r` file if you use one, and close other programs that use the GPU.", Cost: "fewer candidates"},
			{Fix: "lower_batch_size", If: when.Not(oneHash), Title: "Try one hash; if that works, split the list", Told: "Also use a shorter `-r` file. If one hash fails too, the reason is the workload, the driver, or another program on the GPU.", Cost: "more runs"},
			{Fix: "upgrade_version", Title: "Update the driver and hashcat", Told: "Packages of Kali and other distributions are often old. On NVIDIA hashcat 6 uses CUDA if the toolkit is installed, without the limit for one block.", Cost: "an installation"},
		},
		Sources: []string{"hashcat/src/backend.c", "hashcat/src/usage.c", "https://github.com/hashcat/hashcat/issues/1640"},
	}},
}

// manySalts: the salts of the list are more than one block of the card holds.
func manySalts(c *ledger.Case) bool {
	x, ok := c.Fact("hashcat_salts")
	block := ledger.Sized(c, "hashcat_block")
	return ok && x.Count != nil && block > 0 && int64(x.Count.Value)*saltBytes > block
}

// oneHash: the list has a single hash.
func oneHash(c *ledger.Case) bool {
	x, ok := c.Fact("hashcat_salts")
	return ok && strings.Contains(strings.ToLower(x.Text), " 1 digests")
}

// saltFigures are the list's and the device's.
func saltFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"salts": "", "size": "", "block": "", "whole": "", "per": ""}
	if block, whole := ledger.Sized(c, "hashcat_block"), ledger.Sized(c, "hashcat_card"); block > 0 && whole > 0 {
		out["block"], out["whole"], out["per"] = units.Amount(block), units.Amount(whole), ledger.Thousands(perRun(c))
	}
	if x, ok := c.Fact("hashcat_salts"); ok && x.Count != nil {
		out["salts"], out["size"] = ledger.Thousands(int64(x.Count.Value)), units.Amount(int64(x.Count.Value)*saltBytes)
	}
	return out
}

// perRun is how many salts a block holds with a tenth to spare, in whole ten
// thousands.
func perRun(c *ledger.Case) int64 {
	return max(ledger.Sized(c, "hashcat_block")*9/10/saltBytes/10_000, 1) * 10_000
}

func splitHashes(c *ledger.Case) []step.Step {
	return step.Paste("shell", "split -l "+strconv.FormatInt(perRun(c), 10)+" hash.txt part_   # hash.txt: your list; Git Bash or WSL on Windows")(c)
}
