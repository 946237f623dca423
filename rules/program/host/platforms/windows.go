package platforms

import (
	"regexp"
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/when"
)

// WSL is a process that was ended in WSL 2.
var WSL = []cause.Card{{
	ID: "wsl/half-of-ram", Kinds: []fact.Kind{fact.KernelKill, fact.ShellKilled}, Cause: cause.HostMemory, Weight: cause.Decisive, Figures: victimFigures,
	Headline: "ran out of the RAM that Windows gives it[[: {victim} held {held}]]",
	Means:    "WSL 2 is a virtual machine. By default it has half of the computer's RAM, whatever Windows has free, and a quarter of that as swap. [[The process that was killed held {held}. ]]In Task Manager the virtual machine is VmmemWSL.",
	Not:      "Closing Windows programs: WSL's limit stays the same.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Give WSL more memory", Told: "In %UserProfile%\\.wslconfig (create it if it is missing), then `wsl --shutdown` in PowerShell. Leave 4 to 8 GB of the computer's RAM to Windows; `free -h` inside WSL shows the new size.", Kind: "config", Text: "[wsl2]\nmemory=24GB   # on a PC with 32 GB; put what yours allows\nswap=16GB", Cost: "Less for Windows"},
		{Fix: "lower_num_workers", Title: "Use less memory inside WSL", Told: "Fewer workers or compile jobs (`num_workers=2`, `MAX_JOBS=2`), models in 16 bit or a smaller quantisation.", Cost: "Some speed"},
		{Fix: "close_other_apps", Title: "Check what fills it", Kind: "shell", Text: "free -h; ps -eo pid,rss,args --sort=-rss | head; sudo dmesg | grep -i 'killed process' | tail -3", Cost: "Free"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/windows/wsl/wsl-config"},
}}

// inAI: a Python program, or one that runs models; of others nothing is known.
func inAI(c *ledger.Case) bool {
	return c.In("python") || c.Reader.Language == "python" || ledger.RunsModels(c) || c.Near("DLL load failed", "WinError")
}

// How Windows' limit is raised, and who shares it.
var (
	morePages = cause.Cure{Fix: "raise_pagefile", Title: "Enlarge the page file", Told: "Windows key, \"View advanced system settings\", Performance: Settings, Advanced, Virtual memory: Change. Untick \"Automatically manage\", custom size on an SSD with room: initial 16384, maximum 65536 MB. Set, OK, restart.", Cost: "Disk space and a restart"}
	mostPages = cause.Cure{Fix: "close_other_apps", Title: "Close the programs with the largest commit size", Told: "Task Manager, Details, column \"Commit size\" (right-click the column header, Select columns): end what is on top and not needed, such as an old python.", Cost: "Free"}
)

