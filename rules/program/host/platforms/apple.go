package platforms

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// MacOS is what macOS and iOS say when they end a process.
var MacOS = slices.Concat(macSwapCards, macFullCards, append(
	onMac(limit("macos/killed", []fact.Kind{fact.ShellKilled}, cause.Strong,
		"ended the process with signal 9, most likely for RAM",
		"The process got signal 9 and could print no error of its own. Usually RAM and swap were used up, for instance because the disk has no room for more swap. An unsigned program (which is killed right at its start) or `kill -9` looks the same. On Apple silicon GPU memory is the same RAM.",
		"Swap files as on Linux: macOS makes its swap by itself while the disk has room.", "https://support.apple.com/guide/activity-monitor/view-memory-usage-actmntr1004/mac",
		cause.Cure{Fix: "close_other_apps", Title: "Check memory pressure, and close other apps", Kind: "text", Text: "Activity Monitor, Memory: red pressure while it runs means that RAM is full. Quit what takes most, and free disk space for swap.", Cost: "Free"},
		cause.Cure{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "Use a smaller or more quantised model", Kind: "text", Text: "A model should take at most two thirds of RAM: a 4-bit file needs about 0.6 GB per billion parameters.", Cost: "Some quality"},
		LessAtOnce,
		cause.Cure{Fix: "raise_memory_limit", Title: "Use a Mac, or a rented machine, with more memory", Told: "RAM is soldered on Apple silicon.", Cost: "Money"})),
	slices.Concat(daemonCards, jetsamCards)...))

// onMac holds a card back where zsh may have said the same on Linux.
func onMac(cards []cause.Card) []cause.Card {
	cards[0].If = func(c *ledger.Case) bool { return c.Reader.OS == "mac" || c.Contains("killed: 9") }
	return cards
}

// smallLimit: a limit that no app has, but the daemons of iOS do.
func smallLimit(c *ledger.Case) bool {
	limit := c.F().Limit
	return limit != nil && limit.Bytes <= 200*units.MiB
}

// mayRunModels: the log is about AI, or the app had reached gigabytes, as few
// others do.
func mayRunModels(c *ledger.Case) bool {
	limit := c.F().Limit
	return ledger.RunsModels(c) || limit != nil && limit.Bytes >= 2*units.GiB
}

var daemonCards = []cause.Card{{
	ID: "macos/jetsam-daemon", Kinds: []fact.Kind{fact.AppleKill}, If: smallLimit,
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "ended the process at its own limit of {limit} (jetsam)",
	Means:    "The limit is this process's own, {limit}, as launchd gives it to daemons and extensions; the device need not have been short of memory. What counts is its phys_footprint: dirty and compressed pages, not files that are mapped. A soft limit may be passed while it is active, a hard one not; an idle daemon has the inactive one.",
	Not:      "Closing apps, a restart or swap: the limit is this process's own.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Give it a larger limit", Told: "Where the system is yours (own firmware, jailbreak): an entry with its label in /System/Library/LaunchDaemons/com.apple.jetsamproperties.MODEL.plist (Version4, Daemon, Override; Global there is the default): `ActiveSoftMemoryLimit` and `InactiveHardMemoryLimit`, in MB; then restart the device. On a stock system nobody can.", Cost: "Less for other processes"},
		{Fix: "lower_num_workers", Title: "Keep the process below {limit}", Ways: []cause.Way{
			{For: "Loops", Text: "use `@autoreleasepool` inside, so that what was read is freed at once"},
			{For: "Files", Text: "map them or read in pieces: clean mapped pages do not count"},
			{For: "Libraries", Text: "each large framework costs a few MB at its start; empty caches before the process goes idle"},
			{For: "Heavy work", Text: "do it in a separate process that ends afterwards"},
		}, Cost: "Some rewriting"},
		{Fix: "stream_dataset", Title: "Check what it holds", Kind: "shell", Text: "footprint PROCESS   # its name or number; vmmap --summary and heap say more", Cost: "Free"},
	},
	Sources: []string{"apple-oss-distributions/xnu/bsd/kern/kern_memorystatus.c", "https://github.com/eycorsican/jetsamproperties"},
}}

