package science

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var gromacsCards = []cause.Card{
	{
		ID: "gromacs/calloc", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainHost}, Said: []string{"Failed to calloc", "Failed to realloc", "Failed to malloc"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was refused RAM for one array",
		Means: "The line names the array; elements x bytes is what was requested in RAM. In analysis tools it is usually all frames, or all pairs of a group that contains the water; in mdrun and grompp a box, grid or position that blew up.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Use fewer frames or a smaller group", Kind: "shell", Text: "gmx trjconv -f traj.xtc -s topol.tpr -o part.xtc -skip 10   # your own files; choose a group without the water", Cost: "Coarser sampling"},
			{Fix: "fix_shape", Title: "mdrun: check box and coordinates", Kind: "text", Text: "`gmx check -f` on the last frame: a huge box or positions that are not numbers ask for a huge grid.", Cost: "A few minutes"},
			{Fix: "raise_memory_limit", Title: "Run it on a machine with more RAM", Kind: "text", Text: "If the array is plausible: request a node with that much memory in the job script.", Cost: "Waiting time"},
		},
		Sources: []string{"gromacs/src/gromacs/utility/smalloc.cpp"},
	},
	{
		ID: "gromacs/device-buffer", Kinds: []fact.Kind{fact.CUDAError, fact.PlainDevice}, Said: []string{"device buffer failed", "devicebuffer.cuh"},
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "could not get a buffer on the card",
		Means: "The card refused a buffer. A simulation seldom needs more than a few GB, so first check what else is on that card: other runs, or several ranks of this one. Systems of many million atoms can fill it themselves.",
		Cures: []cause.Cure{
			look,
			{Fix: "lower_parallel", Title: "Run one rank per card", Kind: "shell", Text: "gmx mdrun -deffnm md -ntmpi 1 -ntomp 8 -gpu_id 0   # your own -deffnm", Cost: "Some speed"},
			{Fix: "cpu_offload", Title: "Keep PME on the CPU", Kind: "shell", Text: "gmx mdrun -deffnm md -nb gpu -pme cpu   # your own -deffnm", Cost: "Speed"},
		},
		Sources: []string{"gromacs/src/gromacs/gpu_utils/devicebuffer.cuh"},
	},
}

var openmmCards = []cause.Card{{
	ID: "openmm/array", Kinds: []fact.Kind{fact.PlainDevice}, Said: []string{"Error creating array", "Error initializing array"},
	Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "could not make an array on the card",
	Means: "The array that the message names was refused; it has no sizes. A million atoms need a few GB, so the model alone is seldom too large. Three reasons are usual: something else fills the card, several contexts of this program exist at once (replica exchange, a loop that does not delete them), or a huge box or a tiny Ewald tolerance makes a huge PME grid.",
	Cures: []cause.Cure{
		look,
		{Fix: "lower_parallel", Title: "Keep one context at a time", Told: "In a loop: `del simulation, context` before the next one. openmmtools keeps contexts in a cache; bound it:", Kind: "python", Text: "from openmmtools import cache\ncache.global_context_cache.capacity = 2", Cost: "Time between replicas"},
		{Fix: "fix_shape", Title: "Check box, atoms and tolerance", Told: "A box of many times the molecule, or an ewaldErrorTolerance far below 5e-4, makes the grid large:", Kind: "python", Text: "print(topology.getPeriodicBoxVectors(), system.getNumParticles())", Cost: "A minute"},
	},
	Sources: []string{"https://github.com/openmm/openmm/issues/3975", "https://github.com/choderalab/openmmtools/issues/521"},
}}

var isaacCards = []cause.Card{{
	ID: "isaac/physx", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"PxgCudaDeviceMemoryAllocator"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory in PhysX: {asked} was refused",
	Means: "PhysX could not get {asked} for its buffers; kernel errors after it (700, launch failures) are a result. Buffers grow with environments and contacts. If one environment fails too, another process may hold the card.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use fewer environments, no viewer", Kind: "text", Text: "Add `--num_envs` with half of the present number and `--headless` (IsaacGymEnvs: `num_envs=512 headless=True`).", Cost: "Fewer samples per step"},
		{Fix: "limit_framework_preallocation", Title: "Use smaller contact buffers", Kind: "text", Text: "Isaac Gym: lower `max_gpu_contact_pairs` and `default_buffer_size_multiplier` under physx. Isaac Lab: `gpu_max_rigid_contact_count` in PhysxCfg.", Cost: "Contacts are lost if too small"},
		look,
	},
	Sources: []string{"https://github.com/isaac-sim/IsaacGymEnvs/issues/256", "https://github.com/Improbable-AI/walk-these-ways/issues/20", "https://github.com/isaac-sim/IsaacGymEnvs/issues/45"}, Solved: 1,
}, {
	ID: "isaac/update", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool { return c.In("isaac") && !ledger.Crowded(c) && !ledger.Roomy(c) },
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory[[ ({total})]] beside its simulation",
	Means: "The simulator (whose buffers do not show in PyTorch's figures), the steps of all environments and one minibatch of the update share the card. The update works on environments x steps / minibatches samples at once, and keeps all activations of them for the backward pass.",
	Not:   "`empty_cache()`: it frees only what no tensor uses.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Fewer environments, or more minibatches", Told: "Half of the environments: `--num_envs` (IsaacGymEnvs: `num_envs=` at the end of the command). If only the update fails: twice the minibatches in the algorithm's config (`num_mini_batches`, `nminibatches`; rl_games: half the `minibatch_size`).", Cost: "Slower or noisier learning"},
		{Fix: "expandable_segments", If: func(c *ledger.Case) bool { return c.Slack.Has() && c.Slack.Bytes*2 > ledger.Requested(c) }, Cost: "None"},
		{Fix: "lower_resolution", Title: "Smaller observations", Told: "Fewer points of a point cloud, smaller or fewer cameras: they are kept for every environment and step.", Cost: "Less detail"},
		look,
	},
	Sources: []string{"rl_games/README.md", "https://github.com/hyperplane-lab/RLAfford/issues/5"},
}}
