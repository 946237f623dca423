package science

import (
	"math"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const foldMeans = "The total length of all chains decides: 1.4 times the residues need at least twice the memory. "

var (
	shorterCure = cause.Cure{Fix: "lower_context", Title: "Shorten the input", Kind: "text", Text: "Leave out disordered ends and tags, or fold single domains with some overlap. 70 % of the length needs half the memory or less.", Cost: "No contacts between the parts"}
	largerCard  = cause.Cure{Fix: "bigger_gpu", If: when.Not(hopeless), Title: "Use a GPU with more memory", Told: "The same input runs unchanged on a GPU with well above {asked}. Rent one with 40 or 80 GB for this run.", Cost: "Rent"}
)

// residues says how long a protein is whose scores of triangle attention have
// the size that was refused: 4 heads, 32 bit.
func residues(c *ledger.Case) map[string]string {
	n := math.Cbrt(float64(ledger.Requested(c)) / 16)
	if n < 200 || n > 5000 {
		return map[string]string{"residues": ""}
	}
	return map[string]string{"residues": "about " + strconv.Itoa(int(n)/10*10)}
}

// longInput is what a program in PyTorch says of an input that is too long.
func longInput(id string, said []string, means string, first, second cause.Cure, source string) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc}, Said: said, If: func(c *ledger.Case) bool { return real(c) && !ledger.Crowded(c) },
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of GPU memory for an input this long", Means: foldMeans + means,
		Not: "Fewer sampling steps or recycles: they run one after another.", Cures: []cause.Cure{first, second, largerCard}, Sources: []string{source},
	}
}

var searchRAM = cause.Card{
	ID: "alphafold/search-ram", Kinds: []fact.Kind{fact.ShellKilled, fact.KernelKill, fact.ContainerKill, fact.SlurmKill}, Said: []string{"HHblits failed", "hhblits.py", "Jackhmmer failed", "jackhmmer.py", "hhsearch.py"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of system memory (RAM) in the search for related sequences",
	Means: "The search runs on the CPU, before the model. HHblits on BFD needs the most; AlphaFold's guide uses machines with 85 GB of RAM. Very many hits (viruses, antibodies) need more.",
	Not:   "A larger GPU, unified memory: the GPU was not used yet.",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", Title: "Search the reduced databases", Told: "Add `--db_preset=reduced_dbs` (with small_bfd, which has to be downloaded). It leaves HHblits out.", Cost: "Seldom worse"},
		{Fix: "raise_memory_limit", Title: "Give the job or container more RAM", Told: "64 GB or more: Slurm `--mem=64G`, WSL `memory=` in .wslconfig, Docker `--memory`.", Cost: "A longer wait"},
		{Fix: "stream_dataset", Title: "Or search elsewhere", Told: "ColabFold's server makes the alignment in minutes (`colabfold_batch`). Finished searches are used again with `--use_precomputed_msas`.", Cost: "Your sequence leaves the machine"},
	},
	Sources: []string{"alphafold/alphafold/data/tools/hhblits.py", "alphafold/README.md"},
}

