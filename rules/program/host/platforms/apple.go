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
		"killed the program, most likely because memory ran out",
		"\"Killed\" (signal 9) usually means that RAM and swap were used up, for example because the disk has no room for more swap. An unsigned program (killed right at its start) or a `kill -9` looks the same. On Apple silicon the GPU uses the same RAM.",
		"Swap files as on Linux: macOS makes swap by itself while the disk has room.", "https://support.apple.com/guide/activity-monitor/view-memory-usage-actmntr1004/mac",
		cause.Cure{Fix: "close_other_apps", Title: "Check memory pressure, and close other apps", Kind: "text", Text: "Activity Monitor, Memory tab: red memory pressure while it runs means that RAM is full. Quit what takes the most, and free disk space for swap.", Cost: "free"},
		cause.Cure{Fix: "use_smaller_model", If: when.All(cause.LoadsModel, when.Not(ledger.RunsModels)), Title: "Load a smaller model, or the same one in fewer bits", Told: "16 bit (`torch_dtype=torch.float16`) takes half of 32 bit, 4 bit an eighth. It should take at most two thirds of RAM.", Cost: "some quality"},
		cause.Cure{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "Use a smaller or more quantised model", Kind: "text", Text: "A model should take at most two thirds of RAM. A 4-bit file is about 0.6 GB per billion parameters.", Cost: "some quality"},
		lessOnMac,
		cause.Cure{Fix: "raise_memory_limit", Title: "Use a Mac, or a rented machine, with more memory", Told: "On Apple silicon RAM cannot be added.", Cost: "money"})),
	slices.Concat(daemonCards, jetsamCards)...))

// lessOnMac is [LessAtOnce] for work that has begun.
var lessOnMac = cause.Cure{Fix: LessAtOnce.Fix, If: when.Not(cause.LoadsModel), Title: LessAtOnce.Title, Kind: LessAtOnce.Kind, Text: LessAtOnce.Text, Cost: LessAtOnce.Cost}

// onMac holds a card back where zsh may have said the same on Linux.
func onMac(cards []cause.Card) []cause.Card {
	cards[0].If = func(c *ledger.Case) bool {
		return c.Reader.OS == "mac" || c.Contains("killed: 9") || c.Contains("zsh: killed") && c.In("macos")
	}
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
	Headline: "killed the process at its own memory limit of {limit} (jetsam)",
	Means:    "The limit of {limit} is this process's own, as launchd gives it to daemons and extensions. The device need not have been short of memory. Dirty and compressed pages count, mapped files do not. A soft limit may be exceeded while the process is active, a hard one never.",
	Not:      "Closing apps, a restart or swap: the limit is this process's own.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Give it a larger limit, if the system is yours", Told: "Only with your own firmware or a jailbreak: in /System/Library/LaunchDaemons/com.apple.jetsamproperties.MODEL.plist add an entry with its label under Version4, Daemon, Override. Set `ActiveSoftMemoryLimit` and `InactiveHardMemoryLimit` (MB), and restart the device.", Cost: "less for other processes"},
		{Fix: "lower_num_workers", Title: "Keep the process below {limit}", Ways: []cause.Way{
			{For: "Loops", Text: "use `@autoreleasepool` inside, so that what was read is freed at once"},
			{For: "Files", Text: "map files or read them in parts: clean mapped pages do not count"},
			{For: "Libraries", Text: "each large framework costs a few MB at the start. Empty caches before the process goes idle"},
			{For: "Heavy work", Text: "do it in a separate process that ends afterwards"},
		}, Cost: "some rewriting"},
		{Fix: "stream_dataset", Title: "Check what it holds", Kind: "shell", Text: "footprint PROCESS   # its name or number; vmmap --summary and heap say more", Cost: "free"},
	},
	Sources: []string{"apple-oss-distributions/xnu/bsd/kern/kern_memorystatus.c", "https://github.com/eycorsican/jetsamproperties"},
}}

