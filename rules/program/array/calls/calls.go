// Package calls knows the calls of Python's libraries that make large arrays in
// RAM: NumPy, pandas, SciPy, scikit-learn.
package calls

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
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

// Loads: a model is being made or loaded, by the phase or the line that failed.
func Loads(c *ledger.Case) bool {
	return c.Phase == "load" || c.Phase == "unknown" && slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return strings.Contains(x.Source, "from_pretrained(") || strings.Contains(x.Source, "Pipeline(") || strings.Contains(x.Source, "Pipline(")
	})
}

// SmallerLoad is for a card that fills while a model is loaded: no input is there yet.
var SmallerLoad = cause.Cure{Fix: "use_smaller_model", If: Loads, Title: "If it fails again: load a smaller model, or 16-bit parameters", Cost: "some quality", Told: "It was loading a model, so no batch or input plays a part yet. In Flax models of transformers, `dtype` sets only the type of the computation; `model.to_bf16(params)` converts the parameters."}

func AtLeast(bytes int64) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return ledger.Requested(c) >= bytes }
}

// OnLinux: nothing in the log says Windows or a Mac.
func OnLinux(c *ledger.Case) bool { return !reader.OnWindows(c) && c.Reader.OS != "mac" }

var (
	PageFile = cause.Cure{If: reader.OnWindows, Fix: "raise_pagefile", Title: "Enlarge the page file", Told: "Open Task Manager, Performance, Memory. If \"Committed\" is at its limit, Windows refuses more memory even when RAM looks free. Run `sysdm.cpl`: Advanced, Performance Settings, Advanced, Virtual memory, Change. Set a custom maximum of 65536 MB on an SSD and restart.", Cost: "Disk space and a restart"}
	LookWhy  = cause.Cure{If: OnLinux, Fix: "raise_memory_limit", Title: "Check free RAM and limits", Kind: "shell", Text: "free -h; ulimit -v; sysctl vm.overcommit_memory", Ways: []cause.Way{
		{For: "Plenty is available", Text: "a limit refused it. If `ulimit -v` shows a number, run `ulimit -v unlimited` in the shell that starts the program. If overcommit is 2, run `sudo sysctl vm.overcommit_memory=0`. Containers and batch jobs have limits of their own"},
		{For: "RAM is full", Text: "close what you do not need: `ps -eo pid,rss,args --sort=-rss | head`"},
	}, Cost: "Free"}
	SwapBridge = cause.Cure{If: OnLinux, Fix: "add_swap", Title: "Add 16 GB of swap", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "16 GB of disk, slow when used"}
)

func Joined(lists ...[]string) []string {
	var out []string
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}
