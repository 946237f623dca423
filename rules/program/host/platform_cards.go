package host

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program/host/activity"
)

// gridCards: Sun Grid Engine and its successors count h_vmem for each slot, of
// all processes of the job together (queue_conf(5)).
var gridCards = []cause.Card{{
	ID: "sge/limit", Kinds: queue, Said: []string{"h_vmem", "s_vmem", "h_rss", "s_rss"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Figures: gridFigures,
	Headline: "killed the job at its memory limit[[{figures}]]",
	Means:    "The limit counts for each slot, for all processes of the job together; the node may have had more. {counts}",
	Cures: []cause.Cure{
		gridSpace,
		{Fix: "raise_memory_limit", Title: "Request more memory[[: {wanted}]]", Told: "[[{wanted} is {basis}, in all. ]][[It had reached {reached}: request more than that in all. ]]With a parallel environment (`-pe smp 4`) the number is for one slot: divide it by the slots.", Steps: more("shell", "G", "#$ -l h_vmem=MEM   # in the job script; or behind qsub: -l h_vmem=MEM"), Cost: "perhaps a longer wait"},
		gridArena, lessMemory, lessPython, grows,
	},
	Sources: []string{"https://manpages.ubuntu.com/manpages/bionic/en/man5/sge_queue_conf.5.html", "gridengine/source/daemons/execd/execd_ck_to_do.c"},
}, {
	ID: "sge/killed", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"died through signal KILL"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "killed the job with signal 9 (KILL), most likely at its memory limit",
	Means:    "Grid Engine sends KILL at a hard limit of memory (`h_vmem`) or time (`h_rt`); the kernel sends it if the node is full. Look at \"Max vmem\" in the mail, or `maxvmem` in `qacct`: if it is close to the limit times the slots, it was memory.",
	Not:      "Submitting it again unchanged: it reaches the same limit.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Compare use and limit, and request twice as much", Told: "`qacct -j JOB` (its number) shows `maxvmem` (used) and `category` (requested). Then submit with `-l h_vmem=MEM`. MEM is twice `maxvmem`, divided by the slots (such as 64G).", Cost: "perhaps a longer wait"},
		lessMemory, lessPython, grows,
		{Fix: "restart_session", Title: "If it was the time limit, request more time", Told: "`qacct` shows `ru_wallclock`. If that is close to the limit: `qsub -l h_rt=48:00:00`.", Cost: "perhaps a longer wait"},
	},
	Sources: []string{"https://manpages.ubuntu.com/manpages/bionic/en/man5/sge_queue_conf.5.html", "gridengine/source/daemons/qmaster/job_exit.c"},
}}

// tensorflowKilled: TensorFlow had remarked on large pieces of RAM before.
var tensorflowKilled = cause.Card{
	ID: "linux/killed-tensorflow", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"of free system memory", "exceeds 10% of system memory"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "killed the program after TensorFlow had asked for large amounts of RAM",
	Means:    "TensorFlow warns of each allocation above a tenth of the free RAM (\"Allocation of ... exceeds 10%\", in bytes); a few of these fill it. It is usually the whole data set as one tensor (`from_tensor_slices`, `fit` with arrays), or a layer's result on the CPU. " + activity.Kill + activity.OtherKills,
	Not:      "GPU settings such as memory growth: this is system RAM.",
	Cures: []cause.Cure{
		{Fix: "stream_dataset", Title: "If it comes before the first step, feed the data in batches", Told: "Use `tf.keras.utils.image_dataset_from_directory`, `tf.data.Dataset.from_generator` or TFRecords. Do not use `.cache()` without a file name, and make the `shuffle` buffer smaller.", Cost: "some rewriting"},
		{Fix: "lower_batch_size", Title: "If it comes during a step, lower the batch or image size", Told: "Half the batch size halves these allocations.", Cost: "slower"},
		askKernel,
	},
	Sources: []string{"tensorflow/core/framework/cpu_allocator_impl.cc", "https://www.tensorflow.org/guide/data"},
}
