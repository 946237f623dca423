package webui

import "github.com/oomdoc/oomdoc/rules/ledger"

// What text generation shares with the pages for pictures.

// HostRemedies are against a checkpoint for which system memory is too small.
var HostRemedies = hostRemedies

// MostlyWindows: the log is of Windows, or of a program that most people run
// there.
func MostlyWindows(c *ledger.Case) bool { return mostlyWindows(c) }

// Work: an allocation in the middle of the work of one of these programs.
func Work(programs ...string) func(*ledger.Case) bool { return work(programs...) }
