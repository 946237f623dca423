package science

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// Tools of reads, genomes and maps that live in RAM.
var (
	Trinity = tool("trinity", "Trinity", "data", []string{"Trinity --", "trinityrnaseq", "util/insilico_read_normalization.pl", "jellyfish.kmers.", "Butterfly_assembler.jar", "inchworm.fasta", "trinity_out_dir"}, cause.Card{
		Headline: "ran out of system memory (RAM) in one of its steps",
		Means:    "Trinity asks for 1 GB of RAM per million read pairs. Inchworm holds all distinct k-mers; errors and depth make most of them. `--max_memory` limits jellyfish and sorting, not Inchworm or Chrysalis. Butterfly starts many Java programs.",
		Not:      "Starting from the beginning: the same command continues where it stopped.",
		Cures: []cause.Cure{
			do("stream_dataset", "Trim, normalise, set `--min_kmer_cov 2`", "may lose rare transcripts", "Trim (`--trimmomatic`), and keep normalisation on (no `--no_normalize_reads`). Set `--normalize_max_read_cov 50`. `--min_kmer_cov 2` removes many k-mers that are errors."),
			do("lower_num_workers", "Use fewer processes at once", "slower", "`--CPU 6 --inchworm_cpu 6`; Butterfly: `--bflyCPU 2 --bflyHeapSpaceMax 20G`."),
			do("raise_memory_limit", "Use a node with more RAM for this step", "a queue", "Set `--max_memory` a tenth below what the job has. For 200 million pairs: Slurm `--mem=250G`."),
		},
		Sources: []string{"trinityrnaseq/Trinity", "https://github.com/trinityrnaseq/trinityrnaseq/wiki/Trinity-Computing-Requirements"},
	}, program.Sources{"trinityrnaseq/Trinity": "--max_memory --no_normalize_reads --normalize_max_read_cov --min_kmer_cov --CPU --inchworm_cpu --bflyCPU --bflyHeapSpaceMax --trimmomatic"})
	Samtools = tool("samtools", "samtools", "data", []string{"samtools sort: ", "[bam_sort_core]", "samtools sort -", "samtools markdup", "samtools collate", "bam_sort.c"}, cause.Card{
		Headline: "ran out of system memory (RAM) while it sorted",
		Means:    "`-m` counts per thread: `-@ 16 -m 4G` takes over 64 GB (768 MB each by default). In a pipe the aligner needs RAM too: for human about 6 GB for bwa, 12 GB for minimap2.",
		Not:      "A higher `-m`: samtools then takes even more.",
		Cures: []cause.Cure{
			do("lower_num_workers", "Lower `-@` and `-m`", "slower", "Such as `samtools sort -@ 4 -m 1G -T /scratch/tmp`. It writes more temporary files; the result is the same."),
			do("stream_dataset", "Align first, sort afterwards", "disk space", "Write `bwa mem ... | samtools view -b -o out.bam`, then sort out.bam."),
			do("raise_memory_limit", "Request threads x memory plus 4 GB", "a longer wait", "For 8 threads with 2G: `--mem=20G`."),
		},
		Sources: []string{"samtools/doc/samtools-sort.1", "samtools/bam_sort.c"},
	}, program.Sources{"samtools/doc/samtools-sort.1": "-m -@ -T"})
	BWA = tool("bwa", "bwa", "data", []string{"[M::bwa_idx_load_from_disk]", "[bwa_index]", "bwa mem -", "bwa index ", "bwa-mem2 index", "bwa-mem2 mem", "[main] CMD: bwa", "[fread] Unexpected end of file", "ref_seq_len = ", "build index ticks"}, cause.Card{
		Headline: "ran out of system memory (RAM) for its index or its reads",
		Means:    "`bwa mem` holds its index (5 to 6 GB for human) and a batch of reads per thread. `bwa-mem2 index` needs 28 bytes per base of the reference, 84 GB for human; `bwa-mem2 mem` then 10 to 40 GB.",
		Cures: []cause.Cure{
			do("use_smaller_model", "Use a finished bwa-mem2 index, or bwa", "slower mapping", "Build the index once on a large machine, and copy its files. Or use `bwa index` (about 5 GB for human) and `bwa mem`, with the same alignments."),
			do("lower_num_workers", "Use fewer threads and a smaller batch", "slower", "`bwa mem -t 4 -K 10000000` (bases in a batch). Limit a sort in the pipe too: `samtools sort -@ 2 -m 1G`."),
			do("raise_memory_limit", "Request half more than the index size", "a longer wait", "Human: `--mem=16G` for bwa, `--mem=48G` for bwa-mem2."),
		},
		Sources: []string{"bwa-mem2/README.md", "bwa/fastmap.c"},
	}, program.Sources{"bwa/fastmap.c": "-t -K", "samtools/doc/samtools-sort.1": "-m -@"})
	Minimap2 = tool("minimap2", "minimap2", "data", []string{"[M::mm_idx_gen", "[M::mm_idx_stat]", "minimap2 -", "[M::worker_pipeline", "kalloc.c"}, cause.Card{
		Headline: "ran out of system memory (RAM) for its index or its reads",
		Means:    "The index of up to `-I` bases of the reference (8G by default) is in RAM: 8 to 12 GB for human. A batch of `-K` bases of reads (500M) comes on top. Repeats, all-against-all (`-x ava-ont`) and assemblies (`-x asm5`) need the most.",
		Cures: []cause.Cure{
			do("lower_batch_size", "Use smaller batches (`-K`), fewer threads", "slower", "Add `-K 100M -t 4`. `--cap-kalloc=100m` limits the buffers of the threads."),
			do("stream_dataset", "Split the index (`-I`)", "MAPQ is less exact", "Add `-I 2G`, and `--split-prefix=tmp` so that the results are merged."),
			do("raise_memory_limit", "Request 32 GB for human", "a longer wait", "Slurm: `--mem=32G`."),
		},
		Sources: []string{"minimap2/minimap2.1", "minimap2/FAQ.md"},
	}, program.Sources{"minimap2/minimap2.1": "-I -K -t --cap-kalloc --split-prefix"})
	Flye = tool("flye", "Flye", "data", []string{"flye-modules", "flye/main.py", "flye/assembly/", "flye --nano", "flye --pacbio", "Looks like the system ran out of memory"}, cause.Card{
		Headline: "ran out of system memory (RAM) in a step of the assembly",
		Means:    "The need grows with genome size x coverage: about 450 GB for human ONT reads, 140 GB for HiFi, 30 to 50 GB for 100 Mb at 50x, under 10 GB for bacteria. Flye prints \"ran out of memory\" for any module that a signal ended.",
		Not:      "Fewer threads: they share the tables.",
		Cures: []cause.Cure{
			do("lower_batch_size", "Lower the coverage (`--asm-coverage 40`)", "seldom less contiguous", "Add `--asm-coverage 40 --genome-size 100m` with your own size; Flye then starts from the longest reads. It does not work with `--meta`: filter with `filtlong` there."),
			do("upgrade_version", "Continue with `--resume` on a larger node", "free", "Corrected reads (`--nano-hq`, `--pacbio-hifi`) need less than raw ones."),
			do("raise_memory_limit", "Use a node with more RAM", "a queue", "Request it from the queue; Slurm: `--mem=` with the figure for your genome."),
		},
		Sources: []string{"Flye/docs/FAQ.md", "Flye/flye/assembly/assemble.py"},
	}, program.Sources{"Flye/flye/main.py": "--asm-coverage --genome-size --meta --resume --nano-hq --pacbio-hifi"})
	Hifiasm = tool("hifiasm", "hifiasm", "data", []string{"[M::ha_", "hifiasm -", "[M::yak_count]", "ha_pt_gen"}, cause.Card{
		Headline: "ran out of system memory (RAM)",
		Means:    "Reads, overlaps and k-mers are in RAM. Its README lists 114 to 137 GB for human at 32x to 36x, and 68 to 91 GB for maize and strawberry. Repeats and ploidy need more. A bloom filter takes 16 GB at the start, whatever the genome.",
		Cures: []cause.Cure{
			do("lower_mem_fraction", "Set the bloom filter size (`-f`)", "free", "Small genomes: `-f0` (no filter). Genomes far above human: `-f38` or `-f39`."),
			do("lower_batch_size", "Subsample to 30x to 40x coverage", "lower coverage", "Use `seqkit sample` or `filtlong`."),
			do("raise_memory_limit", "Continue on a larger node", "a queue", "Start in the same folder with the same `-o`: it continues from its *.bin files."),
		},
		Sources: []string{"hifiasm/README.md"},
	}, program.Sources{"hifiasm/hifiasm.1": "-f0 -f38 -f39 -o"})
	Diamond = tool("diamond", "DIAMOND", "data", []string{"diamond v", "diamond blastp", "diamond blastx", "diamond makedb", "#CPU threads: ", "Scoring parameters: (Matrix="}, cause.Card{
		Headline: "ran out of system memory (RAM) for a block of the database",
		Means:    "DIAMOND needs about six times the block size in GB. `-b` is in billions of letters: the default 2 needs 12 GB. `--sensitive` modes and many hits per query need more.",
		Cures: []cause.Cure{
			do("lower_batch_size", "Lower `-b`, raise `-c`", "slower", "Add `-b 0.5 -c 8` (`--block-size`, `--index-chunks`)."),
			do("lower_num_workers", "Use fewer threads and targets", "slower", "Add `-p 8 -k 25`."),
			do("cpu_offload", "Put temporary files on disk", "slower", "Use `--tmpdir /scratch`, not /dev/shm, which is RAM."),
		},
		Sources: []string{"diamond/src/basic/config.cpp"},
	}, program.Sources{"diamond/src/basic/config.cpp": "-b -c -p -k --block-size --index-chunks --tmpdir --sensitive"})
	Salmon = tool("salmon", "Salmon", "data", []string{"salmon index", "salmon quant", "[puff::index::jointLog]", "### salmon"}, cause.Card{
		Headline: "ran out of system memory (RAM) for its index",
		Means:    "The index of a transcriptome takes about 3 GB. With the whole genome as decoy it takes about 18 GB while salmon builds it, and about 12 GB when it is used.",
		Cures: []cause.Cure{
			do("use_smaller_model", "Use an index without the genome", "a few false mappings", "Index the transcriptome alone, or with the partial decoy (refgenie's `salmon_partial_sa_index`)."),
			do("lower_num_workers", "Use fewer threads, no bootstraps", "slower", "Add `-p 4` and `--numBootstraps 0`."),
			do("raise_memory_limit", "Build the index on a larger machine", "some time", "You can copy its files afterwards."),
		},
		Sources: []string{"salmon/doc/source/salmon.rst", "salmon/README.md"},
	}, program.Sources{"salmon/doc/source/salmon.rst": "-p --numBootstraps"})
	Bowtie2 = tool("bowtie2", "Bowtie 2", "data", []string{"bowtie2-build", "bowtie2-align", "(ERR): bowtie2-align", "Building a LARGE index", "Please try using a larger number of blocks"}, cause.Card{
		Headline: "ran out of system memory (RAM) for its index",
		Means:    "`bowtie2-build` retries by itself with smaller blocks when it runs out of memory, and each thread has its own blocks. Mapping holds the index: 3.5 GB for human, more for references above 4 Gb.",
		Not:      "A smaller FASTQ file: reads are processed one after another.",
		Cures: []cause.Cure{
			do("lower_num_workers", "Building: use one thread", "slower", "Leave out `--threads`. If that is not enough: `--packed`, or `--bmax 50000000 --dcv 4096`."),
			do("use_smaller_model", "Download a finished index", "free", "Bowtie 2's web page has those of common genomes."),
			do("use_mmap", "Mapping: share the index between runs (`--mm`)", "none", "Start each run with `bowtie2 --mm`."),
		},
		Sources: []string{"bowtie2/MANUAL.markdown"},
	}, program.Sources{"bowtie2/MANUAL.markdown": "--threads --packed --bmax --dcv --mm"})
	OSM2PGSQL = tool("osm2pgsql", "osm2pgsql", "data", []string{"osm2pgsql version", "osm2pgsql -", "Processing: Node(", "osm2pgsql failed due to ERROR"}, cause.Card{
		Headline: "ran out of system memory (RAM) for the node locations",
		Means:    "Without `--slim` all nodes are in RAM. With it a cache is (`-C`, 800 MB by default). A planet has ten billion nodes: keep those in a flat file. PostgreSQL on the same machine needs RAM too.",
		Not:      "A higher `-C` than the RAM that is free.",
		Cures: []cause.Cure{
			do("use_mmap", "Keep nodes in a file (`--flat-nodes`)", "100 GB of disk, best an SSD", "For continents and the planet: `--slim --drop --flat-nodes=/path/nodes.bin -C 0`."),
			do("lower_mem_fraction", "For small extracts: a cache that fits", "slower", "Use `--slim -C 2000 --number-processes 2`, and 1 GB for `shared_buffers` of PostgreSQL."),
			do("lower_batch_size", "Use a smaller extract", "less map", "Cut it with `osmium extract`, or take a country from Geofabrik."),
		},
		Sources: []string{"osm2pgsql/man/osm2pgsql.md"},
	}, program.Sources{"osm2pgsql/man/osm2pgsql.md": "--slim --drop --flat-nodes -C --number-processes"})
	OSRM = tool("osrm", "OSRM", "data", []string{"osrm-extract", "osrm-contract", "osrm-partition", "osrm-customize", "osrm-routed", "Please provide more memory or consider using a larger swapfile"}, cause.Card{
		Headline: "ran out of system memory (RAM) for this extract",
		Means:    "`osrm-extract` holds all nodes and edges: about 10 times the size of the .osm.pbf for cars, more for walking. The planet needs 200 GB and more. `osrm-contract` needs as much again.",
		Not:      "Fewer threads: they share the graph.",
		Cures: []cause.Cure{
			do("lower_batch_size", "Use a smaller extract", "less map", "Take a country instead of a continent (Geofabrik, `osmium extract -b`). Remove what is no road: `osmium tags-filter in.pbf w/highway`."),
			do("use_smaller_model", "Use MLD instead of CH", "slightly slower routes", "Run `osrm-partition` and `osrm-customize` instead of `osrm-contract`."),
			do("add_swap", "Add swap on an SSD for the preparation", "disk, hours", "It runs only once. Afterwards `osrm-routed --mmap` serves from disk."),
		},
		Sources: []string{"osrm-backend/README.md", "https://github.com/Project-OSRM/osrm-backend/wiki/Disk-and-Memory-Requirements"},
	}, program.Sources{"osrm-backend/src/tools/routed.cpp": "--mmap", "osmium-tool/man/osmium-extract.md": "-b"})
	AliceVision = tool("alicevision", "Meshroom or AliceVision", "vision", []string{"aliceVision_", "aliceVision/", "[aliceVision", "Meshroom", "meshroom_", "Not enough GPU memory to compute a single tile"}, cause.Card{
		Headline: "ran out of memory in a node of its graph",
		Means:    "The log of the node shows which one failed. DepthMap needs GPU memory, by pixels and neighbouring views. Meshing and Texturing need RAM, by points and texture size. FeatureExtraction needs a few GB per image that it processes at once.",
		Not:      "Computing all nodes again: finished ones are kept.",
		Cures: []cause.Cure{
			do("lower_resolution", "DepthMap: raise `downscale`", "less detail", "Set `downscale` 4 instead of 2, `maxTCams` 6 instead of 10. Close what else uses the GPU."),
			do("lower_batch_size", "Meshing: lower `maxInputPoints`", "less detail", "Set `maxInputPoints` 10,000,000 (50 million by default) and `maxPoints` 1,000,000 (5 million). Turn `estimateSpaceFromSfM` on."),
			do("lower_num_workers", "Other nodes: fewer threads, smaller textures", "slower", "Set `maxThreads` 2. Texturing: `textureSide` 4096 instead of 8192, `downscale` 2."),
		},
		Sources: []string{"AliceVision/src/software/pipeline/main_depthMapEstimation.cpp", "AliceVision/src/software/pipeline/main_meshing.cpp", "AliceVision/src/aliceVision/depthMap/DepthMapEstimator.cpp"},
	}, nil)
	OpenMVS = alsoOnCard(tool("openmvs", "OpenMVS", "vision", []string{"DensifyPointCloud", "ReconstructMesh", "RefineMesh", "TextureMesh", "[App     ]", "OpenMVS"}, cause.Card{
		Headline: "ran out of system memory (RAM)",
		Means:    "Images x pixels decide. DensifyPointCloud holds a depth map per image, ReconstructMesh a tetrahedron per point. RefineMesh and TextureMesh hold the images at full size.",
		Cures: []cause.Cure{
			do("lower_resolution", "Raise `--resolution-level`", "less detail", "DensifyPointCloud: `--resolution-level 2 --max-resolution 1600` (1 and 2560 by default). RefineMesh and TextureMesh: `--resolution-level 2`."),
			do("lower_batch_size", "Use fewer points and faces", "less detail", "`ReconstructMesh --min-point-distance 4 --decimate 0.5`; `RefineMesh --max-face-area 64`."),
			do("lower_num_workers", "Use fewer threads, or split the scene", "slower", "Add `--max-threads 4`. `DensifyPointCloud --sub-scene-area 660000` divides the scene."),
		},
		Sources: []string{"openMVS/apps/DensifyPointCloud/DensifyPointCloud.cpp", "openMVS/apps/ReconstructMesh/ReconstructMesh.cpp", "openMVS/apps/RefineMesh/RefineMesh.cpp"},
	}, program.Sources{"openMVS/apps/DensifyPointCloud/DensifyPointCloud.cpp": "--resolution-level --max-resolution --max-threads --sub-scene-area --number-views --cuda-device", "openMVS/apps/ReconstructMesh/ReconstructMesh.cpp": "--min-point-distance --decimate", "openMVS/apps/RefineMesh/RefineMesh.cpp": "--max-face-area"}), openMVSCard)
)
