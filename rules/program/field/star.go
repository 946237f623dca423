package field

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/when"
)

// refusedRAM are the kinds in which a tool of the command line is refused RAM, or
// ended for it.
var refusedRAM = []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.PlainDevice, fact.NativeAlloc, fact.BadAlloc, fact.ShellKilled, fact.KernelKill, fact.SlurmKill, fact.ContainerKill}

var (
	sparse = cause.Cure{Fix: "use_smaller_model", Title: "Generate a sparser index", Told: "Add `--genomeSAsparseD 2` to `--runMode genomeGenerate`: that takes nearly half the RAM. Use the primary assembly, not toplevel (no alternative contigs or haplotypes). With more than 5,000 scaffolds lower `--genomeChrBinNbits`.", Cost: "slower mapping, hardly different results"}
	room   = cause.Cure{Fix: "raise_memory_limit", Title: "Give the job more RAM", Told: "Human or mouse needs 40 GB with sorting: `--mem=40G` in Slurm, or `memory` of the container or pipeline process. Run only one STAR at a time on a machine with 64 GB.", Cost: "a longer wait"}
)

// STAR is the aligner of RNA reads. It frees the index before it sorts, and the
// limit of that sort is as large as the index unless it is set (STAR.cpp).
var STAR = program.Program{
	Name: "star", Shown: "STAR", Work: "data", Edits: "flags", Language: "other",
	Proofs: []string{"--limitBAMsortRAM", "fatal error trying to allocate genome arrays", "STAR --genomeDir", "STAR --runMode", "..... started STAR run", "EXITING because of FATAL ERROR", "EXITING because of fatal"},
	Cards: []cause.Card{{
		ID: "star/sorting", Said: []string{"not enough memory for BAM sorting", "at least --limitBAMsortRAM"}, Unsaid: []string{"not enough memory for marking duplicates"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "stopped at its own limit for sorting (`--limitBAMsortRAM`)",
		Means:    "Mapping is done. Before sorting, STAR checks the fullest of its 50 bins against `--limitBAMsortRAM`, by default the size of the index. The number after \"SOLUTION\" is what that bin needs, in bytes. The index has been freed by then (unless it is shared), so the machine needs only that number.",
		Not:      "Fewer threads: the bin stays as large.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Set the number that STAR proposes", Told: "Add `--limitBAMsortRAM` with the bytes of the line \"SOLUTION\", if the machine or job has that much.", Cost: "RAM"},
			{Fix: "lower_batch_size", Title: "If it has less, use smaller bins", Told: "Add `--outBAMsortingBinsN 200` (default 50): each bin is then a quarter, unless one gene (rRNA) has most of the reads.", Cost: "more temporary files; raise `ulimit -n`"},
			{Fix: "stream_dataset", Title: "Or sort with samtools", Told: "Use `--outSAMtype BAM Unsorted`, then `samtools sort -@ 4 -m 2G`.", Cost: "a second step"},
		},
		Sources: []string{"STAR/source/bamSortByCoordinate.cpp", "STAR/source/STAR.cpp", "STAR/source/parametersDefault"},
	}, {
		ID: "star/arrays", Kinds: refusedRAM, Said: []string{"fatal error trying to allocate genome arrays"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "could not load its index into RAM[[ ({asked})]]",
		Means:    "STAR loads the whole index before it maps the first read;[[ {asked} is the size of its files plus 2 GB.]] It takes about 9 bytes per base, 30 GB for human. `--sjdbGTFfile` at the mapping step adds some 2 GB, and every other STAR of the job needs its own.",
		Not:      "The `ulimit -v` command that the message proposes: its number is in bytes, but the shell counts KiB. Use `ulimit -v unlimited`.",
		Cures:    []cause.Cure{room, {Fix: "close_other_apps", Title: "Check what is free, and whether there is a limit", Kind: "shell", Text: "free -h; ulimit -v", Told: "If `ulimit -v` shows a number (KiB) instead of `unlimited`, raise it. On Windows, WSL gets half of the RAM unless `memory=` in .wslconfig says more.", Cost: "free"}, sparse},
		Sources:  []string{"STAR/source/Genome_genomeLoad.cpp", "STAR/source/parametersDefault"},
	}, {
		ID: "star/generate", Kinds: refusedRAM, Said: []string{"starting to generate Genome files", "sorting Suffix Array chunks", "starting to sort Suffix Array", "--runMode genomeGenerate"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of RAM while it generated the index",
		Means:    "STAR sorts in chunks, one per thread, and plans them by `--limitGenomeGenerateRAM` (default 31 GB), not by what the machine has. If that number is above the RAM, the chunks do not fit. Human needs about 32 GB, or 16 GB with `--genomeSAsparseD 2`.",
		Not:      "Raising `--limitGenomeGenerateRAM` above the RAM: the chunks get larger.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Set `--limitGenomeGenerateRAM` below the RAM", Told: "In bytes, a tenth below what the machine or job has: `--limitGenomeGenerateRAM 28000000000` for 32 GB. If STAR then says that the genome needs more, take the next steps.", Cost: "a longer sort"},
			sparse,
			{Fix: "upgrade_version", Title: "Use a ready-made index, or generate it on a larger machine", Told: "An index can be copied, and mapping needs less RAM.", Cost: "a download"},
		},
		Sources: []string{"STAR/source/Genome_genomeGenerate.cpp", "STAR/source/parametersDefault", "STAR/extras/doc-latex/STARmanual.tex", "https://github.com/alexdobin/STAR/issues/237", "https://github.com/alexdobin/STAR/issues/458"},
	}, {
		ID: "star/mapping", Kinds: refusedRAM, Said: []string{"..... started mapping"}, Unsaid: []string{"..... finished mapping"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "{ended}", Figures: ended,
		Means:   "The index was loaded (about 9 bytes per base, 30 GB for human), and the threads' buffers and other programs no longer fitted beside it. On a machine with 32 GB a human index of the default kind leaves too little, whatever the number of threads.",
		Not:     "`--limitBAMsortRAM`: sorting had not begun.",
		Cures:   []cause.Cure{sparse, {Fix: "lower_num_workers", Title: "Run one STAR, with fewer threads", Told: "Use `--runThreadN 4`: each thread has its own buffers (`--limitIObufferSize`) and output.", Cost: "slower"}, room},
		Sources: []string{"STAR/source/parametersDefault", "https://github.com/alexdobin/STAR/issues/1370"}, Solved: 1,
	}, {
		ID: "star/memory", Kinds: refusedRAM, If: when.Not(smallAsk),
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of RAM",
		Means:    "STAR keeps the whole index in RAM from the start: about 9 bytes per base of the genome, some 30 GB for human or mouse. The lines before show how far it came: loading the genome, mapping, or sorting.",
		Cures:    []cause.Cure{room, sparse},
		Sources:  []string{"STAR/source/parametersDefault", "https://github.com/alexdobin/STAR/wiki/FAQ:-Run-time"},
	}},
	Sources: program.Sources{"STAR/source/parametersDefault": "--limitBAMsortRAM --outSAMtype --outBAMsortingBinsN --genomeSAsparseD --limitGenomeGenerateRAM --genomeChrBinNbits --runMode --sjdbGTFfile --genomeLoad --limitIObufferSize --runThreadN", "samtools/doc/samtools-sort.1": "-@ -m", "slurm/doc/man/man1/sbatch.1": "--mem"},
}

// smallAsk: little was asked for, by something beside the index.
func smallAsk(c *ledger.Case) bool { n := ledger.Requested(c); return n > 0 && n < 16*units.MiB }
