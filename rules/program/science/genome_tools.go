package science

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// Tools of reads, genomes and maps that live in RAM.
var (
	Trinity = tool("trinity", "Trinity", "data", []string{"Trinity --", "trinityrnaseq", "util/insilico_read_normalization.pl", "jellyfish.kmers.", "Butterfly_assembler.jar", "inchworm.fasta", "trinity_out_dir"}, cause.Card{
		Headline: "lost a step to RAM",
		Means:    "Upstream's rule is 1 GB for every million pairs of reads. Inchworm holds all distinct k-mers, which errors and depth make; `--max_memory` bounds jellyfish and sorting, not Inchworm or Chrysalis. Butterfly's many small Java programs fail with `--bflyHeapSpaceMax`, on a few very tangled genes.",
		Not:      "Starting from the beginning: the same command goes on where it stopped.",
		Cures: []cause.Cure{
			do("stream_dataset", "Fewer distinct k-mers", "rare transcripts", "Trim (`--trimmomatic`), leave normalisation on (do not give `--no_normalize_reads`), a lower `--normalize_max_read_cov 50`, and `--min_kmer_cov 2`, which halves it or better."),
			do("lower_num_workers", "Fewer at once", "slower", "`--CPU 6 --inchworm_cpu 6`; Butterfly: `--bflyCPU 2 --bflyHeapSpaceMax 20G`."),
			do("raise_memory_limit", "A node with more, for this step", "a queue", "`--max_memory` a tenth below what the job has; Slurm `--mem=250G` for 200 million pairs."),
		},
		Sources: []string{"trinityrnaseq/Trinity", "https://github.com/trinityrnaseq/trinityrnaseq/wiki/Trinity-Computing-Requirements"},
	}, program.Sources{"trinityrnaseq/Trinity": "--max_memory --no_normalize_reads --normalize_max_read_cov --min_kmer_cov --CPU --inchworm_cpu --bflyCPU --bflyHeapSpaceMax --trimmomatic"})
	Samtools = tool("samtools", "samtools", "data", []string{"samtools sort: ", "[bam_sort_core]", "samtools sort -", "samtools markdup", "samtools collate", "bam_sort.c"}, cause.Card{
		Headline: "had not enough RAM to sort",
		Means:    "`-m` counts for each thread: `-@ 16 -m 4G` takes 64 GB and some more (768 MB each unless set). In a pipe the aligner's index (bwa: 6 GB, minimap2: 12, for human) counts beside it.",
		Not:      "A higher `-m`: that is what it takes.",
		Cures: []cause.Cure{
			do("lower_num_workers", "Threads x memory below what is free", "slower", "`samtools sort -@ 4 -m 1G -T /scratch/tmp`: more temporary files, the same result."),
			do("stream_dataset", "Align first, sort afterwards", "disk space", "Without the pipe: `bwa mem ... | samtools view -b -o out.bam`, then sort."),
			do("raise_memory_limit", "Ask the queue for the product and 4 GB", "a longer wait", "8 threads with 2G: `--mem=20G`."),
		},
		Sources: []string{"samtools/doc/samtools-sort.1", "samtools/bam_sort.c"},
	}, program.Sources{"samtools/doc/samtools-sort.1": "-m -@ -T"})
	BWA = tool("bwa", "bwa", "data", []string{"[M::bwa_idx_load_from_disk]", "[bwa_index]", "bwa mem -", "bwa index ", "bwa-mem2 index", "bwa-mem2 mem", "[main] CMD: bwa", "[fread] Unexpected end of file", "ref_seq_len = ", "build index ticks"}, cause.Card{
		Headline: "had not enough RAM for its index or a batch of reads",
		Means:    "`bwa mem` holds its index (5 to 6 GB for human) and a batch of reads for each thread. `bwa-mem2 index` needs 28 bytes for each base of the reference: 84 GB for human; `bwa-mem2 mem` then 10 to 40 GB, by version.",
		Not:      "Fewer threads for an index: it is made by one.",
		Cures: []cause.Cure{
			do("use_smaller_model", "bwa-mem2's index: take a finished one, or bwa", "slower mapping", "Index on a large machine once and copy the files; or `bwa index` (about 5 GB for human) and `bwa mem`, with the same alignments."),
			do("lower_num_workers", "Fewer threads, a bounded batch", "slower", "`bwa mem -t 4 -K 10000000`: bases in a batch; the sort in the pipe bounded as well (`samtools sort -@ 2 -m 1G`)."),
			do("raise_memory_limit", "Ask for the index and half as much", "a longer wait", "Human: `--mem=16G` for bwa, 48G for bwa-mem2."),
		},
		Sources: []string{"bwa-mem2/README.md", "bwa/fastmap.c"},
	}, program.Sources{"bwa/fastmap.c": "-t -K", "samtools/doc/samtools-sort.1": "-m -@"})
	Minimap2 = tool("minimap2", "minimap2", "data", []string{"[M::mm_idx_gen", "[M::mm_idx_stat]", "minimap2 -", "[M::worker_pipeline", "kalloc.c"}, cause.Card{
		Headline: "had not enough RAM for its index or a batch",
		Means:    "The index of up to `-I` bases of the reference (8G unless set) lies in RAM: 8 to 12 GB for human; then a batch of reads of `-K` bases (500M) with their chains in each thread. Long reads in repeats, all-against-all (`-x ava-ont`) and assemblies (`-x asm5`) take most.",
		Not:      "A graphics card.",
		Cures: []cause.Cure{
			do("lower_batch_size", "Smaller batches, fewer threads", "slower", "`-K 100M -t 4`; `--cap-kalloc=100m` gives the threads' buffers back."),
			do("stream_dataset", "The index in parts", "MAPQ is that of a part", "`-I 2G`, with `--split-prefix=tmp` so that the results are merged."),
			do("raise_memory_limit", "Ask for 32 GB for human", "a longer wait", ""),
		},
		Sources: []string{"minimap2/minimap2.1", "minimap2/FAQ.md"},
	}, program.Sources{"minimap2/minimap2.1": "-I -K -t --cap-kalloc --split-prefix"})
	Flye = tool("flye", "Flye", "data", []string{"flye-modules", "flye/main.py", "flye/assembly/", "flye --nano", "flye --pacbio", "Looks like the system ran out of memory"}, cause.Card{
		Headline: "ran out of RAM in a step of the assembly",
		Means:    "It grows with genome size x coverage: about 450 GB for human ONT reads, 140 for HiFi, 30 to 50 for 100 Mb at 50 times, under 10 for bacteria. \"Looks like the system ran out of memory\" is Flye's reading of a module that was ended by a signal.",
		Not:      "Fewer threads: the tables are shared.",
		Cures: []cause.Cure{
			do("lower_batch_size", "Fewer reads for the first assembly", "seldom any contiguity", "`--asm-coverage 40 --genome-size 100m` (your own size): the longest reads only; not with `--meta`. Or `filtlong`."),
			do("upgrade_version", "Go on, do not start again", "free", "`--resume` on a larger node; corrected reads (`--nano-hq`, `--pacbio-hifi`) need less than raw ones."),
			do("raise_memory_limit", "A node with what it needs", "a queue", ""),
		},
		Sources: []string{"Flye/docs/FAQ.md", "Flye/flye/assembly/assemble.py"},
	}, program.Sources{"Flye/flye/main.py": "--asm-coverage --genome-size --meta --resume --nano-hq --pacbio-hifi"})
	Hifiasm = tool("hifiasm", "hifiasm", "data", []string{"[M::ha_", "hifiasm -", "[M::yak_count]", "ha_pt_gen"}, cause.Card{
		Headline: "ran out of RAM",
		Means:    "Reads, their overlaps and k-mers lie in RAM: upstream took 114 to 137 GB for human at 32 to 36 times, 68 to 91 for maize and strawberry. Repeats and ploidy make more; a bloom filter takes 16 GB at the start, whatever the genome.",
		Not:      "Fewer threads.",
		Cures: []cause.Cure{
			do("lower_mem_fraction", "The right bloom filter", "free", "Small genomes: `-f0` (no filter); far above human: `-f38` or `-f39`."),
			do("lower_batch_size", "30 to 40 times of coverage", "little", "More is not needed: `seqkit sample` or `filtlong`."),
			do("raise_memory_limit", "A larger node: it goes on from its *.bin files", "a queue", "Start in the same folder with the same `-o`."),
		},
		Sources: []string{"hifiasm/README.md"},
	}, program.Sources{"hifiasm/hifiasm.1": "-f0 -f38 -f39 -o"})
	Diamond = tool("diamond", "DIAMOND", "data", []string{"diamond v", "diamond blastp", "diamond blastx", "diamond makedb", "#CPU threads: ", "Scoring parameters: (Matrix="}, cause.Card{
		Headline: "had not enough RAM for a block of the database",
		Means:    "It takes about six times the block size in GB, `-b` in billions of letters (2 unless set): 12 GB; `--sensitive` modes choose larger indexes, and a top of many hits takes more.",
		Not:      "A smaller query file alone: a block of the database is what is large.",
		Cures: []cause.Cure{
			do("lower_batch_size", "Smaller blocks, more chunks", "slower", "`-b 0.5 -c 4` (`--block-size`, `--index-chunks`)."),
			do("lower_num_workers", "Fewer threads and targets", "slower", "`-p 8 -k 25`."),
			do("cpu_offload", "Temporary files on disk", "slower", "`--tmpdir /scratch` and not /dev/shm, which is RAM."),
		},
		Sources: []string{"diamond/src/basic/config.cpp"},
	}, program.Sources{"diamond/src/basic/config.cpp": "-b -c -p -k --block-size --index-chunks --tmpdir --sensitive"})
	Salmon = tool("salmon", "Salmon", "data", []string{"salmon index", "salmon quant", "[puff::index::jointLog]", "### salmon"}, cause.Card{
		Headline: "had not enough RAM for its index",
		Means:    "A transcriptome takes 3 GB; with the whole genome as decoy about 18 GB while the index is made, and some 12 when it is used.",
		Not:      "Fewer threads for the index.",
		Cures: []cause.Cure{
			do("use_smaller_model", "An index without the genome", "a few false mappings", "The transcriptome alone, or the partial decoy (refgenie's `salmon_partial_sa_index`)."),
			do("lower_num_workers", "Fewer threads, no bootstraps at first", "slower", "`-p 4`, `--numBootstraps 0`."),
			do("raise_memory_limit", "Make the index once on a larger machine", "a copy", "Its files can be copied."),
		},
		Sources: []string{"salmon/doc/source/salmon.rst", "salmon/README.md"},
	}, program.Sources{"salmon/doc/source/salmon.rst": "-p --numBootstraps"})
	Bowtie2 = tool("bowtie2", "Bowtie 2", "data", []string{"bowtie2-build", "bowtie2-align", "(ERR): bowtie2-align", "Building a LARGE index", "Please try using a larger number of blocks"}, cause.Card{
		Headline: "had not enough RAM for its index",
		Means:    "`bowtie2-build` tries by itself with smaller and smaller blocks (`--bmax`, `--dcv`) when memory is refused; each thread has blocks of its own. Mapping holds the index: 3.5 GB for human, larger for a \"large\" one (references above 4 Gb).",
		Not:      "A smaller FASTQ file: reads go through one after another.",
		Cures: []cause.Cure{
			do("lower_num_workers", "Build with one thread", "slower", "Without `--threads`; then `--packed`, or by hand `--bmax 50000000 --dcv 4096`."),
			do("use_smaller_model", "Take a finished index", "free", "Those of the common genomes are on upstream's page."),
			do("use_mmap", "Several mappings at once: share the index", "none", "`bowtie2 --mm`."),
		},
		Sources: []string{"bowtie2/MANUAL.markdown"},
	}, program.Sources{"bowtie2/MANUAL.markdown": "--threads --packed --bmax --dcv --mm"})
	OSM2PGSQL = tool("osm2pgsql", "osm2pgsql", "data", []string{"osm2pgsql version", "osm2pgsql -", "Processing: Node(", "osm2pgsql failed due to ERROR"}, cause.Card{
		Headline: "had not enough RAM for the nodes' places",
		Means:    "Without `--slim` all nodes lie in RAM; with it a cache does (`-C`, in MB, 800 unless set). A planet has ten billion nodes: only a flat file holds them. PostgreSQL on the same machine takes its part.",
		Not:      "A higher `-C` than is free.",
		Cures: []cause.Cure{
			do("use_mmap", "The nodes in a file", "100 GB of disk, best an SSD", "`--slim --drop --flat-nodes=/path/nodes.bin -C 0` for continents and the planet."),
			do("lower_mem_fraction", "Small extracts: a cache that fits", "slower", "`--slim -C 2000 --number-processes 2`; PostgreSQL's `shared_buffers` 1 GB."),
			do("lower_batch_size", "A smaller extract", "less map", "`osmium extract`, or a country from Geofabrik."),
		},
		Sources: []string{"osm2pgsql/man/osm2pgsql.md"},
	}, program.Sources{"osm2pgsql/man/osm2pgsql.md": "--slim --drop --flat-nodes -C --number-processes"})
	OSRM = tool("osrm", "OSRM", "data", []string{"osrm-extract", "osrm-contract", "osrm-partition", "osrm-customize", "osrm-routed", "Please provide more memory or consider using a larger swapfile"}, cause.Card{
		Headline: "had not enough RAM for this extract",
		Means:    "`osrm-extract` holds nodes and edges: about 10 times the size of the .osm.pbf for cars, more for walking (every path counts); the planet needs 200 GB and more. `osrm-contract` takes as much again; it often ends as \"Killed\" without a word of its own.",
		Not:      "Fewer threads: the graph is shared.",
		Cures: []cause.Cure{
			do("lower_batch_size", "A smaller extract", "less map", "A country in place of a continent (Geofabrik, `osmium extract -b`), without what the profile does not route on (`osmium tags-filter in.pbf w/highway`)."),
			do("use_smaller_model", "MLD in place of CH", "slightly slower routes", "`osrm-partition` and `osrm-customize` in place of `osrm-contract`."),
			do("add_swap", "Swap on an SSD for the preparation", "disk, hours", "It is done once; `osrm-routed --mmap` then serves from disk."),
		},
		Sources: []string{"osrm-backend/README.md", "https://github.com/Project-OSRM/osrm-backend/wiki/Disk-and-Memory-Requirements"},
	}, program.Sources{"osrm-backend/src/tools/routed.cpp": "--mmap", "osmium-tool/man/osmium-extract.md": "-b"})
	AliceVision = tool("alicevision", "Meshroom or AliceVision", "vision", []string{"aliceVision_", "aliceVision/", "[aliceVision", "Meshroom", "meshroom_", "Not enough GPU memory to compute a single tile"}, cause.Card{
		Headline: "ran out of memory in a node of its graph",
		Means:    "Nodes differ: DepthMap needs the graphics card, by pixels and neighbouring views; Meshing and Texturing need RAM, by points and by the side of the texture; FeatureExtraction a few GB for each image that it works on at once. The node's own log names it.",
		Not:      "Computing all nodes again: those that are done are kept.",
		Cures: []cause.Cure{
			do("lower_resolution", "DepthMap: half the images' size", "detail", "`downscale` 4 in place of 2, `maxTCams` 6 in place of 10; close what else is on the card."),
			do("lower_batch_size", "Meshing: fewer points", "detail", "`maxInputPoints` 10,000,000 (50 million unless set) and `maxPoints` 1,000,000 (5 million); `estimateSpaceFromSfM` on."),
			do("lower_num_workers", "FeatureExtraction and Texturing: less at once", "slower", "`maxThreads` 2; `textureSide` 4096 in place of 8192, `downscale` 2."),
		},
		Sources: []string{"AliceVision/src/software/pipeline/main_depthMapEstimation.cpp", "AliceVision/src/software/pipeline/main_meshing.cpp", "AliceVision/src/aliceVision/depthMap/DepthMapEstimator.cpp"},
	}, nil)
	OpenMVS = tool("openmvs", "OpenMVS", "vision", []string{"DensifyPointCloud", "ReconstructMesh", "RefineMesh", "TextureMesh", "[App     ]", "OpenMVS"}, cause.Card{
		Headline: "ran out of RAM",
		Means:    "Images x pixels decide: DensifyPointCloud holds a depth map for each image, ReconstructMesh a tetrahedron for each point, RefineMesh the images again at full size, TextureMesh all of them with the atlas.",
		Not:      "A graphics card: only depth maps are made there.",
		Cures: []cause.Cure{
			do("lower_resolution", "A level coarser", "detail", "`--resolution-level 2 --max-resolution 1600` in DensifyPointCloud (1 and 2560 unless set), `--resolution-level 2` in RefineMesh and TextureMesh."),
			do("lower_batch_size", "Fewer points and faces", "detail", "`ReconstructMesh --min-point-distance 4 --decimate 0.5`; `RefineMesh --max-face-area 64`."),
			do("lower_num_workers", "Fewer threads, or the scene in parts", "slower", "`--max-threads 4`; `DensifyPointCloud --sub-scene-area 660000` divides it into parts."),
		},
		Sources: []string{"openMVS/apps/DensifyPointCloud/DensifyPointCloud.cpp", "openMVS/apps/ReconstructMesh/ReconstructMesh.cpp", "openMVS/apps/RefineMesh/RefineMesh.cpp"},
	}, program.Sources{"openMVS/apps/DensifyPointCloud/DensifyPointCloud.cpp": "--resolution-level --max-resolution --max-threads --sub-scene-area", "openMVS/apps/ReconstructMesh/ReconstructMesh.cpp": "--min-point-distance --decimate", "openMVS/apps/RefineMesh/RefineMesh.cpp": "--max-face-area"})
)
