package lookalike

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// disguises are troubles of which more has to be looked at than their words.
var disguises = []disguise{
	{
		trouble:  trouble{"device_side_assert", []string{"device-side assert triggered", "srcIndex < srcSelectDimSize", "indexSelectLargeIndex", "indexSelectSmallIndex", "cudaErrorAssert"}, "An index is out of range on the GPU: a token id, a label or a position is larger than the table it is looked up in.", "Run the same input on the CPU: the message then names the line. Compare the largest id with the vocabulary or the number of classes."},
		explains: []fact.Kind{fact.CUDAHandle, fact.TFHandle},
	},
	{
		trouble: trouble{"hsa_out_of_resources", []string{"HSA_STATUS_ERROR_OUT_OF_RESOURCES"}, "The ROCm runtime could not open or use the device; as a rule permissions or the driver, not memory.", "Add the user to the groups render and video, check `ls -l /dev/kfd /dev/dri` and `dmesg | grep -i -E 'amdgpu|kfd'`."},
		when: func(m text.Message) bool {
			return m.Mentions("rocminfo", "hsa_init", "/dev/kfd", "rocr") || nothingElseFailed(m)
		},
	},
	{
		trouble: trouble{"rocm_page_fault", []string{"Memory access fault by GPU node"}, "A kernel touched memory that is not mapped on an AMD GPU: a bug of program, driver or ROCm version.", "Try the ROCm version that the program names for this card; on unsupported cards check HSA_OVERRIDE_GFX_VERSION."},
		when:    not(text.Before("outofmemory", 400)), // the fault follows what was refused
	},
	{
		trouble: trouble{"disk_full", []string{"No space left on device", "Disk quota exceeded", "StorageFull", "PytorchStreamWriter failed writing file", "ephemeral-storage", "DiskPressure", "not enough disk space", "unexpected pos"}, "The disk (or a quota on it) is full; memory is not.", "Run `df -h .` and `df -h /tmp` (and `df -i .`: the number of files has a limit, too), then delete old checkpoints, or write them elsewhere; a folder for temporary files moves with TMPDIR, the Hugging Face cache with HF_HOME."},
		when:    isDisk,
	},
	{
		trouble:  trouble{"thread_denied", []string{"pthread_create failed (EPERM)"}, "The system forbade a new thread (EPERM); it is not memory, whatever the program says after it. In a container: an old Docker that does not know a call of the image's newer C library (clone3).", "Update Docker to 20.10.10 or newer, with its runc and libseccomp; until then an older base image, or `--security-opt seccomp=unconfined` for a trial."},
		explains: []fact.Kind{fact.NativeAlloc},
	},
	{
		trouble:  trouble{"scheduler_limit", []string{"DUE TO TIME LIMIT", "DUE TO PREEMPTION", "job killed: walltime", "TERM_RUNLIMIT"}, "The scheduler ended the job for its time limit or for another job, not for memory.", "Ask for more time (`#SBATCH --time=`, `#PBS -l walltime=`, `#BSUB -W`), or save checkpoints and continue from the last."},
		explains: []fact.Kind{fact.ShellKilled, fact.RankKilled, fact.WorkerKilled},
	},
	{
		trouble:  trouble{"killed_by_hand", []string{`"OOMKilled":false`, "OOMKilled: false", "OOMKilled=false"}, "Exit code 137 with OOMKilled false: signal 9, but not for the container's own limit. Either somebody stopped it (docker kill, a time-out, an orchestrator), or the machine, or the virtual machine of Docker Desktop, ran out of memory: that does not set the flag.", "On the machine (or in Docker's VM) `dmesg -T | grep -i -E 'oom|killed process'` tells: a line there means give Docker more memory (Settings, Resources) or bound the program. No line: `docker events --since 1h --filter container=NAME` shows who stopped it."},
		explains: []fact.Kind{fact.ShellKilled},
		when: func(m text.Message) bool {
			return m.Mentions("137") && !m.Mentions("memorycgroupoutofmemory", "outofmemory:kill")
		},
	},
	{
		trouble:  trouble{"javascript_heap", []string{"JavaScript heap out of memory", "Reached heap limit Allocation failed"}, "Node.js reached the limit of its own heap; the machine and the card may have plenty.", "Raise it before the command: `NODE_OPTIONS=--max-old-space-size=8192` (MB, below the RAM; PowerShell: `$env:NODE_OPTIONS=\"--max-old-space-size=8192\"`). If it fills that as well, something in the program grows: a newer version, or less at a time."},
		explains: []fact.Kind{fact.ShellKilled},
	},
	{
		trouble: trouble{"java_heap", []string{"Java heap space", "GC overhead limit exceeded", "OutOfMemoryError: Direct buffer memory", "OutOfMemoryError: Metaspace", "JVM Metaspace is exhausted", "java.lang.OutOfMemoryError"}, "A Java program reached the limit of its own heap (-Xmx), not the machine's or the card's.", "Raise it, if the machine has the RAM: `java -Xmx8g`; Gradle `org.gradle.jvmargs=-Xmx8g`; Spark `--driver-memory 8g` (collect, broadcast) or `--executor-memory 8g` (tasks), before the start; Metaspace `-XX:MaxMetaspaceSize=512m`. If it fills that as well: `-XX:+HeapDumpOnOutOfMemoryError` shows what is kept."},
		by: [][2]string{
			{"directbuffermemory", "Raise `-XX:MaxDirectMemorySize=2g`, which is as large as -Xmx unless set; it counts beside the heap. Netty, Spark's shuffles and NIO keep buffers there: if it only climbs, one is not given back."},
			{"metaspace", "Raise `-XX:MaxMetaspaceSize=1g` (Gradle: in `org.gradle.jvmargs`, then `./gradlew --stop`; Maven: `MAVEN_OPTS`). It holds classes, not data: if it climbs with each build or redeployment, class loaders are kept; restart the daemon or server."},
			{"gradle", "`org.gradle.jvmargs=-Xmx4g -XX:MaxMetaspaceSize=1g` in `~/.gradle/gradle.properties` (or the project's, whose other flags the line must keep), then `./gradlew --stop` and build again. Without it the daemon has 512 MB for all modules that it compiles. Still full: `--max-workers=2`. Tests have a JVM of their own: `test { maxHeapSize = \"2g\" }`. GRADLE_OPTS does not reach the daemon. Leave a quarter of the RAM to the rest."},
			{"org.apache.maven", "`MAVEN_OPTS=-Xmx4g` for Maven itself; tests run in a JVM of their own: `<argLine>-Xmx2g</argLine>` of surefire; the compiler: `<fork>true</fork>` with `<maxmem>`."},
			{"net.minecraft", "Minecraft: 4 to 6 GB in the launcher (JVM arguments `-Xmx6G`; Prism, CurseForge: Java settings), a server `java -Xmx6G -jar server.jar nogui`; not above half of the RAM. Then a lower render distance, fewer mods; grows over hours: a mod keeps chunks."},
			{"org.elasticsearch", "A file in config/jvm.options.d with `-Xms8g` and `-Xmx8g`, at half of the RAM and 31g at most; then fewer shards, smaller aggregations (`size`, `search.max_buckets`) and bulk requests."},
			{"kafka", "`KAFKA_HEAP_OPTS=\"-Xmx4g -Xms4g\"` before the start script; clients: smaller `fetch.max.bytes`, `max.poll.records`, `buffer.memory`. A client without TLS on a TLS port reads nonsense as a size and fails like this at once: check `security.protocol`."},
			{"ij.plugin", "ImageJ, Fiji: Edit, Options, Memory & Threads: three quarters of the RAM, then restart. Open large stacks as virtual stacks (`Use virtual stack` at the import), duplicate less, close what is done."},
		},
		when: not(text.Behind("nativethread", 80)),
	},
	{
		trouble: trouble{"php_memory_limit", []string{"Allowed memory size of"}, "A PHP script reached memory_limit, a setting of PHP.", "Raise memory_limit in php.ini, or run `php -d memory_limit=1G script.php`."},
		when:    text.Behind("bytesexhausted", 60),
	},
	{
		trouble: trouble{"go_heap", []string{"runtime: out of memory: cannot allocate", "fatal error: runtime: out of memory", "fatal error: out of memory"}, "A Go program was refused memory by the system: its own limit (ulimit -v, a cgroup), or a machine that is really short. The card is not involved.", "Check `ulimit -v` and the container's limit; GOMEMLIMIT keeps the heap of a Go program small. If the machine is short, free memory there."},
		when: func(m text.Message) bool {
			return m.Mentions("goroutine", "runtime:outofmemory") && !m.Mentions("errno=1455")
		},
	},
	{
		trouble: trouble{"webgl_lost", []string{"CONTEXT_LOST_WEBGL", "WebGLRenderer: Context Lost", "WebGL context was lost", "WebGL context lost"}, "The browser took the page's graphics context away and does not say why: as a rule graphics memory, above all on phones and integrated cards, else a driver that was reset or many live pages. Errors behind it (a width of 0, no shader) only follow.", "Somebody else's page: close other tabs with 3D, update browser and driver, try another browser. Your own: fewer and compressed textures (KTX2), a lower pixel ratio (`setPixelRatio(1)`; Cesium `viewer.resolutionScale = 0.75`), a smaller tile cache (Cesium `tileset.cacheBytes`, `maximumScreenSpaceError = 32`), dispose of what is gone, one context a page; on `webglcontextlost` call `preventDefault()` and build the scene anew."},
		quoted:  true,
		when:    nothingElseFailed,
	},
	{
		trouble: trouble{"launch_failed", []string{"the function failed to launch on the GPU"}, "A kernel could not be started on the card; memory is not named. Either this build and the card do not go together, or the input is so large that a launch or a library's work space beside JAX's pool did not fit.", "Run the smallest input first. It fails as well: driver, card and build (AlphaFold 3 on a card before Ampere: `--flash_attention_implementation=xla`; `nvidia-smi`, and `dmesg | grep -i xid`). Only the large one fails: leave room beside the pool (`XLA_CLIENT_MEM_FRACTION=0.85`), `--flash_attention_implementation=xla`, fewer tokens, or a newer version."},
		quoted:  true,
		when:    nothingElseFailed,
	},
	{
		trouble: trouble{"database_memory", []string{"Failed on request of size"}, "PostgreSQL was refused memory for one query.", "Lower what a query may take (`work_mem`, `hash_mem_multiplier`, `max_connections`), or look at the query named behind STATEMENT; if the machine itself was short, `free -h` and its kernel's log show it."},
		when:    text.Behind("memorycontext", 60),
	},
}

// isDisk tells a disk from /dev/shm: errno 28 on "</torch_...>", /dev/shm or a
// semaphore is shared memory.
func isDisk(m text.Message) bool {
	for _, shared := range [...]string{"</torch_", "/dev/shm", "semlock", "sharedmemorysegment"} {
		if m.Precedes(shared, 500) || m.Follows(shared, 160) {
			known := func(x fact.Failure) bool {
				return x.Kind == fact.SharedMemory || x.Kind == fact.NCCLShm || x.Kind == fact.SharedSegment
			}
			if m.Follows("nospaceleft", 11) && !slices.ContainsFunc(m.Facts.Failures, known) {
				m.Fail(fact.Failure{Kind: fact.SharedMemory, Framework: "pytorch", Backend: "cpu"}, m.End)
			}
			return false
		}
	}
	switch {
	case m.Follows("ephemeral-storage", 17):
		return m.Precedes("lowonresource:", 20) || m.Follows("exceed", 80)
	case m.Follows("diskpressure", 12):
		return !m.Follows("diskpressurefalse", 20)
	case m.Follows("unexpectedpos", 13):
		return m.Precedes("inline_container", 40)
	}
	return true
}