const smallerOnPhone = "Weights, context and the app itself have to stay below the limit. On phones use 1 to 3 billion parameters in 4 bit. A shorter context or input takes less, too."

var jetsamCards = limit("macos/jetsam", []fact.Kind{fact.AppleKill}, cause.Strong,
	"or iOS killed the app at its memory limit[[ of {limit}]]",
	"The app reached its memory limit (jetsam). On iPhone and iPad every app has one, roughly half of the RAM; on a Mac it was set for that process. The GPU uses the same RAM.",
	"Closing other apps: the limit is this app's own.", "https://developer.apple.com/documentation/xcode/identifying-high-memory-use-with-jetsam-event-reports",
	cause.Cure{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "Use a smaller model", Kind: "text", Text: smallerOnPhone, Cost: "some quality"},
	cause.Cure{Fix: "stream_dataset", If: when.Not(ledger.RunsModels), Title: "Find out what it holds", Told: "Use Xcode's memory gauge (Debug navigator) and Instruments (Allocations). A jump is one large load, such as an image at full size. A climb is something that is kept.", Cost: "some rewriting"},
	cause.Cure{Fix: "use_smaller_model", If: when.All(mayRunModels, when.Not(ledger.RunsModels)), Title: "If it runs a model, use a smaller one", Kind: "text", Text: smallerOnPhone, Cost: "some quality"},
	cause.Cure{Fix: "raise_memory_limit", Title: "On iOS, request the larger memory limit", Kind: "text", Text: "Add the entitlement `com.apple.developer.kernel.increased-memory-limit` to the app.", Cost: "some devices ignore it"})

// swapWords are the kernel's own where swap is used up.
var swapWords = []string{"low swap: killing", "low swap: suspending pid", "low swap: throttling pid", "largest compressed process", "no paging space action", "] due to swap exhaustion"}