var jetsamCards = limit("macos/jetsam", []fact.Kind{fact.AppleKill}, cause.Strong,
	"ended the app at its memory limit[[ of {limit}]]",
	"The system ended the app at its memory limit (jetsam). On iPhone and iPad each app has one, about half of RAM; on a Mac it is a limit set for that process. The GPU uses the same RAM.",
	"Closing other apps: the limit is this app's own.", "https://developer.apple.com/documentation/xcode/identifying-high-memory-use-with-jetsam-event-reports",
	cause.Cure{Fix: "use_smaller_model", If: mayRunModels, Title: "Use a smaller model", Kind: "text", Text: "Weights, context and the app itself have to stay below the limit: on phones 1 to 3 billion parameters in 4 bit. A shorter context or input takes less as well.", Cost: "Some quality"},
	cause.Cure{Fix: "use_lower_quant", If: mayRunModels, Title: "Use a 4-bit model", Kind: "text", Text: "Take the 4-bit conversion of the same model.", Cost: "Little quality"},
	cause.Cure{Fix: "stream_dataset", If: when.Not(mayRunModels), Title: "Find what it holds with Instruments", Told: "Xcode, Debug navigator, Memory, and Instruments' Allocations. A jump is one large load (images decoded at full size, files read whole); a climb is something that is kept.", Cost: "Some rewriting"},
	cause.Cure{Fix: "raise_memory_limit", Title: "On iOS, request the larger memory limit", Kind: "text", Text: "Add the entitlement `com.apple.developer.kernel.increased-memory-limit` to the app.", Cost: "None; some devices ignore it"})

// swapWords are the kernel's own where swap is used up.
var swapWords = []string{"low swap: killing", "low swap: suspending pid", "low swap: throttling pid", "largest compressed process", "no paging space action", "] due to swap exhaustion"}

// macSwapCards: what xnu's log says of swap. Its action pauses or ends one process
// that has more than half of all compressed memory, or else asks those that can.
var macSwapCards = []cause.Card{
	{
		ID: "macos/swap-disk", Kinds: []fact.Kind{fact.AppleKill}, Said: []string{"low swap: failed to create swapfile", "vnode_setsize for swap files failed"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of swap: the disk has no room for another swap file",
		Means:    "RAM is full, and the kernel could not make its next swap file; error 28 beside it means that the disk is full. It then ends or pauses programs (\"no paging space action\"), so one that vanished or froze at that time need not have had a fault of its own.",
		Not:      "Making a swap file by hand: macOS makes its own, where the disk has room.",
		Cures: []cause.Cure{
			{Fix: "free_disk", Title: "Free disk space, then restart", Kind: "shell", Text: "df -h /System/Volumes/VM; sysctl vm.swapusage", Told: "20 GB or more: System Settings, General, Storage. Swap files lie on that volume, and a restart empties them.", Cost: "Free"},
			{Fix: "close_other_apps", Title: "Find the program that fills the memory", Told: "Activity Monitor, Memory, sorted by Memory, compressed pages included. One far above the others, or one that climbs, has a leak: quit it, and update it.", Cost: "Free"},
			{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "Use a smaller or more quantised model", Told: "With its context at most two thirds of RAM.", Cost: "Some quality"},
			{Fix: "lower_num_workers", If: when.Not(ledger.RunsModels), Title: "Run less at the same time", Told: "Fewer windows, builds, virtual machines and agents at once.", Cost: "Some speed"},
		},
		Sources: []string{"apple-oss-distributions/xnu/osfmk/vm/vm_compressor_backing_store.c", "apple-oss-distributions/xnu/bsd/kern/kern_memorystatus.c", "https://github.com/manaflow-ai/cmux/issues/7490"},
	},
	{
		ID: "macos/paging-space", Kinds: []fact.Kind{fact.AppleKill}, Said: swapWords,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ended or paused programs, because swap and compressed memory were used up",
		Means:    "The kernel found no more room for compressed memory. It takes the process with most of it; the size in the line counts its pages before compression, so it can be far above the RAM. Either that program grows without end, or the disk has no room for more swap.",
		Not:      "Making a swap file by hand: macOS makes its own, where the disk has room.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Watch the program that holds most", Told: "Activity Monitor, Memory, sorted by Memory; the line may name it. If it climbs from hour to hour, it has a leak: restart it now and then, and update it. If it needs that much at once: less data, or fewer jobs.", Cost: "Free"},
			{Fix: "free_disk", Title: "Check that swap can grow", Kind: "shell", Text: "df -h /System/Volumes/VM; sysctl vm.swapusage", Told: "Below 20 GB free: delete or move files, then restart, which empties swap.", Cost: "Free"},
			{Fix: "lower_num_workers", Title: "Run less at the same time", Told: "Fewer windows, builds, virtual machines, models and agents at once.", Cost: "Some speed"},
		},
		Sources: []string{"apple-oss-distributions/xnu/bsd/kern/kern_memorystatus.c", "apple-oss-distributions/xnu/bsd/kern/kern_proc.c"},
	},
}