var alphafoldCards = []cause.Card{searchRAM, {
	ID: "alphafold/profile", Kinds: []fact.Kind{fact.XLAAlloc}, Said: []string{"run_AFP.py"}, If: real,
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of GPU memory: AFProfile needs gradients through the whole network[[ ({asked} at once)]]",
	Means: "AFProfile changes the MSA profile along gradients through AlphaFold. So it has to keep everything that a plain prediction may forget; {asked} is only one part of that.[[ {whole}]]",
	Cures: []cause.Cure{
		{Fix: "lower_context", Title: "Give it fewer MSA rows", Told: "In `src/alphafold/model/config.py` set `max_msa_clusters` (512 by default) and `max_extra_msa` to 128 each. The line \"The MSA has shape\" shows rows and residues.", Cost: "A weaker profile"},
		{Fix: "lower_batch_size", Title: "Shorten the target", Told: "Leave out disordered ends and tags, or take fewer chains. Memory grows at least with the square of the length.", Cost: "No contacts with what is left out"},
		{Fix: "cpu_offload", If: when.Not(hopeless), Title: "Only if little is missing: let it spill into RAM", Kind: "env", Text: "export TF_FORCE_UNIFIED_MEMORY=1\nexport XLA_PYTHON_CLIENT_MEM_FRACTION=4.0", Cost: "Slower once it spills; RAM for it"},
	},
	Figures: wholePlan,
	Sources: []string{"AFProfile/src/run_AFP.py", "AFProfile/src/alphafold/model/config.py"},
}, {
	ID: "alphafold/docker", Kinds: []fact.Kind{fact.XLAAlloc}, Said: []string{"/app/alphafold/"}, If: real, Unsaid: []string{"colabfold", "alphafold3"},
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of GPU memory for an input this long[[: it asked for {asked} at once]]",
	Means:   foldMeans + "[[Here the input has {af_residues} residues. ]]AlphaFold's Docker script already lets JAX use four times the GPU memory, with the rest in system memory (RAM).[[ On a GPU with less than {quarter} GB that is still below {asked}.]] On a larger GPU the RAM was probably short.",
	Figures: fourth,
	Cures: []cause.Cure{
		shorterIf(hopeless),
		{Fix: "cpu_offload", Title: "Raise the fraction in docker/run_docker.py", Told: "Fraction x GPU memory must be well above {asked}, and as much RAM must be free. Variables of your own shell do not reach the container, so change this line of the script:", Kind: "config", Text: "'XLA_PYTHON_CLIENT_MEM_FRACTION': '8.0',   # '4.0' today", Cost: "Much slower once it spills; RAM for it"},
		shorterIf(when.Not(hopeless)),
		largerCard,
	},
	Sources: []string{"alphafold/docker/run_docker.py"},
}, {
	ID: "alphafold/length", Kinds: []fact.Kind{fact.XLAAlloc}, If: real, Unsaid: []string{"colabfold", "alphafold3"},
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of GPU memory for an input this long[[: it asked for {asked} at once]]",
	Means:   foldMeans + "[[Here the input has {af_residues} residues. ]]The request of {asked} is the working memory of the prediction[[; {beyond}]]. AlphaFold's Docker script lets it spill into system memory (RAM). Other ways to run it must set that themselves.",
	Figures: beyond,
	Cures: []cause.Cure{
		shorterIf(hopeless),
		{Fix: "cpu_offload", Title: "Let it spill into system memory (RAM)", Told: "Set these before the start; they allow four times the GPU memory:", Kind: "env", Text: "export TF_FORCE_UNIFIED_MEMORY=1\nexport XLA_PYTHON_CLIENT_MEM_FRACTION=4.0", Cost: "Slower once it spills; RAM for it"},
		shorterIf(when.Not(hopeless)),
		largerCard,
	},
	Sources: []string{"alphafold/docker/run_docker.py", "alphafold/README.md"},
}}

// beyond says that no card could give it, "" where one could.
func beyond(c *ledger.Case) map[string]string {
	if ledger.Requested(c) < 96<<30 {
		return map[string]string{"beyond": ""}
	}
	return map[string]string{"beyond": "hardly any GPU has that much"}
}

// fourth is the card four times of which is less than what was wanted.
func fourth(c *ledger.Case) map[string]string {
	const gb = 1e9
	return map[string]string{"quarter": strconv.FormatInt(ledger.CeilDiv(ledger.Requested(c), 4*gb), 10)}
}

// wholePlan points to XLA's own count of the whole program.
func wholePlan(c *ledger.Case) map[string]string {
	if c.Near("by rematerialization; only reduced to") {
		return map[string]string{"whole": "The line with \"only reduced to\" states what the whole run needs, and before it what this GPU offers. Their ratio is how much smaller the input must become."}
	}
	return map[string]string{"whole": ""}
}

// hopeless: more than nearly any card has.
func hopeless(c *ledger.Case) bool { return ledger.Requested(c) >= 72<<30 }

func shorterIf(cond func(*ledger.Case) bool) cause.Cure { k := shorterCure; k.If = cond; return k }

var alphafold3Cards = []cause.Card{{
	ID: "alphafold3/tokens", Kinds: []fact.Kind{fact.XLAAlloc}, If: real,
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of GPU memory for this many tokens[[: it asked for {asked} at once]]",
	Means: foldMeans + "AlphaFold 3 also pads the input up to the next bucket; the request of {asked} is for the padded input. A GPU with 80 GB holds 5,120 tokens. Smaller GPUs have to spill into system memory (RAM).",
	Not:   "Fewer seeds: they run one after another.",
	Cures: []cause.Cure{
		{Fix: "cpu_offload", Title: "Let it spill into system memory (RAM)", Told: "In Docker pass each with `docker run -e NAME=value`.", Kind: "env", Text: "export XLA_PYTHON_CLIENT_PREALLOCATE=false\nexport TF_FORCE_UNIFIED_MEMORY=true\nexport XLA_CLIENT_MEM_FRACTION=3.2", Cost: "Slower once it spills; RAM for it"},
		{Fix: "lower_batch_size", Title: "Make one diffusion sample per seed", Kind: "text", Text: "Add `--num_diffusion_samples=1` (5 by default), and use more seeds instead.", Cost: "Time"},
		shorterCure,
	},
	Sources: []string{"alphafold3/docs/performance.md", "alphafold3/run_alphafold.py"},
}}

