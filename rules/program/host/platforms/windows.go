package platforms

import (
	"regexp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// WSL is a process that was ended in WSL 2.
var WSL = []cause.Card{{
	ID: "wsl/half-of-ram", Kinds: []fact.Kind{fact.KernelKill, fact.ShellKilled}, Cause: cause.HostMemory, Weight: cause.Decisive, Figures: victimFigures,
	Headline: "{ended}[[: {victim} held {held}]]",
	Means:    "WSL 2 is a virtual machine. By default it gets half of the computer's RAM, however much Windows has free, and a quarter of that as swap. In Task Manager it is VmmemWSL.",
	Not:      "Closing Windows programs: WSL's limit stays the same.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Give WSL more memory", Told: "Edit `%UserProfile%\\.wslconfig` (create it if it does not exist), then run `wsl --shutdown` in PowerShell. Leave 4 to 8 GB for Windows. `free -h` in WSL then shows the new size.", Kind: "config", Text: "[wsl2]\nmemory=24GB   # on a PC with 32 GB; put what yours allows\nswap=16GB", Cost: "less for Windows"},
		{Fix: "lower_num_workers", Title: "Use less memory inside WSL", Told: "Use fewer workers or compile jobs (`num_workers=2`, `MAX_JOBS=2`), models in 16 bit, or a smaller quantisation.", Cost: "some speed"},
		{Fix: "close_other_apps", Title: "Check what fills it", Kind: "shell", Text: "free -h; ps -eo pid,rss,args --sort=-rss | head; sudo dmesg | grep -i 'killed process' | tail -3", Cost: "free"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/windows/wsl/wsl-config"},
}}

// inAI: a Python program, or one that runs models; of others nothing is known.
func inAI(c *ledger.Case) bool {
	return c.In("python") || c.Reader.Language == "python" || ledger.RunsModels(c) || c.Near("DLL load failed", "WinError")
}

// How Windows' limit is raised, and who shares it.
var (
	morePages = cause.Cure{Fix: "raise_pagefile", Title: "Enlarge the page file", Told: "Press Win+R, run `SystemPropertiesAdvanced`; Performance: Settings, Advanced, Virtual memory: Change. Untick \"Automatically manage\", choose an SSD with room, Custom size: initial 16384, maximum 65536 MB. Set, OK, restart.", Cost: "disk space and a restart"}
	mostPages = cause.Cure{Fix: "close_other_apps", Title: "Close the programs with the largest commit size", Told: "Task Manager, Details: right-click a column header, Select columns, \"Commit size\". Close what is on top and not needed, such as an old python.", Cost: "free"}
)

// PageFile is error 1455 of Windows.
var PageFile = []cause.Card{{
	ID: "windows/commit-spawned", Kinds: []fact.Kind{fact.CommitLimit}, Said: []string{"multiprocessing/spawn.py"}, If: inAI, Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "ran out of memory (error 1455): the worker processes reserved all of RAM plus page file",
	Means:    "The traceback is from a process that another Python process started (`multiprocessing/spawn.py`). On Windows each of them loads all libraries again. With PyTorch's CUDA libraries that reserves a few GB per process, and all processes together may reserve no more than RAM plus page file.",
	Cures: []cause.Cure{
		morePages,
		{Fix: "lower_num_workers", Title: "Start fewer processes", Told: "In a tool set its option for processes, workers or threads to 1. In your own script use `num_workers=0` or `Pool(2)`, and put the start under `if __name__ == \"__main__\":`.", Cost: "time"},
		mostPages,
	},
	Sources: []string{"cpython/Lib/multiprocessing/spawn.py", "https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--1300-1699-"},
}, {
	ID: "windows/commit-limit", Kinds: []fact.Kind{fact.CommitLimit}, If: inAI, Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "ran out of memory (error 1455): RAM plus page file are fully reserved",
	Means:    "Windows reserves (\"commits\") memory before it is used, up to RAM plus page file, so RAM may look free. Opening a model file reserves about its size. The CUDA libraries reserve a few GB in every Python process. A page file that is off, small or on a full disk lowers the limit.",
	Not:      "A GPU with more memory: the limit is on RAM plus page file.",
	Cures: []cause.Cure{
		morePages,
		{Fix: "close_other_apps", If: cause.LoadsModel, Title: "Close the programs with the largest commit size", Told: "Task Manager, Details: right-click a column header, Select columns, \"Commit size\". Close what is on top: browsers, another UI, an old python. Or restart Windows.", Cost: "free"},
		{Fix: "use_smaller_model", If: cause.LoadsModel, Title: "Load a smaller or split model file", Told: "A quantised file (4 bit, fp8), or one that is split into several parts, reserves less at a time.", Cost: "perhaps quality"},
		{Fix: "lower_num_workers", If: func(c *ledger.Case) bool { return !cause.LoadsModel(c) }, Title: "Use fewer worker processes", Told: "Set `num_workers=0` or 2 (YOLO: `workers=0`). In a script with workers put the start under `if __name__ == \"__main__\":`.", Cost: "data may come slower"},
		{Fix: "close_other_apps", If: func(c *ledger.Case) bool { return !cause.LoadsModel(c) }, Title: "Close the programs with the largest commit size", Told: "Task Manager, Details: right-click a column header, Select columns, \"Commit size\". Close what is on top and not needed, such as an old python.", Cost: "free"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--1300-1699-", "https://learn.microsoft.com/en-us/troubleshoot/windows-client/performance/introduction-to-the-page-file"},
}}

// commitWays is how Windows' limit is raised.
const commitWays = "Press Win+R, run `SystemPropertiesAdvanced`; Performance: Settings, Advanced, Virtual memory: Change. Untick \"Automatically manage\", choose an SSD with room, Custom size: initial 16384, maximum 65536 MB. Set, OK, restart."

// Windows: codes and events of Windows itself that mean the commit limit:
// STATUS_NO_MEMORY, STATUS_COMMITMENT_LIMIT (ntstatus.h), Resource-Exhaustion-
// Detector's event 2004.
var Windows = []cause.Card{{
	ID: "windows/virtual-memory", Kinds: append(slices.Clone(plainWords), fact.PlainDevice), Said: []string{"diagnosed a low virtual memory condition", "low on virtual memory", "Out of Virtual Memory", "0xC0000017", "0xC000012D", "WinError 8]"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Figures: commitFigures,
	Headline: "ran out of virtual memory: RAM plus page file are fully reserved",
	Means:    "Windows promises all programs together no more than RAM plus page file (\"Committed\" in Task Manager). Reserved memory counts even if it is never used, so RAM may look free. {names}",
	Not:      "[[Settings of {gpu}: system memory ran out.]]",
	Cures: []cause.Cure{
		{Fix: "restart_session", If: topProgram, Title: "Restart {top}, and watch it", Told: "That gives its memory back. If its \"Commit size\" (Task Manager, Details) then grows all day with the same work, it leaks.", Cost: "what is open in it"},
		{Fix: "raise_pagefile", Title: "Enlarge the page file", Told: commitWays, Cost: "Disk space and a restart"},
		{Fix: "close_other_apps", If: when.Not(topProgram), Title: "Close the programs that have reserved the most", Told: "Task Manager, Details: right-click a column header, Select columns, \"Commit size\". If a number grows all day, that program leaks: restart or update it.", Cost: "free"},
		{Fix: "upgrade_version", If: when.All(topProgram, topRuns), Title: "If it grows, find out which script it runs, and update that", Told: "Task Manager, Details, column \"Command line\". {top} only runs it: the script or one of its libraries keeps what it should release.", Cost: "free to look"},
		{Fix: "upgrade_version", If: when.All(topProgram, when.Not(topRuns)), Title: "If it grows, update {top}, or go back to an older version", Told: "A larger page file only delays what keeps growing. Look for a known leak in this version, and report these events.", Cost: "some minutes"},
		{Fix: "use_smaller_model", If: when.All(ledger.RunsModels, when.Not(topProgram)), Title: "Load a smaller or more quantised model", Told: "Its file has to fit beside what is reserved already.", Cost: "some quality"},
		{Fix: "lower_num_workers", If: when.Not(when.Any(ledger.RunsModels, topProgram)), Title: "Run fewer processes, or smaller inputs", Told: "Each Python process with PyTorch reserves a few GB for the CUDA libraries alone.", Cost: "time"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/openspecs/windows_protocols/ms-erref/596a1078-e883-4972-9bbc-49e60bebca55", "https://learn.microsoft.com/en-us/troubleshoot/windows-client/performance/introduction-to-the-page-file"},
}}

// WSLStart is a virtual machine of WSL that did not start.
var WSLStart = []cause.Card{{
	ID: "wsl/start", Kinds: append(slices.Clone(plainWords), fact.PlainDevice), Said: []string{"Wsl/Service"},
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "did not start: Windows had no memory for its virtual machine",
	Means:    "WSL 2 is a virtual machine, and Windows could not give it memory at its start. So Windows itself was short: of RAM, or of RAM plus page file (\"Committed\" in Task Manager). The memory inside Linux is not the reason.",
	Not:      "A larger `memory=` in .wslconfig: Windows would have to give even more.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", Title: "Shut down WSL, and close large programs", Told: "Run `wsl --shutdown` in PowerShell. Close what Task Manager shows at the top of Memory, then start WSL again.", Cost: "what runs in WSL ends"},
		{Fix: "raise_memory_limit", Title: "Give WSL less memory", Told: "In `%UserProfile%\\.wslconfig` set a quarter of the computer's RAM (by default it is half), then run `wsl --shutdown`.", Kind: "config", Text: "[wsl2]\nmemory=4GB   # a quarter of your RAM", Cost: "less inside WSL"},
		{Fix: "raise_pagefile", Title: "Enlarge the page file", Told: commitWays, Cost: "disk space and a restart"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/windows/wsl/wsl-config"},
}}

// committer is the program that heads the list of Windows' event.
var committer = regexp.MustCompile(`virtual\s+memory:\s+(\S[^()]{0,60}?) \(\d+\)`)

// topProgram: one program holds far more than any other on the list: it is named.
func topProgram(c *ledger.Case) bool { return commitFigures(c)["top"] != "" }

// topRuns: the program at the top only runs what others wrote.
func topRuns(c *ledger.Case) bool {
	name, _, _ := strings.Cut(strings.ToLower(commitFigures(c)["top"]), ".exe")
	return slices.Contains([]string{"python", "pythonw", "java", "javaw", "node", "php", "ruby", "perl", "rscript", "powershell", "pwsh", "dotnet", "w3wp", "julia"}, name)
}

func commitFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"top": "", "gpu": Graphics(c), "names": "Event 2004 (Event Viewer, System, Resource-Exhaustion-Detector) names the three programs that had reserved the most, in bytes."}
	if ledger.RunsModels(c) {
		out["names"] = "A model reserves about its file's size while it loads. " + out["names"]
	}
	x, ok := c.Fact("commit_top")
	m := committer.FindStringSubmatch(x.Text)
	if !ok || m == nil || x.Size == nil {
		return out
	}
	least, most := x.Size.Bytes, x.Size.Bytes
	for _, other := range c.Facts.Facts {
		if n := committer.FindStringSubmatch(other.Text); other.Name == "commit_top" && other.Size != nil && n != nil && n[1] == m[1] {
			least, most = min(least, other.Size.Bytes), max(most, other.Size.Bytes)
		}
	}
	out["top"] = quote.Told(m[1])
	out["names"] = out["top"] + " is at the top of this event's list, with " + units.Amount(most) + " reserved."
	if most-least > 8*units.MiB {
		out["names"] += " Between these events that figure changed by " + units.Amount(most-least) + ": if the later ones are larger, it grows."
	}
	return out
}

// victimFigures are who was ended, and what that held.
func victimFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"victim": "", "held": "", "ended": "ran out of the RAM that Windows gives it"}
	if c.Kind(fact.ShellKilled) && !c.Kind(fact.KernelKill) { // which does not say why
		out["ended"] = "killed the program, most likely because it used up the RAM that Windows gives it"
	}
	if v, ok := c.Fact("victim"); ok {
		out["victim"] = quote.Told(v.Text)
	}
	if rss := c.F().KilledRSS; rss != nil {
		out["held"] = rss.String()
	}
	return out
}

// Graphics names the card where the log is about work on one, whose readers may
// take its memory for what ran out; "" where nobody would think of it.
func Graphics(c *ledger.Case) string {
	if c.Training() || ledger.RunsModels(c) || c.In("pytorch", "tensorflow", "jax") {
		return "the graphics card"
	}
	return ""
}

// GPUFigures name the card, where a reader may take its memory for what ran out.
func GPUFigures(c *ledger.Case) map[string]string { return map[string]string{"gpu": Graphics(c)} }
