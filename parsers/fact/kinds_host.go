package fact

// What container engines and schedulers say about memory.
const (
	// ContainerKill is a container that hit its own limit: Docker, Kubernetes,
	// OpenPAI, ECS.
	ContainerKill Kind = "container_kill"
	// Evicted is a pod that a node short of memory threw out: the node's
	// shortage, not the pod's limit.
	Evicted Kind = "evicted"
	// YARNKill is a YARN container above its limit.
	YARNKill Kind = "yarn_kill"
)

// What the operating system says when it ends a process for memory.
const (
	// KernelKill is the Linux OOM killer (mm/oom_kill.c, all eras), for the
	// whole machine or for a cgroup.
	KernelKill Kind = "kernel_kill"
	// OOMD is systemd-oomd, which kills by pressure before memory is gone.
	OOMD Kind = "systemd_oomd"
	// SharedSegment is a shared memory segment that a database could not have.
	SharedSegment Kind = "shared_segment"
	// ShellKilled is a shell, a launcher or an IDE that saw signal 9.
	ShellKilled Kind = "shell_killed"
	// BuildKilled is a compiler that got signal 9.
	BuildKilled Kind = "build_killed"
	// SlurmKill is slurmstepd's cgroup plug-in.
	SlurmKill Kind = "slurm_kill"
	// AppleKill is jetsam: macOS or iOS ended the process.
	AppleKill Kind = "apple_kill"
)

const (
	// NativeAlloc is system memory refused to a library that says so in its own
	// words: pandas, Arrow, OpenCV, the Java VM, R.
	NativeAlloc Kind = "native_alloc"
	// WorkerBudget is a Dask worker above the share that it was given.
	WorkerBudget Kind = "worker_budget"
)
