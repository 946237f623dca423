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
		Means:    "A shell is small, so the command is not the reason. The machine, or the container of this shell, has no memory left, or has promised all that it may (`vm.overcommit_memory=2`). Every new command is refused until something ends.",
		Not:      "Starting the same command again.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "End the largest process from a session that still works", Told: "In another session type `kill` and the process number: `kill` is part of the shell, so it needs no new process. `exec ps -eo pid,rss,args --sort=-rss` lists the processes, but ends this shell. If nothing works, use the console or restart the machine.", Cost: "what that process did"},
			{Fix: "add_swap", Title: "Add swap, above all on a small server", Kind: "shell", Text: "sudo fallocate -l 4G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "4 GB of disk"},
			{Fix: "raise_memory_limit", Title: "Check which limit applies", Kind: "shell", Text: "free -h; sysctl vm.overcommit_memory; ulimit -v; cat /sys/fs/cgroup/memory.max", Cost: "free"},
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
		Means:    "Android's low memory killer (lmkd) did it. oom_score_adj shows what the app was doing: from 900 on it was in the background, and killing it is normal. 0 means the app on the screen, so the device was really short of memory, mostly because of that app or one beside it.",
		Not:      "`android:largeHeap`: it allows more, but the device has no more.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "If it is your app, hold less in memory", Told: "Decode images at the size that is shown, free caches in `onTrimMemory`, and map large files and models instead of reading them. `adb shell dumpsys meminfo PACKAGE` (the app's name) shows what it holds.", Cost: "some rewriting"},
			{Fix: "close_other_apps", Title: "On your own phone, close other apps and restart it", Told: "Then update the app, or use smaller images, levels or models in it.", Cost: "free"},
			{Fix: "raise_memory_limit", Title: "On an emulator, give the virtual device more RAM", Told: "Android Studio, Device Manager, Edit, RAM.", Cost: "RAM of the computer"},
		},
		Sources: []string{"https://source.android.com/docs/core/perf/lmkd", "https://developer.android.com/topic/performance/memory"},
	}},
}