// macFullCards: what macOS says when RAM and swap are used up, and its reports of
// processes that it ended for memory.
var macFullCards = []cause.Card{
	{
		ID: "macos/report", Kinds: []fact.Kind{fact.AppleKill}, Said: []string{"rpages", "largestProcess", "vm-pageshortage"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ended a process for memory (a jetsam report)",
		Means:    "The report lists all processes; the one that was ended has a \"reason\". \"per-process-limit\": it reached its own limit, whatever was free. \"vm-pageshortage\" or \"highwater\": the device was short, and it was next. What it held is \"rpages\" times the page size (16 KiB on Apple silicon).",
		Not:      "Closing other apps where the reason is per-process-limit.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "Use a smaller model or a shorter context", Told: "On phones 1 to 3 billion parameters in 4 bit: weights, context and the app have to stay below about half of RAM.", Cost: "Some quality"},
			{Fix: "stream_dataset", If: when.Not(ledger.RunsModels), Title: "Find what it holds with Instruments", Told: "Allocations, and Xcode's memory gauge: a jump is one large load (an image at full size), a climb is something that is kept.", Cost: "Some rewriting"},
			{Fix: "raise_memory_limit", Title: "On iOS, request the larger limit", Told: "The entitlement `com.apple.developer.kernel.increased-memory-limit`, for per-process-limit.", Cost: "Some devices ignore it"},
			{Fix: "close_other_apps", Title: "If the device was short, close other apps", Told: "And restart it: the report's \"free\" pages show how little was left.", Cost: "Free"},
		},
		Sources: []string{"https://developer.apple.com/documentation/xcode/identifying-high-memory-use-with-jetsam-event-reports"},
	},
	{
		ID: "macos/application-memory", Kinds: plainWords, Said: []string{"out of application memory"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of memory for apps: RAM is full, and swap cannot grow",
		Means:    "macOS puts what does not fit into RAM into swap files on the disk. The message comes when those cannot grow any more: the startup disk is nearly full, or one program has grown to many times the RAM. On Apple silicon models on the GPU are in the same RAM.",
		Not:      "Swap settings: macOS makes swap by itself while the disk has room.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Quit the largest program", Told: "The window of the message lists sizes; Activity Monitor, Memory, too. A size far above the RAM is a leak: update that program.", Cost: "Free"},
			{Fix: "restart_session", If: when.Not(ledger.RunsModels), Title: "If it comes back, find what grows", Told: "Look at Activity Monitor's Memory column after an hour and after a day; quit and update what climbs.", Cost: "Free"},
			{Fix: "free_disk", Title: "Free disk space for swap", Told: "20 GB or more: System Settings, General, Storage. Then restart, which empties swap.", Cost: "Free"},
			{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "Use a smaller or more quantised model", Told: "At most two thirds of RAM with its context: a 4-bit file is about 0.6 GB per billion parameters.", Cost: "Some quality"},
		},
		Sources: []string{"https://support.apple.com/guide/activity-monitor/view-memory-usage-actmntr1004/mac"},
	},
}
