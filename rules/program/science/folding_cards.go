package science

import (
	"math"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const foldMeans = "The total length decides, all chains together: memory grows with its square or more, so 1.4 times the residues need at least twice the memory. "

var (
	shorterCure = cause.Cure{Fix: "lower_context", Title: "Shorten the input", Kind: "text", Text: "Leave out disordered ends and tags, or fold domains with some overlap: 70 % of the length needs half the memory or less. A smaller alignment (MSA) helps too, where the program bounds its rows.", Cost: "Contacts between the pieces"}
	largerCard  = cause.Cure{Fix: "bigger_gpu", If: when.Not(hopeless), Title: "Use a card with more memory", Told: "The same input runs unchanged on a card well above {asked}; rent one of 40 or 80 GB for the run.", Cost: "Rent"}
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

var alphafoldCards = []cause.Card{{
	ID: "alphafold/profile", Kinds: []fact.Kind{fact.XLAAlloc}, Said: []string{"run_AFP.py"}, If: real,
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of graphics memory: AFProfile needs gradients through the whole network[[, {asked} in one piece]]",
	Means: "AFProfile does not only predict: it changes the MSA profile along gradients through AlphaFold, so everything that a prediction may forget is kept. {asked} is one piece of that.[[ {whole}]]",
	Cures: []cause.Cure{
		{Fix: "lower_context", Title: "Give it fewer MSA rows", Told: "In `src/alphafold/model/config.py` lower `max_msa_clusters` (512) and `max_extra_msa`, such as 128 each: the line \"The MSA has shape\" shows rows and residues.", Cost: "A weaker profile"},
		{Fix: "lower_batch_size", Title: "Shorten the target", Told: "Leave out disordered ends and tags, or take fewer chains: memory grows with the square of the length and faster.", Cost: "Contacts that are left out"},
		{Fix: "cpu_offload", Title: "Only if little is missing: unified memory (spills into RAM)", If: when.Not(hopeless), Kind: "env", Text: "export TF_FORCE_UNIFIED_MEMORY=1\nexport XLA_PYTHON_CLIENT_MEM_FRACTION=4.0", Cost: "Slower once it spills; RAM for it"},
	},
	Figures: wholePlan,
	Sources: []string{"AFProfile/src/run_AFP.py", "AFProfile/src/alphafold/model/config.py"},
}, {
	ID: "alphafold/docker", Kinds: []fact.Kind{fact.XLAAlloc}, Said: []string{"/app/alphafold/run_alphafold.py"}, If: real, Unsaid: []string{"colabfold", "alphafold3"},
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of graphics memory for this length[[: it wants {asked} in one piece]]",
	Means:   foldMeans + "{asked} is the working memory of one compiled prediction. AlphaFold's Docker script already turns on unified memory with a fraction of 4.0: JAX may take four times the card, the rest lies in RAM.[[ On a card below {quarter} GB that is less than {asked}.]] If the card is larger, the RAM was short.",
	Figures: fourth,
	Cures: []cause.Cure{
		shorterIf(hopeless),
		{Fix: "cpu_offload", Title: "Raise the fraction in docker/run_docker.py", Told: "So that the fraction times the card is well above {asked}, and RAM beside it is free. Variables of your own shell do not reach the container; it is this line of the script:", Kind: "config", Text: "'XLA_PYTHON_CLIENT_MEM_FRACTION': '8.0',   # '4.0' today", Cost: "Much slower once it spills; RAM for it"},
		shorterIf(when.Not(hopeless)), largerCard,
	},
	Sources: []string{"alphafold/docker/run_docker.py"},
}, {
	ID: "alphafold/length", Kinds: []fact.Kind{fact.XLAAlloc}, If: real, Unsaid: []string{"colabfold", "alphafold3"},
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of graphics memory for this length[[: it wants {asked} in one piece]]",
	Means:   foldMeans + "{asked} is the working memory of one compiled prediction, requested in one piece[[; {beyond}]]. AlphaFold's Docker script lets it spill into RAM; other ways to run it must set that themselves.",
	Figures: beyond,
	Cures: []cause.Cure{
		shorterIf(hopeless),
		{Fix: "cpu_offload", Title: "Turn on unified memory (spills into RAM)", Kind: "env", Text: "export TF_FORCE_UNIFIED_MEMORY=1\nexport XLA_PYTHON_CLIENT_MEM_FRACTION=4.0", Cost: "Slower once it spills; RAM for it"},
		shorterIf(when.Not(hopeless)), largerCard,
	},
	Sources: []string{"alphafold/docker/run_docker.py", "alphafold/README.md"},
}}

// beyond says that no card could give it, "" where one could.
func beyond(c *ledger.Case) map[string]string {
	if ledger.Requested(c) < 96<<30 {
		return map[string]string{"beyond": ""}
	}
	return map[string]string{"beyond": "few cards, if any, have so much"}
}

// fourth is the card four times of which is less than what was wanted.
func fourth(c *ledger.Case) map[string]string {
	const gb = 1e9
	return map[string]string{"quarter": strconv.FormatInt(ledger.CeilDiv(ledger.Requested(c), 4*gb), 10)}
}

// wholePlan points to XLA's own count of the whole program.
func wholePlan(c *ledger.Case) map[string]string {
	if c.Near("by rematerialization; only reduced to") {
		return map[string]string{"whole": "The line \"only reduced to\" states what the whole needs after XLA has saved all it can, and before it what this card offers: their ratio is how much smaller the input must become."}
	}
	return map[string]string{"whole": ""}
}

// hopeless: more than nearly any card has.
func hopeless(c *ledger.Case) bool { return ledger.Requested(c) >= 72<<30 }

func shorterIf(cond func(*ledger.Case) bool) cause.Cure { k := shorterCure; k.If = cond; return k }

var alphafold3Cards = []cause.Card{{
	ID: "alphafold3/tokens", Kinds: []fact.Kind{fact.XLAAlloc}, If: real,
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of graphics memory for this many tokens[[: {asked} needed at once]]",
	Means: foldMeans + "{asked} is the working memory of one compiled program, for the input padded up to the next bucket. 80 GB hold 5,120 tokens; smaller cards need unified memory, which spills into RAM.",
	Not:   "Fewer seeds: they run one after another.",
	Cures: []cause.Cure{
		{Fix: "cpu_offload", Title: "Turn on unified memory (spills into RAM)", Kind: "env", Text: "export XLA_PYTHON_CLIENT_PREALLOCATE=false\nexport TF_FORCE_UNIFIED_MEMORY=true\nexport XLA_CLIENT_MEM_FRACTION=3.2", Cost: "Slower once it spills; RAM for it"},
		{Fix: "lower_batch_size", Title: "One diffusion sample per seed", Kind: "text", Text: "Add `--num_diffusion_samples=1` (5 by default) and use more seeds instead.", Cost: "Time"},
		shorterCure,
	},
	Sources: []string{"alphafold3/docs/performance.md", "alphafold3/run_alphafold.py"},
}}

var colabfoldCards = []cause.Card{{
	ID: "colabfold/full", Kinds: []fact.Kind{fact.XLAAlloc}, If: func(c *ledger.Case) bool {
		return ledger.Requested(c) > 0 && ledger.Requested(c) < 512<<20 && c.Signal("notebook") != nil
	},
	Cause: cause.RetainedMemory, Weight: cause.Strong, Headline: "found the notebook's card full: even {asked} was refused",
	Means: "{asked} is very little beside what a prediction needs, so the card was full before it: with what an earlier run in this session left there, or with this query itself, whose pair representation grows with the square of its length.",
	Cures: []cause.Cure{{Fix: "restart_session", Title: "Restart the runtime, run one query", Told: "Colab: Runtime, Restart session (or Disconnect and delete runtime), then the cells again, one prediction in a session.", Cost: "results that were not downloaded"}, shorterCure, largerCard}, Sources: []string{"colabfold/batch.py", "https://github.com/sokrypton/ColabFold/issues/169"},
}, {
	ID: "colabfold/length", Kinds: []fact.Kind{fact.XLAAlloc}, If: real,
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of memory for the length of one query[[: it needs {asked} at once]]",
	Means: foldMeans + "ColabFold turns on unified memory itself: so {asked} fits neither card nor RAM, or unified memory does not work here (WSL). It continues with the next query.",
	Not:   "Setting TF_FORCE_UNIFIED_MEMORY: ColabFold has done so unless it was told not to.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use fewer sequences of the MSA", Kind: "text", Text: "Add `--max-msa 128:256` (clusters:extra sequences); in the notebook the field max_msa.", Cost: "Some accuracy with few relatives"},
		shorterCure, largerCard,
	},
	Sources: []string{"colabfold/batch.py"},
}, {
	ID: "colabfold/tpu", Kinds: []fact.Kind{fact.TPUCompile},
	Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "does not fit the TPU for this input: {asked} of {total}",
	Means: foldMeans + "The compiler adds up the need of one core of the TPU before anything runs. On a GPU ColabFold can spill into RAM (unified memory), on a TPU it cannot.",
	Not:   "Unified memory (`TF_FORCE_UNIFIED_MEMORY`): a TPU has none.",
	Cures: []cause.Cure{
		{Fix: "bigger_gpu", Title: "Switch the notebook to a GPU", Told: "Colab: Runtime, Change runtime type, GPU; then run the cells again from the top.", Cost: "Free"},
		{Fix: "lower_batch_size", Title: "Shorten the input, or use fewer sequences of the MSA (`max_msa`)", Told: "Leave out disordered ends and tags, or fold domains with some overlap: 70 % of the length needs half the memory or less. In the notebook the field max_msa: the next smaller pair of numbers.", Cost: "Contacts between the parts, or some accuracy"},
		{Fix: "select_gpu", Title: "Choose the GPU with the most memory", Told: "Colab, Runtime, Change runtime type: an A100 (40 GB) or L4 (24 GB) instead of a T4 (16 GB).", Cost: "Paid units"},
	},
	Sources: []string{"colabfold/batch.py"},
}}

