// Package calls knows the calls of Python's libraries that make large arrays in
// RAM: NumPy, pandas, SciPy, scikit-learn.
package calls

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// OwnLine is the innermost line of the reader's own code that the traceback shows.
func OwnLine(c *ledger.Case) string {
	frames := ledger.Trace(c)
	for i := len(frames) - 1; i >= 0; i-- {
		if frames[i].Own && frames[i].Source != "" {
			return frames[i].Source
		}
	}
	return ""
}

func OwnLineHas(c *ledger.Case, words ...string) bool {
	line := OwnLine(c)
	for _, w := range words {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// Grouped writes a count with commas.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func Crumb(c *ledger.Case) bool { r := ledger.Requested(c); return r > 0 && r < cause.Crumb }

func AtLeast(bytes int64) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return ledger.Requested(c) >= bytes }
}

var (
	PageFile = cause.Cure{If: reader.OnWindows, Fix: "raise_pagefile", Title: "Windows: look at \"Committed\", and let the page file grow", Told: "Task Manager, Performance, Memory: at its limit nothing more is given, RAM free or not. Advanced system settings, Performance, Settings, Advanced, Virtual memory: custom size, maximum 65536 MB, on an SSD; restart.", Cost: "Disk space and a restart"}
	LookWhy  = cause.Cure{If: when.Not(reader.OnWindows), Fix: "raise_memory_limit", Title: "See whether memory was really gone", Kind: "shell", Text: "free -h; ulimit -v; sysctl vm.overcommit_memory", Ways: []cause.Way{
		{For: "Much is available", Text: "a limit refused: `ulimit -v unlimited` in the shell that starts it (a number there is one, in KiB), or `sudo sysctl vm.overcommit_memory=0` where it is 2"},
		{For: "RAM is full", Text: "watch `ps -eo pid,rss,args --sort=-rss | head` while it runs: a climb is a list or cache that grows, a jump is one large load"},
		{For: "Windows", Text: "Task Manager, Performance, Memory: \"Committed\" at its limit means a larger page file"},
	}, Cost: "Free"}
	SwapBridge = cause.Cure{If: when.Not(reader.OnWindows), Fix: "add_swap", Title: "Swap, for a peak", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "16 GB of disk, slow while it is used"}
)

func Joined(lists ...[]string) []string {
	var out []string
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}