var colabfoldCards = []cause.Card{{
	ID: "colabfold/full", Kinds: []fact.Kind{fact.XLAAlloc}, If: func(c *ledger.Case) bool {
		return ledger.Requested(c) > 0 && ledger.Requested(c) < 512<<20 && c.Signal("notebook") != nil
	},
	Cause: cause.RetainedMemory, Weight: cause.Strong, Headline: "found the notebook's GPU memory full: it could not get even {asked}",
	Means: "{asked} is very little for a prediction, so GPU memory was full already. Either an earlier run in this session still holds it, or this query itself does: the memory grows with the square of its length.",
	Cures: []cause.Cure{
		{Fix: "restart_session", Title: "Restart the runtime, and run one query", Told: "Colab: Runtime, Restart session (or Disconnect and delete runtime). Run the cells again, one prediction per session.", Cost: "results that you did not download"},
		shorterCure,
		{Fix: "bigger_gpu", Title: "Choose a GPU with more memory", Told: "Colab: Runtime, Change runtime type: an L4 (24 GB) or A100 (40 GB) instead of a T4 (16 GB).", Cost: "paid units"},
	}, Sources: []string{"colabfold/batch.py", "https://github.com/sokrypton/ColabFold/issues/169"},
}, {
	ID: "colabfold/length", Kinds: []fact.Kind{fact.XLAAlloc}, If: real,
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of memory for an input this long[[: it asked for {asked} at once]]",
	Means: foldMeans + "ColabFold already lets the GPU spill into system memory (RAM). So {asked} fits neither, or spilling does not work here (WSL).",
	Not:   "Setting TF_FORCE_UNIFIED_MEMORY: ColabFold sets it itself.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use fewer sequences of the MSA", Kind: "text", Text: "Add `--max-msa 128:256` (clusters:extra sequences). In the notebook use the field max_msa.", Cost: "Some accuracy with few relatives"},
		shorterCure,
		largerCard,
	},
	Sources: []string{"colabfold/batch.py"},
}, {
	ID: "colabfold/tpu", Kinds: []fact.Kind{fact.TPUCompile},
	Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "needs more memory than the TPU has: {asked} of {total}",
	Means: foldMeans + "The compiler adds up what one TPU core needs before anything runs. On a GPU ColabFold can spill into system memory (RAM), on a TPU it cannot.",
	Not:   "Unified memory (`TF_FORCE_UNIFIED_MEMORY`): a TPU has none.",
	Cures: []cause.Cure{
		{Fix: "bigger_gpu", Title: "Switch the notebook to a GPU", Told: "Colab: Runtime, Change runtime type, GPU. Then run the cells again from the top.", Cost: "Free"},
		{Fix: "lower_batch_size", Title: "Use fewer sequences of the MSA, or a shorter input", Told: "Choose the next smaller pair of numbers in the field max_msa. Or leave out disordered ends and tags: 70 % of the length needs half the memory or less.", Cost: "Some accuracy, or contacts between the parts"},
		{Fix: "select_gpu", Title: "Choose the GPU with the most memory", Told: "Colab, Runtime, Change runtime type: an A100 (40 GB) or L4 (24 GB) instead of a T4 (16 GB).", Cost: "Paid units"},
	},
	Sources: []string{"colabfold/batch.py"},
}}