var boltzCards = []cause.Card{{
	ID: "boltz/skipped", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"ran out of memory, skipping batch"},
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of graphics memory and skipped this input: there is no structure",
	Means: foldMeans + "Boltz skipped this input and ends without an error. The message has no figures.",
	Not:   "`--sampling_steps`: they run one after another in the same memory.",
	Cures: []cause.Cure{
		shorterCure,
		{Fix: "lower_batch_size", Title: "Use fewer sequences of the MSA", Kind: "text", Text: "Add `--max_msa_seqs 1024` (8192 by default).", Cost: "Some accuracy"},
		{Fix: "lower_parallel", Title: "With several samples: predict one at a time", Kind: "text", Text: "If you set `--diffusion_samples` above 1 (the default): add `--max_parallel_samples 1` (5 by default).", Cost: "Time; the same result"},
	},
	Sources: []string{"boltz/src/boltz/model/models/boltz2.py", "boltz/src/boltz/main.py"},
}}

var openfoldCards = []cause.Card{{
	ID: "openfold/chunks", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"triangular_attention.py", "tri_self_attn_block.py", "triangular_multiplicative_update.py", "esmfold/v1/trunk.py", "modeling_esmfold.py"}, If: real,
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of graphics memory in the folding trunk: the protein is long", Figures: residues,
	Means: foldMeans + "It failed in the triangle layers; triangle attention makes heads x length x length x length scores unless it works in chunks.[[ {asked} would be {residues} residues with 4 heads in 32 bit.]]",
	Cures: []cause.Cure{
		{Fix: "lower_ubatch", Title: "Compute attention in chunks", Kind: "text", Text: "ESMFold: `model.set_chunk_size(64)` (transformers: `model.trunk.set_chunk_size(64)`), 32 if needed. OpenFold: add `--long_sequence_inference`.", Cost: "Slower; the same result"},
		{Fix: "half_precision", Title: "ESMFold: language model in 16 bit", Kind: "python", Text: "model.esm = model.esm.half()", Cost: "None that can be seen"},
		shorterCure,
	},
	Sources: []string{"openfold/openfold/model/triangular_attention.py", "openfold/run_pretrained_openfold.py", "transformers/src/transformers/models/esm/modeling_esmfold.py"},
}}