// macSwapCards: what xnu's log says of swap. Its action pauses or ends one process
// that has more than half of all compressed memory, or else asks those that can.
var macSwapCards = []cause.Card{
	{
		ID: "macos/swap-disk", Kinds: []fact.Kind{fact.AppleKill}, Said: []string{"low swap: failed to create swapfile", "vnode_setsize for swap files failed"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of swap: the disk has no room for another swap file",
		Means:    "RAM is full, and macOS could not create its next swap file; error 28 beside it means that the disk is full. It then kills or pauses programs (\"no paging space action\"), so a program that vanished or froze need not have had a fault of its own.",
		Not:      "Creating a swap file by hand: macOS makes its own, if the disk has room.",
		Cures: []cause.Cure{
			{Fix: "free_disk", Title: "Free disk space, then restart", Kind: "shell", Text: "df -h /System/Volumes/VM; sysctl vm.swapusage", Told: "Free 20 GB or more: System Settings, General, Storage. A restart empties swap. Room and swap in use:", Cost: "free"},
			{Fix: "close_other_apps", Title: "Find the program that fills the memory", Told: "Activity Monitor, Memory tab, sorted by Memory. If one is far above the others, or climbs, it leaks: quit it, and update it.", Cost: "free"},
			{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "Use a smaller or more quantised model", Told: "With its context it should take at most two thirds of RAM.", Cost: "some quality"},
			{Fix: "lower_num_workers", If: when.Not(ledger.RunsModels), Title: "Run less at the same time", Told: "Fewer windows, builds, virtual machines and agents at once.", Cost: "some speed"},
		},
		Sources: []string{"apple-oss-distributions/xnu/osfmk/vm/vm_compressor_backing_store.c", "apple-oss-distributions/xnu/bsd/kern/kern_memorystatus.c", "https://github.com/manaflow-ai/cmux/issues/7490"},
	},
	{
		ID: "macos/paging-space", Kinds: []fact.Kind{fact.AppleKill}, Said: swapWords,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "killed or paused programs because swap and compressed memory were used up",
		Means:    "macOS found no more room for compressed memory, and takes the process that has most of it. The size in that line counts memory before compression, so it can be far above the RAM. Either that program grows without end, or the disk has no room for more swap.",
		Not:      "Creating a swap file by hand: macOS makes its own, if the disk has room.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Watch the program that holds the most", Told: "Activity Monitor, Memory tab, sorted by Memory; the line may name it. If it climbs from hour to hour, it leaks: restart it now and then, and update it. If it needs that much at once, give it less data or fewer jobs.", Cost: "free"},
			{Fix: "free_disk", Title: "Check that swap can grow", Kind: "shell", Text: "df -h /System/Volumes/VM; sysctl vm.swapusage", Told: "With less than 20 GB free, delete or move files, then restart, which empties swap.", Cost: "free"},
			{Fix: "lower_num_workers", Title: "Run less at the same time", Told: "Fewer windows, builds, virtual machines, models and agents at once.", Cost: "some speed"},
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
		Headline: "or iOS killed a process for memory (a jetsam report)",
		Means:    "The report lists all processes; the killed one has a \"reason\". \"per-process-limit\" means that it reached its own limit, however much was free. \"vm-pageshortage\" or \"highwater\" means that the device was short of memory. Multiply \"rpages\" by the page size (16 KiB on Apple silicon) to see what it held.",
		Not:      "Closing other apps, if the reason is per-process-limit.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "Use a smaller model or a shorter context", Told: "On phones use 1 to 3 billion parameters in 4 bit: weights, context and app have to stay below about half of the RAM.", Cost: "some quality"},
			{Fix: "stream_dataset", If: when.Not(ledger.RunsModels), Title: "Find out what it holds", Told: "Use Instruments (Allocations) and Xcode's memory gauge. A jump is one large load, such as an image at full size. A climb is something that is kept.", Cost: "some rewriting"},
			{Fix: "raise_memory_limit", Title: "On iOS, request a larger limit", Told: "For per-process-limit add the entitlement `com.apple.developer.kernel.increased-memory-limit` to the app.", Cost: "some devices ignore it"},
			{Fix: "close_other_apps", Title: "If the device was short of memory, close other apps", Told: "Then restart the device. \"free\" in the report shows how many pages were left.", Cost: "free"},
		},
		Sources: []string{"https://developer.apple.com/documentation/xcode/identifying-high-memory-use-with-jetsam-event-reports"},
	},
	{
		ID: "macos/application-memory", Kinds: plainWords, Said: []string{"out of application memory"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of memory for apps: RAM is full, and swap cannot grow",
		Means:    "macOS moves what does not fit into RAM to swap files on the disk. The message appears when those cannot grow any more: the startup disk is nearly full, or one program has grown to many times the RAM. On Apple silicon the GPU uses the same RAM.",
		Not:      "Swap settings: macOS makes swap by itself while the disk has room.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Quit the largest program", Told: "The message's own window lists sizes, and so does Activity Monitor, Memory tab. A program far above the size of your RAM leaks: update it.", Cost: "free"},
			{Fix: "restart_session", If: when.Not(ledger.RunsModels), Title: "If it comes back, find what grows", Told: "Look at the Memory column in Activity Monitor after an hour and after a day. Quit and update what climbs.", Cost: "free"},
			{Fix: "free_disk", Title: "Free disk space for swap", Told: "Free 20 GB or more: System Settings, General, Storage. Then restart, which empties swap.", Cost: "free"},
			{Fix: "use_smaller_model", If: ledger.RunsModels, Title: "Use a smaller or more quantised model", Told: "With its context it should take at most two thirds of RAM. A 4-bit file is about 0.6 GB per billion parameters.", Cost: "some quality"},
		},
		Sources: []string{"https://support.apple.com/guide/activity-monitor/view-memory-usage-actmntr1004/mac"},
	},
}
