package lookalike

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// forbidden is EPERM in the words of glibc, OpenBLAS, libuv and Ruby; no limit on
// numbers, which is EAGAIN.
var forbidden = text.NewPattern(`^(?:(?:blas_thread_init:)?pthread_createfailed(?:forthread\d{1,4}of\d{1,4})?:?\(?|pthread_create:|can'tcreatethread:)(?:eperm|operationnotpermitted)`)

func denied(m text.Message) bool { return m.Find(forbidden, 80).Ok() }

// disguises are troubles of which more has to be looked at than their words.
var disguises = []disguise{
	{
		trouble: trouble{"device_side_assert", []string{"device-side assert triggered", "srcIndex < srcSelectDimSize", "indexSelectLargeIndex", "indexSelectSmallIndex", "cudaErrorAssert"}, "An index is out of range on the GPU: a token id, label or position is larger than its table. Memory is not full.", "Run the same input on the CPU, or with `CUDA_LAUNCH_BLOCKING=1`: the message then names the line. Compare the largest id with the vocabulary size or the number of classes."},
		by:      [][2]string{{"t<n_classes", "The loss met a label outside 0 to classes - 1. Print `torch.unique(labels)` of the data set (masks: of all files) and compare it with the number of the network's outputs. Where a value means no class (often 255 or -1), give the loss `ignore_index=255`; classes that begin at 1 need `labels - 1`."}}, explains: []fact.Kind{fact.CUDAHandle, fact.TFHandle},
	},
	{
		trouble: trouble{"hsa_out_of_resources", []string{"HSA_STATUS_ERROR_OUT_OF_RESOURCES"}, "The ROCm runtime could not open or use the device: usually permissions or the driver, not memory.", "Add the user to the groups render and video, check `ls -l /dev/kfd /dev/dri` and `dmesg | grep -i -E 'amdgpu|kfd'`."},
		when: func(m text.Message) bool {
			return m.Mentions("rocminfo", "hsa_init", "/dev/kfd", "rocr") || nothingElseFailed(m)
		},
	},
	{
		trouble: trouble{"rocm_page_fault", []string{"Memory access fault by GPU node"}, "A GPU kernel touched unmapped memory: a bug of the program, driver or ROCm version. Memory is not full.", "Try the ROCm version that the program names for this card; on unsupported cards check HSA_OVERRIDE_GFX_VERSION."},
		by:      [][2]string{{"llamarunnerstarted|ollama", "The model was loaded, the work failed: code for another chip. For Ollama as a service `sudo systemctl edit ollama`, under `[Service]` `Environment=\"HSA_OVERRIDE_GFX_VERSION=11.0.2\"` (of the nearest chip that ROCm supports: 10.3.0 for gfx103x, 11.0.0 or 11.0.2 for gfx110x; take it out if it is set already), then `sudo systemctl restart ollama`. Or a newer Ollama."}},
		when:    not(text.Before("outofmemory", 400)), // the fault follows what was refused
	},
	{
		trouble: trouble{"disk_full", []string{"No space left on device", "Disk quota exceeded", "StorageFull", "PytorchStreamWriter failed writing file", "ephemeral-storage", "DiskPressure", "not enough disk space", "storage limit exceeded", "unexpected pos"}, "The disk (or a quota on it) is full. Memory is not.", "Check `df -h . /tmp` (and `df -i .`: the number of files has a limit, too). Delete old files such as checkpoints, or write them elsewhere: TMPDIR moves temporary files, HF_HOME the Hugging Face cache."},
		when:    isDisk,
	},
	{
		trouble:  trouble{"thread_denied", []string{"pthread_create failed", "pthread_create: Operation not permitted", "can't create Thread: Operation not permitted"}, "The system forbade a new thread (EPERM). Memory is not full. In a container the usual reason is an old Docker that blocks a system call (clone3) of the image's newer C library.", "Update Docker to 20.10.10 or newer, with its runc and libseccomp. Until then use an older base image, or `--security-opt seccomp=unconfined` for a test."},
		explains: []fact.Kind{fact.NativeAlloc},
		when:     denied,
	},
	{trouble: trouble{"process_limit", []string{"can't start new thread", "fork: retry: Resource temporarily unavailable", "fork: Resource temporarily unavailable", "pthread_create failed", "blas_thread_init: pthread_create", "unable to create native thread", "unable to create new native thread", "Thread creation failed: Resource temporarily unavailable", "what(): Resource temporarily unavailable", "failed to create new OS thread", "failed to spawn thread", "unable to allocate necessary resources for OMP thread", "std::system_error: Resource temporarily unavailable"}, "The system refused a new thread or process: most likely a limit on their number is reached (`ulimit -u`, or the container's pids limit), not RAM.", "Start fewer: `export OMP_NUM_THREADS=4 OPENBLAS_NUM_THREADS=1`, and fewer workers; `ps -eLf | wc -l` counts what runs. Or raise the limit: `ulimit -u` (nproc in /etc/security/limits.conf), a container's `--pids-limit -1`, a service's `TasksMax`. If neither is near its limit, the stack of each thread does not fit: `ulimit -s 8192`, `ulimit -v unlimited`."}, when: not(denied)},
	{
		trouble: trouble{"rank_ended", []string{"Killing subprocess "}, "A rank ended, and DeepSpeed's launcher ended the others. The line with its return code, and the reason above it, are not here.", "Look for `exits with return code =` below. -9 is a kill, nearly always by the kernel because RAM was full (`sudo dmesg -T | grep -i 'killed process'` on the host): with `offload_optimizer` the state of Adam takes 12 bytes of RAM a parameter, whatever the batch. Another code: the rank's own traceback stands further up."},
		quoted:  true, when: func(m text.Message) bool { return nothingElseFailed(m) && !m.Mentions("traceback(", "returncode=") },
	},
	{
		trouble:  trouble{"killed_by_hand", []string{`"OOMKilled":false`, "OOMKilled: false", "OOMKilled=false"}, "Exit code 137 with OOMKilled false: signal 9, but not for the container's own limit. Either something stopped it (docker kill, a time-out, an orchestrator), or the machine or Docker Desktop's virtual machine ran out of memory, which does not set the flag.", "Run `dmesg -T | grep -i -E 'oom|killed process'` on the machine (or in Docker's VM). If it prints a line, give Docker more memory (Settings, Resources) or limit the program. If not, `docker events --since 1h --filter container=NAME` shows who stopped it."},
		explains: []fact.Kind{fact.ShellKilled},
		when: func(m text.Message) bool {
			return m.Mentions("137") && !m.Mentions("memorycgroupoutofmemory", "outofmemory:kill")
		},
	},
	{
		trouble:  trouble{"javascript_heap", []string{"JavaScript heap out of memory", "Reached heap limit Allocation failed", "V8 javascript OOM", "v8::internal::Heap::FatalProcessOutOfMemory"}, "A JavaScript engine (Node.js; in Electron a window of the program) reached the limit of its own heap; the machine and the card may have plenty.", "Raise the limit before the command: `NODE_OPTIONS=--max-old-space-size=8192` (MB, below the RAM; PowerShell: `$env:NODE_OPTIONS=\"--max-old-space-size=8192\"`; in a Dockerfile `ENV NODE_OPTIONS=--max-old-space-size=8192` above the step that builds). If it fills that too, something in the program grows: update it, or process less at a time."},
		by:       [][2]string{{"rendererprocess", "In Electron NODE_OPTIONS does not reach a window. Start the program with `--js-flags=--max-old-space-size=4096` (V8 with compressed pointers ends at 4 GB). If it fills that too: turn off extensions one by one, open fewer or smaller files, update it."}},
		explains: []fact.Kind{fact.ShellKilled},
	},
	{
		trouble: trouble{"java_heap", []string{"Java heap space", "GC overhead limit exceeded", "OutOfMemoryError: Direct buffer memory", "OutOfMemoryError: Metaspace", "JVM Metaspace is exhausted", "java.lang.OutOfMemoryError", "OutOfMemoryError thrown while trying to throw"}, "A Java program reached its own limit on the pool that this line names, not the machine's or the card's.", "Raise it if the machine has the RAM: `java -Xmx8g` (above today's value). Programs with a start script take it in `JAVA_OPTS`, an .ini, .vmoptions or a settings page. If it fills that too, `-XX:+HeapDumpOnOutOfMemoryError` shows what is kept."},
		by: [][2]string{
			{"directbuffermemory", "Raise `-XX:MaxDirectMemorySize=2g`, which is as large as -Xmx unless set, on top of the heap. Netty, Spark's shuffles and NIO keep buffers there; if it only climbs, buffers are not released."}, {"outofmemoryerror:metaspace|metaspaceisexhausted|compressedclassspace", "Raise `-XX:MaxMetaspaceSize=1g` (Gradle: in `org.gradle.jvmargs`, then `./gradlew --stop`; Maven: `MAVEN_OPTS`). It holds classes, not data. If it climbs with each build or redeployment, class loaders leak: restart the daemon or server."},
			{"gradle", "`org.gradle.jvmargs=-Xmx4g -XX:MaxMetaspaceSize=1g` in `~/.gradle/gradle.properties` (or in the project's; keep that line's other flags), then `./gradlew --stop` and build again. The daemon's default is 512 MB: if its message names that although you set more, the line was not read (it counts in the root project or in `~/.gradle`, which wins, and once per file). If it still fails: `--max-workers=2`. Tests have their own JVM: `test { maxHeapSize = \"2g\" }`. GRADLE_OPTS does not reach the daemon."}, {"org.apache.maven", "`MAVEN_OPTS=-Xmx4g` for Maven itself; tests run in a JVM of their own: `<argLine>-Xmx2g</argLine>` of surefire; the compiler: `<fork>true</fork>` with `<maxmem>`."},
			{"gatksparktool", "GATK on Spark. On a cluster each executor has its own heap: after `--` give `--executor-memory 8g --executor-cores 2` (more memory, fewer tasks in it). In local mode there is one JVM: `gatk --java-options \"-Xmx16g\"` (betas: `gatk-launch --javaOptions`) and fewer cores with `--spark-master local[2]`. Or one interval (`-L chr20`) at a time."}, {"spark.", "Spark, before the start: `--executor-memory 8g` if a task failed (\"Executor task launch worker\", \"Exception in task\"), `--driver-memory 8g` if the driver did (`collect`, `toPandas`, broadcast); in local mode only the driver's counts. The default of each is 1g. Or fewer `--executor-cores` and more, smaller partitions. What runs beside the heap has its own setting, `spark.executor.memoryOverhead`."}, {"net.minecraft", "Minecraft: 4 to 6 GB in the launcher (JVM arguments `-Xmx6G`; Prism, CurseForge: Java settings), a server `java -Xmx6G -jar server.jar nogui`; not above half of the RAM. Then lower the render distance or use fewer mods. If it grows over hours, a mod most likely leaks."}, {"org.elasticsearch", "A file in config/jvm.options.d with `-Xms8g` and `-Xmx8g`, at half of the RAM and 31g at most; then fewer shards, smaller aggregations (`size`, `search.max_buckets`) and bulk requests."},
			{"kafka", "`KAFKA_HEAP_OPTS=\"-Xmx4g -Xms4g\"` before the start script; clients: smaller `fetch.max.bytes`, `max.poll.records`, `buffer.memory`. A client without TLS on a TLS port reads nonsense as a size and fails like this at once: check `security.protocol`."}, {"broadinstitute", "GATK: `gatk --java-options \"-Xmx8g\" ...`, a fifth below what the job has; Picard: `java -Xmx8g -jar picard.jar`. GenomicsDBImport: `--batch-size 50` and native memory beside the heap; sorting and MarkDuplicates: `MAX_RECORDS_IN_RAM=250000`, TMP_DIR on a large disk; an interval (`-L chr20`) at a time."}, {"hudson.", "Jenkins: `JAVA_OPTS=-Xmx4g` (package: `systemctl edit jenkins`, `Environment=\"JAVA_OPTS=-Xmx4g\"`; Docker: `-e JAVA_OPTS=-Xmx4g`). If it fills again: discard old builds, huge console logs and test reports; a heap dump names the plug-in. Builds are separate processes."}, {"logstash", "LS_JAVA_OPTS=\"-Xms4g -Xmx4g\" or config/jvm.options; then fewer `pipeline.workers` and a smaller `pipeline.batch.size`: events in flight are their product."}, {"cassandra", "`MAX_HEAP_SIZE=8G` and `HEAP_NEWSIZE=800M` in cassandra-env.sh (newer: jvm*-server.options), a quarter to half of the RAM; then smaller partitions, pages and batches, fewer tombstones."}, {"org.apache.flink", "`taskmanager.memory.process.size: 4g` (`jobmanager.memory.process.size`), or `taskmanager.memory.task.heap.size`; large state into RocksDB (`state.backend.type: rocksdb`), fewer slots for each task manager."}, {"qupath", "QuPath: Edit, Preferences, \"Set maximum memory\", half to three quarters of the RAM, then restart. Also a smaller tile cache, fewer open images, and scripts in batches."}, {"water.", "H2O: `h2o.init(max_mem_size=\"16g\")`, `java -Xmx16g -jar h2o.jar`: about four times the data's file size. Then `h2o.remove` what is done; fewer models, folds and `nbins`. A running cluster keeps its size: `h2o.cluster().shutdown()` first."}, {"solr", "`SOLR_HEAP=4g` in solr.in.sh (or `bin/solr start -m 4g`); then docValues for facets and sorting, smaller `rows`, fewer warmed searchers and caches."}, {"butterfly", "Trinity: `--bflyHeapSpaceMax 20G --bflyCPU 2`, and the same command again: it resumes with the genes that failed."}, {"ij.plugin", "ImageJ, Fiji: Edit, Options, Memory & Threads: three quarters of the RAM, then restart. Open large stacks as virtual stacks (`Use virtual stack` at the import), duplicate less, close what you no longer need."},
		},
		when: not(text.Behind("nativethread", 80)),
	},
	{
		trouble: trouble{"php_memory_limit", []string{"Allowed memory size of"}, "A PHP script reached memory_limit, a setting of PHP.", "Raise memory_limit in php.ini, or run `php -d memory_limit=1G script.php`."},
		when:    text.Behind("bytesexhausted", 60),
	},
	{trouble: trouble{"segfault", []string{"Segmentation fault", "segfault at", "is killed by signal: Segmentation fault"}, "A program used an invalid address: a bug or mixed library versions, rarely a lack of memory.", "A Python program: run it with `python -X faulthandler` to see where, and reinstall the library that it names. Others: `gdb -ex run -ex bt --args PROGRAM` (your own command) names the library; update or reinstall that."}, by: [][2]string{{"ataddress0x440000", mixedMPI}, {"failingataddress:0x440000", mixedMPI}}, when: nothingElseFailed},
	{trouble: trouble{"illegal_instruction", []string{"shutdown with signal 4", "signal 4 (SIGILL)", "Illegal instruction", "Windows Error 0xc000001d", "[WinError -1073741795]", "exit status 0xc000001d", "exit status 3221225501", "STATUS_ILLEGAL_INSTRUCTION"}, "The program uses instructions that this CPU does not have (usually AVX, AVX2 or AVX-512). Memory is not full, and errors after it only follow from it.", "Use a build for older CPUs (llama.cpp and llama-cpp-python: build it on this machine with `-DGGML_AVX2=OFF`, in 2023 `-DLLAMA_AVX2=OFF`, in CMAKE_ARGS; without AVX also that one), or another machine. What the CPU has: CPU-Z on Windows, `lscpu | grep -o 'avx[^ ]*' | sort -u` on Linux."}, when: not(text.Before("outofmemory.size=", 400))},
	{trouble: trouble{"stack_overflow", []string{"stack overflow", "goroutine stack exceeds", "maximum recursion depth exceeded", "StackOverflowError", "has overflowed its stack"}, "The stack is full, usually because a function calls itself without end. RAM is not full.", "Look for the recursion in the trace. Raise the limit (Python `sys.setrecursionlimit`, `ulimit -s`) only if that depth is really needed."}, when: not(text.Beside("outofgpumemoryerror("))},
	{
		trouble: trouble{"ghc_heap", []string{"Current maximum heap size is"}, "A program written in Haskell reached the limit of its heap that was set with `+RTS -M`; the machine may have more.", "Raise it behind the command: `+RTS -M8G -RTS`, below the machine's RAM. If memory only climbs, something that is computed lazily is kept."},
		when:    text.Behind("+rts-m", 80),
	},
	{
		trouble: trouble{"webgl_lost", []string{"CONTEXT_LOST_WEBGL", "WebGLRenderer: Context Lost", "WebGL context was lost", "WebGL context lost"}, "The browser took the page's graphics context away and does not say why: usually graphics memory, above all on phones and integrated GPUs, otherwise a driver reset or too many 3D pages. Later errors (a width of 0, no shader) follow from it.", "On somebody else's page: close other tabs with 3D, update browser and driver, try another browser. On your own: fewer and compressed textures (KTX2), a lower pixel ratio (`setPixelRatio(1)`; Cesium `viewer.resolutionScale = 0.75`), a smaller tile cache (Cesium `tileset.cacheBytes`, `maximumScreenSpaceError = 32`), dispose of unused objects, one context per page; on `webglcontextlost` call `preventDefault()` and rebuild the scene."},
		quoted:  true, when: nothingElseFailed,
	},
	{
		trouble: trouble{"launch_failed", []string{"the function failed to launch on the GPU"}, "A kernel could not be started on the card; the message does not name memory. Either this build does not fit the card, or the input is so large that a library's work space beside JAX's pool did not fit.", "Run the smallest input first. If it fails too, check driver, card and build (AlphaFold 3 on a card before Ampere: `--flash_attention_implementation=xla`; `nvidia-smi`, and `dmesg | grep -i xid`). If only the large one fails: leave room beside the pool (`XLA_CLIENT_MEM_FRACTION=0.85`), `--flash_attention_implementation=xla`, fewer tokens, or a newer version."},
		quoted:  true, when: nothingElseFailed,
	},
}