var boltzCards = []cause.Card{longInput("boltz/length", []string{"boltz/model/"}, "The trunk keeps a value for every pair of tokens, in several copies.", shorterCure,
	cause.Cure{Fix: "lower_batch_size", Title: "Use fewer sequences of the MSA", Kind: "text", Text: "`--max_msa_seqs 1024` (8192 by default), then 256.", Cost: "Some accuracy"}, "boltz/src/boltz/main.py"), {
	ID: "boltz/skipped", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"ran out of memory, skipping batch"},
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of GPU memory and skipped this input: there is no structure",
	Means: foldMeans + "Boltz skips what does not fit and ends without an error.",
	Not:   "`--sampling_steps`: the steps run one after another in the same memory.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use fewer sequences of the MSA", Kind: "text", Text: "Add `--max_msa_seqs 1024` (8192 by default).", Cost: "Some accuracy"},
		shorterCure,
		{Fix: "lower_parallel", Title: "With several samples: predict one at a time", Kind: "text", Text: "If you set `--diffusion_samples` above 1, add `--max_parallel_samples 1` (5 by default).", Cost: "Time; the same result"},
	},
	Sources: []string{"boltz/src/boltz/model/models/boltz2.py", "boltz/src/boltz/main.py"},
}}

var openfoldCards = []cause.Card{{
	ID: "openfold/esm-fold", Said: []string{"Failed (CUDA out of memory) on sequence"},
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "could not fold the longest sequences: GPU memory ran out",
	Means: foldMeans + "ESMFold's script skips a sequence that does not fit and goes on, so the shorter ones are done. Without chunks, memory grows with the cube of the length.",
	Cures: []cause.Cure{
		{Fix: "lower_ubatch", Title: "Compute the attention in chunks", Kind: "text", Text: "Add `--chunk-size 64` to your `esm-fold` (`scripts/fold.py`) command; 32 needs less still.", Cost: "Slower; the same result"},
		{Fix: "lower_batch_size", Title: "Fold one sequence at a time", Kind: "text", Text: "Add `--max-tokens-per-batch 1`: no two sequences are then folded together.", Cost: "Slower"},
		{Fix: "cpu_offload", Title: "If that is not enough: keep the weights in RAM", Kind: "text", Text: "Add `--cpu-offload`.", Cost: "Slower"},
		shorterCure,
	},
	Sources: []string{"esm/scripts/fold.py", "esm/README.md"},
}, {
	ID: "openfold/chunks", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"triangular_attention.py", "tri_self_attn_block.py", "triangular_multiplicative_update.py", "esmfold/v1/trunk.py", "modeling_esmfold.py"}, If: real,
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of GPU memory in the folding trunk: the protein is long", Figures: residues,
	Means: foldMeans + "It failed in the triangle layers. Unless it works in chunks, triangle attention needs heads x length x length x length scores.[[ {asked} would match {residues} residues.]]",
	Cures: []cause.Cure{
		{Fix: "lower_ubatch", Title: "Compute the attention in chunks", Kind: "text", Text: "ESMFold: `model.set_chunk_size(64)` (in transformers `model.trunk.set_chunk_size(64)`), or 32. OpenFold: add `--long_sequence_inference`.", Cost: "Slower; the same result"},
		{Fix: "half_precision", Title: "ESMFold: run the language model in 16 bit", Kind: "python", Text: "model.esm = model.esm.half()", Cost: "No visible loss"},
		shorterCure,
	},
	Sources: []string{"openfold/openfold/model/triangular_attention.py", "openfold/run_pretrained_openfold.py", "transformers/src/transformers/models/esm/modeling_esmfold.py"},
}}

var chaiCards = []cause.Card{longInput("chai/length", []string{"chai_lab/"}, "Chai pads the input to the next model size (256, 384, 512, 768, 1024, 1536 or 2048 tokens).",
	cause.Cure{Fix: "lower_context", Title: "Get below the next smaller size", Kind: "text", Text: "Leave out ends, tags or a chain until the tokens fit the next smaller size; a few residues less within one size gain nothing.", Cost: "No contacts with what is left out"},
	cause.Cure{Fix: "lowvram_mode", Title: "Keep low_memory on", Kind: "text", Text: "`low_memory=True` is the default of `run_inference`: parts wait in RAM. Without it, set it again.", Cost: "A little time"}, "chai-lab/chai_lab/chai1.py")}

var rosettaCards = []cause.Card{longInput("rosettafold/length", []string{"RoseTTAFold", "rf2aa/"}, "A deep MSA adds rows x length.", shorterCure,
	cause.Cure{Fix: "lower_batch_size", Title: "Use a shallower MSA", Kind: "text", Text: "Filter the alignment to a few hundred sequences: `hhfilter -id 90 -cov 75 -diff 500`.", Cost: "Some accuracy"}, "https://github.com/baker-laboratory/RoseTTAFold-All-Atom")}
