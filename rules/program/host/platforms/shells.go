package platforms

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// Shell is a shell that could not start a command: no program's worker.
var Shell = program.Program{
	Name: "shell", Shown: "The shell", Edits: "admin", Language: "other", Systems: []string{"linux"},
	Proofs: []string{"bash: fork: Cannot allocate memory", "sh: fork: Cannot allocate memory", "zsh: fork failed: cannot allocate memory"},
	Cards: []cause.Card{{
		ID: "shell/fork", Kinds: []fact.Kind{fact.PythonMemory, fact.PlainHost, fact.PlainMemory}, Said: []string{"sh: fork: Cannot allocate memory", "zsh: fork failed: cannot allocate memory"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "could not start a command: the system is out of memory",
		Means:    "A shell is small, so it is not the command: the machine, or the container in which the shell runs, has no memory left to give, or has promised all that it may (`vm.overcommit_memory=2`). Every new command is refused until something ends.",
		Not:      "Starting the same command again.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "End the largest process from a session that still works", Told: "`exec ps -eo pid,rss,args --sort=-rss` lists them; it replaces this shell, so it needs no fork. `kill` with the number is part of the shell: use it in another session. Without one: the console, or a restart of the machine.", Cost: "What that process did"},
			{Fix: "add_swap", Title: "Add swap, on a small server above all", Kind: "shell", Text: "sudo fallocate -l 4G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "4 GB of disk"},
			{Fix: "raise_memory_limit", Title: "Check what limits it", Kind: "shell", Text: "free -h; sysctl vm.overcommit_memory; ulimit -v; cat /sys/fs/cgroup/memory.max", Cost: "A look is free"},
		},
		Sources: []string{"bash/jobs.c", "https://man7.org/linux/man-pages/man2/fork.2.html"},
	}},
}

// Android is the system of phones, which ends apps before memory is gone.
var Android = program.Program{
	Name: "android", Shown: "Android", Edits: "code", Language: "java",
	Proofs: []string{"lowmemorykiller: Kill", "lowmemorykiller: Killing", "watermark is breached and swap is low"},
	Cards: []cause.Card{{
		ID: "android/lmkd", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory}, Said: []string{"lowmemorykiller: Kill", "watermark is breached and swap is low"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ended an app because the device ran low on RAM",
		Means:    "It was the low memory killer (lmkd). The number behind oom_score_adj says what the app was: from 900 on one in the background, whose end is normal; 0 is the app on the screen, so the device was really short, mostly because of that app or one that runs beside it.",
		Not:      "`android:largeHeap`: it allows more, the device has no more.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Hold less in the app", Told: "Decode images at the size that is shown, give caches back in `onTrimMemory`, map large files and models instead of reading them. `adb shell dumpsys meminfo PACKAGE` (the app's name) shows what it holds.", Cost: "Some rewriting"},
			{Fix: "close_other_apps", Title: "On your own phone: close other apps, restart it", Told: "Then update the app, or use smaller images, levels or models in it.", Cost: "Free"},
			{Fix: "raise_memory_limit", Title: "On an emulator: give the virtual device more RAM", Told: "Android Studio, Device Manager, Edit, RAM.", Cost: "RAM of the computer"},
		},
		Sources: []string{"https://source.android.com/docs/core/perf/lmkd", "https://developer.android.com/topic/performance/memory"},
	}},
}
