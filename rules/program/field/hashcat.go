package field

import (
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// saltBytes is a salt_t (include/types.h): twice 64 numbers of 32 bit, and 12 more.
const saltBytes = 560

var byOpenCL = []fact.Kind{fact.DeviceAlloc, fact.PlainDevice, fact.PlainMemory}

// Hashcat tries candidates against lists of hashes.
var Hashcat = program.Program{
	Name: "hashcat", Edits: "flags", Language: "cpp", Commands: []string{"hashcat"},
	Sources:  program.Sources{"hashcat/src/usage.c": "--workload-profile --kernel-accel --kernel-loops --backend-devices --left"},
	Proofs:   []string{"hashcat (v", "Not enough allocatable device memory", "enough allocatable device-memory", "MB allocatable", "hashcat64", "hashcat.exe"},
	Titles:   map[string]string{"lower_batch_size": "A smaller list of hashes or rules", "lower_parallel": "A lighter workload", "select_gpu": "Leave the small card out"},
	Costs:    map[string]string{"lower_batch_size": "More runs.", "lower_parallel": "Slower.", "select_gpu": "That card's speed."},
	Remedies: remedies([]string{"lower_parallel", "lower_batch_size", "close_other_apps", "select_gpu"}, []string{"lower_batch_size", "add_swap", "raise_pagefile"}),
	Steps: steps{
		"lower_batch_size": say("Split the hash file into two and run them one after another; with `-r`, a shorter rule file: hashes and rules are all copied to the card."),
		"lower_parallel":   say("`-w 1` in place of `-w 3` or `-w 4` (2 unless set), and take `-n` and `-u` out, if you set them. Memory-hard modes (scrypt, Argon2) need it per candidate at once."),
		"select_gpu":       say("Add `-d 1`: `hashcat -I` lists the devices with their memory. Integrated graphics count as devices too."),
	},
	Cards: []cause.Card{{
		ID: "hashcat/host", Kinds: []fact.Kind{fact.DeviceAlloc, fact.PlainHost, fact.PlainMemory}, Said: []string{"Insufficient memory available"}, Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was refused system memory (RAM), not the card's",
		Means: "\"Insufficient memory available\" is what hashcat prints when the system refuses it RAM; the line about a device only follows from that. For each device it keeps copies of the word and hash buffers in RAM, so that several cards need several times as much.",
		Cures: []cause.Cure{{Fix: "raise_pagefile", Title: "Windows: enlarge the page file", Told: "System, Advanced, Performance, Virtual memory: 16 to 32 GB. Linux: add as much swap.", Cost: "disk space, a restart"}, {Fix: "select_gpu", Title: "Run fewer devices in one process", Told: "`-d 1,2`, and the others in a second run.", Cost: "more than one run"}, {Fix: "close_other_apps", Title: "Close other programs", Told: "Browsers above all; RAM counts here, not VRAM.", Cost: "free"}, {Fix: "lower_batch_size"}}, Sources: []string{"hashcat/include/memory.h", "hashcat/src/memory.c"},
	}, {
		ID: "hashcat/salts", Kinds: byOpenCL, If: manySalts, Figures: saltFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "found no room for {salts} salts: {size} in one block",
		Means: "All salts of the list are copied to the card in one block, 560 bytes each: {salts} are {size}. The OpenCL driver gives {block} in one block here[[, of {whole}]], however much is free.",
		Not:   "Optimised kernels (`-O`), a smaller word list or mask: the salts stay as many.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Split the hash list", Told: "Parts of at most {per} hashes fit; a run for each, with your own options:", Steps: splitHashes, Cost: "More runs"},
			{Fix: "upgrade_version", Title: "On NVIDIA: hashcat 6 or later with the CUDA toolkit", Told: "Its CUDA backend has no bound of a quarter for one block; `hashcat -I` then lists the card under CUDA.", Cost: "An installation"},
			{Fix: "lower_parallel"},
		},
		Sources: []string{"hashcat/src/backend.c", "hashcat/include/types.h", "https://github.com/hashcat/hashcat/issues/2221"},
	}, {
		ID: "hashcat/list", Kinds: byOpenCL, Said: []string{"Not enough allocatable device memory", "enough allocatable device-memory"}, Figures: saltFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "found no room on the card for this list of hashes and rules",
		Means: "Before it starts, hashcat adds up what hashes, salts (560 bytes each), rules and bitmaps need on this device: more than it has. They are copied as a whole, before any candidate.[[ One block may have {block} of {whole} here.]] An integrated GPU has only a small share of memory.",
		Not:   "A smaller word list: it is read in pieces.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Split the hash list or the rules", Told: "Two hash files one after another, a shorter `-r` file; remove hashes that are cracked already (`--left`).", Cost: "More runs"},
			{Fix: "select_gpu", Title: "Leave that device out", Told: "Add `-d` with the numbers of the devices to use, for instance `-d 1`.", Cost: "That device's speed"},
			{Fix: "close_other_apps", Title: "Close other programs on the card", Told: "Browsers and games; `hashcat -I` shows the memory of each device.", Cost: "Free"},
		},
		Sources: []string{"hashcat/src/backend.c", "https://github.com/hashcat/hashcat/issues/516"},
	}, {
		ID: "hashcat/block", Kinds: byOpenCL, Said: []string{"CL_MEM_OBJECT_ALLOCATION_FAILURE", "CL_OUT_OF_RESOURCES", "CL_OUT_OF_HOST_MEMORY"}, Figures: saltFigures,
		Among:    []string{cause.BatchTooLarge, cause.OversizedAllocation, cause.ModelTooLarge, cause.Unknown},
		Headline: "was refused a buffer on the card by OpenCL",
		Means:    "OpenCL drivers place a buffer when a kernel first uses it, so this call need not be the one that asked, and give only a part of the card in one block[[: {block} of {whole} here]]. Two things fill it: the workload (`-w`, `-n`, `-u`; memory-hard modes need it for each candidate), and the list, which is copied whole.",
		Not:      "A smaller word list: it is read in pieces.",
		Cures: []cause.Cure{
			{Fix: "lower_parallel"},
			{Fix: "lower_batch_size", Title: "Try one hash; if that runs, split the list", Told: "And a shorter `-r` file. If one hash fails too, it is the workload, the driver, or something else on the card.", Cost: "More runs"},
			{Fix: "upgrade_version", Title: "Update driver and hashcat", Told: "Kali's and other distributions' packages lag; on NVIDIA hashcat 6 uses CUDA where the toolkit is installed, without the bound for one block.", Cost: "An installation"},
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