// mixedMPI: an address just behind MPICH's MPI_COMM_WORLD (mpi.h), where Open MPI has a pointer.
const mixedMPI = "The address is just behind 0x44000000, the number of MPI_COMM_WORLD in MPICH and Intel MPI, which Open MPI took for an address: the program was compiled with the headers of one MPI and runs with the library of another. `which mpicxx mpirun` and `ldd PROGRAM | grep -i mpi` (your own program) show the two. Load the MPI with which it was compiled, or rebuild it in an empty folder with one MPI only (unload the others, and a conda environment that brings its own)."

// isDisk tells a disk from /dev/shm: errno 28 on "</torch_...>", /dev/shm or a
// semaphore is shared memory.
func isDisk(m text.Message) bool {
	for _, shared := range [...]string{"</torch_", "'/psm_", "/dev/shm", "semlock", "sharedmemorysegment", "triton_python_backend_shm"} {
		if m.Precedes(shared, 500) || m.Follows(shared, 160) {
			known := func(x fact.Failure) bool {
				return x.Kind == fact.SharedMemory || x.Kind == fact.NCCLShm || x.Kind == fact.SharedSegment
			}
			if m.Follows("nospaceleft", 11) && !slices.ContainsFunc(m.Facts.Failures, known) {
				m.Fail(map[bool]fact.Failure{true: {Kind: fact.SharedMemory, Framework: "pytorch", Backend: "cpu"}, false: {Kind: fact.SharedSegment, Framework: "other", Backend: "cpu"}}[m.Mentions("torch", "dataloader", "semlock", "/psm_")], m.End)
			}
			return false
		}
	}
	switch {
	case m.Follows("ephemeral-storage", 17):
		return m.Precedes("lowonresource:", 20) || m.Follows("exceed", 80)
	case m.Follows("diskpressure", 12):
		return !m.Follows("diskpressurefalse", 20) && !m.Precedes("hasno", 5)
	case m.Follows("unexpectedpos", 13):
		return m.Precedes("inline_container", 40)
	}
	return true
}
