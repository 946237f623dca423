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
	sparse = cause.Cure{Fix: "use_smaller_model", Title: "Generate a sparser index", Told: "`--genomeSAsparseD 2` at `--runMode genomeGenerate`: nearly half the RAM. Leave out alternative contigs and haplotypes too (the primary assembly, not toplevel); with more than 5,000 scaffolds lower `--genomeChrBinNbits`.", Cost: "Slower mapping, hardly other results"}
	room   = cause.Cure{Fix: "raise_memory_limit", Title: "Give the job that much RAM", Told: "Human or mouse: 40 GB with sorting (`--mem=40G` in Slurm, `memory` of a container or of the pipeline's process), and one STAR at a time on a machine of 64.", Cost: "A longer wait"}
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
		Means:    "Mapping is done. Before it sorts, STAR compares the fullest of its 50 bins with `--limitBAMsortRAM`, which is as large as the index unless it is set. The number in the line \"SOLUTION\" is that bin and 1 GB more, in bytes. The index has been freed by then, so the machine needs that number, not both (unless the index is shared: `--genomeLoad LoadAndKeep`).",
		Not:      "Fewer threads: the bin stays as large.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Set the number that it names", Told: "`--limitBAMsortRAM` with the bytes of the line \"SOLUTION\", if the machine or job has them.", Cost: "RAM"},
			{Fix: "lower_batch_size", Title: "If it has not: use smaller bins", Told: "`--outBAMsortingBinsN 200` in place of 50: a quarter in each, unless one gene (rRNA) has most of the reads.", Cost: "More temporary files; raise `ulimit -n`"},
			{Fix: "stream_dataset", Title: "Or sort with samtools", Told: "`--outSAMtype BAM Unsorted`, then `samtools sort -@ 4 -m 2G`.", Cost: "A second step"},
		},
		Sources: []string{"STAR/source/bamSortByCoordinate.cpp", "STAR/source/STAR.cpp", "STAR/source/parametersDefault"},
	}, {
		ID: "star/arrays", Kinds: refusedRAM, Said: []string{"fatal error trying to allocate genome arrays"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "could not load its index into RAM[[: {asked}]]",
		Means:    "The index is loaded whole before the first read is mapped;[[ {asked} is its files and 2 GB.]] About 9 bytes a base, 30 GB for human. Junctions from `--sjdbGTFfile` at the mapping step come on top (some 2 GB), and so does every other STAR of the job.",
		Not:      "The `ulimit -v` that the message proposes, with its number: the shell counts in KiB, so that is a thousand times as much. `ulimit -v unlimited` is what it means.",
		Cures:    []cause.Cure{room, {Fix: "close_other_apps", Title: "Check what is free, and whether a limit refused", Kind: "shell", Text: "free -h; ulimit -v", Told: "A number (KiB) instead of `unlimited` is a limit: raise it. On Windows, WSL gives half of the RAM unless `memory=` in .wslconfig says more.", Cost: "A look is free"}, sparse},
		Sources:  []string{"STAR/source/Genome_genomeLoad.cpp", "STAR/source/parametersDefault"},
	}, {
		ID: "star/generate", Kinds: refusedRAM, Said: []string{"starting to generate Genome files", "sorting Suffix Array chunks", "starting to sort Suffix Array", "--runMode genomeGenerate"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "had not enough RAM to generate the index",
		Means:    "STAR sorts the suffix array in chunks, one in each thread, as large as `--limitGenomeGenerateRAM` allows (31 GB unless set). That is no measure of what there is: a number above the machine's RAM makes chunks that do not fit. Human needs about 32 GB, 16 with `--genomeSAsparseD 2`.",
		Not:      "A higher `--limitGenomeGenerateRAM` than the RAM: it makes the chunks larger.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Set `--limitGenomeGenerateRAM` below the RAM", Told: "In bytes, a tenth below what the machine or job has: `--limitGenomeGenerateRAM 28000000000` on 32 GB. If it then says that the genome needs more, take the next steps.", Cost: "A longer sort"},
			sparse,
			{Fix: "upgrade_version", Title: "Use a ready index, or generate it on a larger machine", Told: "It is generated once and can be copied; mapping needs less.", Cost: "A download"},
		},
		Sources: []string{"STAR/source/Genome_genomeGenerate.cpp", "STAR/source/parametersDefault", "STAR/extras/doc-latex/STARmanual.tex", "https://github.com/alexdobin/STAR/issues/237", "https://github.com/alexdobin/STAR/issues/458"},
	}, {
		ID: "star/mapping", Kinds: refusedRAM, Said: []string{"..... started mapping"}, Unsaid: []string{"..... finished mapping"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "{ended}", Figures: ended,
		Means:   "The index had been loaded (about 9 bytes a base, 30 GB for human), and the threads' buffers and what else runs no longer fit beside it. On a machine of 32 GB a human index at its defaults leaves too little, whatever the number of threads.",
		Not:     "`--limitBAMsortRAM`: it had not come to sorting.",
		Cures:   []cause.Cure{sparse, {Fix: "lower_num_workers", Title: "Run one STAR, with fewer threads", Told: "`--runThreadN 4`; each thread has 80 MB of buffers (`--limitIObufferSize`) and its own output.", Cost: "Slower"}, room},
		Sources: []string{"STAR/source/parametersDefault", "https://github.com/alexdobin/STAR/issues/1370"}, Solved: 1,
	}, {
		ID: "star/memory", Kinds: refusedRAM, If: when.Not(smallAsk),
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "had not enough RAM",
		Means:    "STAR holds the whole index in RAM from the start: about 9 bytes for each base of the genome, some 30 GB for human or mouse. The lines before show how far it came: loading the genome, mapping, or sorting, which has a limit and a message of its own.",
		Cures:    []cause.Cure{room, sparse},
		Sources:  []string{"STAR/source/parametersDefault", "https://github.com/alexdobin/STAR/wiki/FAQ:-Run-time"},
	}},
	Sources: program.Sources{"STAR/source/parametersDefault": "--limitBAMsortRAM --outSAMtype --outBAMsortingBinsN --genomeSAsparseD --limitGenomeGenerateRAM --genomeChrBinNbits --runMode --sjdbGTFfile --genomeLoad --limitIObufferSize --runThreadN", "samtools/doc/samtools-sort.1": "-@ -m", "slurm/doc/man/man1/sbatch.1": "--mem"},
}

// smallAsk: little was asked for, by something beside the index.
func smallAsk(c *ledger.Case) bool { n := ledger.Requested(c); return n > 0 && n < 16*units.MiB }