// PageFile is error 1455 of Windows.
var PageFile = []cause.Card{{
	ID: "windows/commit-spawned", Kinds: []fact.Kind{fact.CommitLimit}, Said: []string{"multiprocessing/spawn.py"}, If: inAI, Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "ran out of system memory: its worker processes committed RAM plus page file (error 1455)",
	Means:    "The traceback is that of a process which another Python process started (`multiprocessing/spawn.py`). Each of them loads the libraries anew, and with PyTorch's CUDA files commits a few GB before it does anything; Windows grants all processes together no more than RAM plus page file.",
	Cures: []cause.Cure{
		morePages,
		{Fix: "lower_num_workers", Title: "Start fewer processes", Told: "A tool: its own option for processes, workers or threads, at 1 (often `-n 1` or `--workers 1`). Your own script: `num_workers=0` or `Pool(2)`, and the start under `if __name__ == \"__main__\":`.", Cost: "Time"},
		mostPages,
	},
	Sources: []string{"cpython/Lib/multiprocessing/spawn.py", "https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--1300-1699-"},
}, {
	ID: "windows/commit-limit", Kinds: []fact.Kind{fact.CommitLimit}, If: inAI, Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "ran out of system memory: RAM plus page file are all committed (error 1455)",
	Means:    "Windows commits memory before it is used, up to RAM plus page file (\"Committed\" in Task Manager); RAM itself may look free. Two things commit a lot: a model file while it is opened (as much as its size), and the CUDA libraries (a few GB in every Python process, so loader workers multiply it). A page file that is off, small, or on a full disk lowers the limit.",
	Not:      "A card with more VRAM: the limit is on RAM plus page file.",
	Cures: []cause.Cure{
		morePages,
		{Fix: "close_other_apps", If: cause.LoadsModel, Title: "Close the programs with the largest commit size", Told: "Task Manager, Details, column \"Commit size\" (right-click the column header, Select columns): browsers, another UI, an old python. Or restart Windows.", Cost: "Free"},
		{Fix: "use_smaller_model", If: cause.LoadsModel, Title: "Load a smaller or split model file", Told: "A quantised file (4 bit, fp8), or one that is split into several parts, commits less at a time.", Cost: "Perhaps quality"},
		{Fix: "lower_num_workers", If: func(c *ledger.Case) bool { return !cause.LoadsModel(c) }, Title: "Use fewer worker processes", Told: "`num_workers=0` or 2 (YOLO `workers=0`); in a script with workers keep the start under `if __name__ == \"__main__\":`.", Cost: "Data may come slower"},
		{Fix: "close_other_apps", If: func(c *ledger.Case) bool { return !cause.LoadsModel(c) }, Title: "Close the programs with the largest commit size", Told: "Task Manager, Details, column \"Commit size\" (right-click the column header, Select columns): end what is on top and not needed, such as an old python.", Cost: "Free"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--1300-1699-", "https://learn.microsoft.com/en-us/troubleshoot/windows-client/performance/introduction-to-the-page-file"},
}}

// commitWays is how Windows' limit is raised.
const commitWays = "Win+R, `SystemPropertiesAdvanced`, Performance: Settings, Advanced, Virtual memory: Change. Untick \"Automatically manage\", choose an SSD with room, Custom size, initial 16384, maximum 65536 MB, Set, OK, restart."

// Windows: codes and events of Windows itself that mean the commit limit:
// STATUS_NO_MEMORY, STATUS_COMMITMENT_LIMIT (ntstatus.h), Resource-Exhaustion-
// Detector's event 2004.
var Windows = []cause.Card{{
	ID: "windows/virtual-memory", Kinds: append(slices.Clone(plainWords), fact.PlainDevice), Said: []string{"diagnosed a low virtual memory condition", "low on virtual memory", "Out of Virtual Memory", "0xC0000017", "0xC000012D", "WinError 8]"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Figures: commitFigures,
	Headline: "ran out of virtual memory: RAM plus page file are all committed",
	Means:    "Windows promises programs at most RAM plus page file (\"Committed\" in Task Manager), and counts what is reserved even if it is never used: RAM may look free. {names}",
	Not:      "[[Settings of {gpu}: it is system memory.]]",
	Cures: []cause.Cure{
		{Fix: "restart_session", If: topProgram, Title: "Restart {top}, and watch it", Told: "That gives its memory back. If its \"Commit size\" (Task Manager, Details) then grows all day with the same work, it leaks: update it, or go back to the version before that began.", Cost: "What is open in it"},
		{Fix: "raise_pagefile", Title: "Enlarge the page file", Told: commitWays, Cost: "Disk space and a restart"},
		{Fix: "close_other_apps", If: when.Not(topProgram), Title: "Close what has committed most", Told: "Task Manager, Details, column \"Commit size\" (right-click the header, Select columns). A number that grows all day belongs to a program that leaks: restart or update that one.", Cost: "Free"},
		{Fix: "upgrade_version", If: topProgram, Title: "Update {top}", Told: "A page file only postpones what keeps growing. Look for a known leak of this version, and report these events.", Cost: "Some minutes"},
		{Fix: "use_smaller_model", If: when.All(ledger.RunsModels, when.Not(topProgram)), Title: "Load a smaller or more quantised model", Told: "Its file has to fit beside what is committed already.", Cost: "Some quality"},
		{Fix: "lower_num_workers", If: when.Not(when.Any(ledger.RunsModels, topProgram)), Title: "Run fewer processes, or smaller inputs", Told: "Each Python process with PyTorch commits a few GB for CUDA's libraries alone.", Cost: "Time"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/openspecs/windows_protocols/ms-erref/596a1078-e883-4972-9bbc-49e60bebca55", "https://learn.microsoft.com/en-us/troubleshoot/windows-client/performance/introduction-to-the-page-file"},
}}

// WSLStart is a virtual machine of WSL that did not start.
var WSLStart = []cause.Card{{
	ID: "wsl/start", Kinds: append(slices.Clone(plainWords), fact.PlainDevice), Said: []string{"Wsl/Service"},
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "did not start: Windows could not give its virtual machine the memory",
	Means:    "WSL 2 is a virtual machine, and Windows was refused memory when it made it. So it is Windows' own memory that was short: RAM, or RAM plus page file (\"Committed\" in Task Manager), not what Linux has inside.",
	Not:      "A larger `memory=` in .wslconfig: Windows would have to give even more.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", Title: "End a WSL that hangs, and close large programs", Told: "`wsl --shutdown` in PowerShell; then see Task Manager, Memory, and start WSL again.", Cost: "What runs in WSL ends"},
		{Fix: "raise_memory_limit", Title: "Let WSL take less", Told: "In %UserProfile%\\.wslconfig, about half of the computer's RAM at most; then `wsl --shutdown`.", Kind: "config", Text: "[wsl2]\nmemory=8GB   # half of your RAM", Cost: "Less inside WSL"},
		{Fix: "raise_pagefile", Title: "Enlarge the page file", Told: commitWays, Cost: "Disk space and a restart"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/windows/wsl/wsl-config"},
}}

// committer is the program that heads the list of Windows' event.
var committer = regexp.MustCompile(`virtual\s+memory:\s+(\S[^()]{0,60}?) \(\d+\)`)

// topProgram: one program holds far more than any other on the list: it is named.
func topProgram(c *ledger.Case) bool { return commitFigures(c)["top"] != "" }

func commitFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"top": "", "gpu": Graphics(c), "names": "Event 2004 (Event Viewer, System, Resource-Exhaustion-Detector) names the three programs that had committed most, in bytes."}
	if ledger.RunsModels(c) {
		out["names"] = "A model commits about its file's size while it loads. " + out["names"]
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
	out["names"] = out["top"] + " heads the list of this event, with " + units.Amount(most) + " committed."
	if most-least > 8*units.MiB {
		out["names"] += " Between the events here that figure changed by " + units.Amount(most-least) + ": if the later ones are the larger, it grows."
	}
	return out
}

// victimFigures are who was ended, and what that held.
func victimFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"victim": "", "held": ""}
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
