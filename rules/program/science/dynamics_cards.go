package science

import (
	"regexp"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// lammpsAtoms is the count that LAMMPS prints when it makes or reads atoms.
var lammpsAtoms = regexp.MustCompile(`(\d{3,12}) atoms\b`)

func atoms(c *ledger.Case) string {
	found := ""
	for _, word := range c.Facts.Talk {
		if m := lammpsAtoms.FindStringSubmatch(word.Text); m != nil {
			found = m[1]
		}
	}
	return found
}

// fewAtoms: no card is too small for them.
func fewAtoms(c *ledger.Case) bool { n := atoms(c); return n != "" && len(n) < 7 }

// lammpsCard is about its GPU and KOKKOS packages.
var lammpsCard = cause.Card{
	ID: "lammps/card", Kinds: append([]fact.Kind{fact.NativeAlloc, fact.PlainHost}, anyCard...), Said: []string{"Insufficient memory on accelerator", "gpu_extra.h", "Kokkos_Cuda", "Kokkos_HIP", "Kokkos failed to allocate"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory[[ with {atoms} atoms]]",
	Means:   "This is the GPU's memory, not RAM. A rank keeps its atoms, ghosts and, mostly, neighbour lists there. If it fails only after many steps, atoms may have crowded together. If `nvidia-smi` shows little in use when it dies, it is a fault of this LAMMPS version.",
	Not:     "More ranks on the same GPU: each adds its own buffers.",
	Figures: func(c *ledger.Case) map[string]string { return map[string]string{"atoms": atoms(c)} },
	Cures: []cause.Cure{
		{Fix: "upgrade_version", If: fewAtoms, Title: "Update LAMMPS, and look at the memory as it runs", Told: "So few atoms fit any GPU. `nvidia-smi -l 10` shows whether memory climbs (a fault that a newer version may not have) or something else fills the GPU. `minimize` first if atoms overlap.", Cost: "some time"},
		{Fix: "multi_gpu", If: when.Not(fewAtoms), Title: "Use more GPUs, one rank each", Told: "`mpirun -n 2 lmp -k on g 2 -sf kk -in in.lammps`, or `-sf gpu -pk gpu 2`: each GPU then holds half of the atoms.", Cost: "more GPUs"},
		{Fix: "lower_batch_size", Title: "Use shorter neighbour lists", Told: "`neighbor 1.0 bin` in place of 2.0, or a shorter cut-off. With KOKKOS also `-pk kokkos neigh half`: it stores each pair once.", Cost: "rebuilt more often"},
		{Fix: "upgrade_version", If: when.Not(fewAtoms), Title: "If it fails after many steps: minimize first, or update", Told: "`minimize` or `delete_atoms overlap` before the run; otherwise a newer LAMMPS.", Cost: "some time"},
		look,
	},
	Sources: []string{"https://docs.lammps.org/Speed_kokkos.html", "https://docs.lammps.org/package.html", "lammps/lib/gpu/README"},
}

var gromacsCards = []cause.Card{
	{
		ID: "gromacs/calloc", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainHost}, Said: []string{"Failed to calloc", "Failed to realloc", "Failed to malloc"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not get system memory (RAM) for one array",
		Means: "The message names the array and its size: elements x bytes. Analysis tools usually need a huge array when they keep all frames, or all pairs of a group that includes the water. In mdrun and grompp the box or the positions have usually blown up.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: func(c *ledger.Case) bool { return !c.Near("gmx mdrun", "gmx grompp") }, Title: "Analysis: use fewer frames or a smaller group", Told: "With your own files; choose a group without the water:", Kind: "shell", Text: "gmx trjconv -f traj.xtc -s topol.tpr -o part.xtc -skip 10", Cost: "Coarser sampling"},
			{Fix: "fix_shape", If: func(c *ledger.Case) bool { return c.Near("gmx mdrun", "gmx grompp") }, Title: "mdrun: check the box and the coordinates", Kind: "text", Text: "Run `gmx check -f` on the last frame. A huge box or NaN positions need a huge grid.", Cost: "A few minutes"},
			{Fix: "raise_memory_limit", Title: "Run it on a machine with more RAM", Kind: "text", Text: "If the array really has to be that large: request a node with enough memory in the job script.", Cost: "Waiting time"},
		},
		Sources: []string{"gromacs/src/gromacs/utility/smalloc.cpp"},
	},
	{
		ID: "gromacs/device-buffer", Kinds: []fact.Kind{fact.CUDAError, fact.PlainDevice}, Said: []string{"device buffer failed", "devicebuffer.cuh", "-ntmpi 1 ", "gmx mdrun", "gmx grompp"},
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "could not get a buffer in GPU memory",
		Means: "A simulation seldom needs more than a few GB of GPU memory. So usually something else is on that GPU: other runs, or several ranks of this one. Systems of many million atoms can fill it by themselves.",
		Cures: []cause.Cure{
			look,
			{Fix: "lower_parallel", If: func(c *ledger.Case) bool { return !c.Near("-ntmpi 1 ") }, Title: "Run one rank per GPU", Told: "With your own file name:", Kind: "shell", Text: "gmx mdrun -deffnm md -ntmpi 1 -ntomp 8 -gpu_id 0", Cost: "Some speed"},
			{Fix: "cpu_offload", Title: "Keep PME on the CPU", Told: "With your own file name:", Kind: "shell", Text: "gmx mdrun -deffnm md -nb gpu -pme cpu", Cost: "Speed"},
		},
		Sources: []string{"gromacs/src/gromacs/gpu_utils/devicebuffer.cuh"},
	},
}

var openmmCards = []cause.Card{{
	ID: "openmm/array", Kinds: []fact.Kind{fact.PlainDevice}, Said: []string{"Error creating array", "Error initializing array"},
	Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "could not make an array in GPU memory",
	Means: "A million atoms need only a few GB, so the system itself is seldom too large. Usual reasons: something else fills the GPU, this program keeps several contexts (replica exchange, a loop that does not delete them), or a huge box or a tiny Ewald tolerance makes a huge PME grid.",
	Cures: []cause.Cure{
		look,
		{Fix: "lower_parallel", Title: "Keep one context at a time", Told: "In a loop run `del simulation, context` before you make the next one. openmmtools keeps contexts in a cache; limit it:", Kind: "python", Text: "from openmmtools import cache\ncache.global_context_cache.capacity = 2", Cost: "Time between replicas"},
		{Fix: "fix_shape", Title: "Check the box and the tolerance", Told: "A box many times larger than the molecule, or an `ewaldErrorTolerance` far below 5e-4, makes the grid large:", Kind: "python", Text: "print(topology.getPeriodicBoxVectors(), system.getNumParticles())", Cost: "A minute"},
	},
	Sources: []string{"https://github.com/openmm/openmm/issues/3975", "https://github.com/choderalab/openmmtools/issues/521"},
}}

var isaacCards = []cause.Card{{
	ID: "isaac/physx", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"PxgCudaDeviceMemoryAllocator"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in PhysX: it could not get {asked}",
	Means: "PhysX's buffers grow with the number of environments and contacts. Errors that follow (700, launch failures) are a result of this one. If even one environment fails, another process probably holds the GPU.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use fewer environments, without the viewer", Kind: "text", Text: "Halve `--num_envs` until it starts, for example `--num_envs 512 --headless` (IsaacGymEnvs: `num_envs=512 headless=True`).", Cost: "Fewer samples per step"},
		{Fix: "limit_framework_preallocation", Title: "Use smaller contact buffers", Kind: "text", Text: "Isaac Gym: lower `max_gpu_contact_pairs` and `default_buffer_size_multiplier` under physx. Isaac Lab: lower `gpu_max_rigid_contact_count` in PhysxCfg.", Cost: "Contacts are lost if they are too small"},
		look,
	},
	Sources: []string{"https://github.com/isaac-sim/IsaacGymEnvs/issues/256", "https://github.com/Improbable-AI/walk-these-ways/issues/20", "https://github.com/isaac-sim/IsaacGymEnvs/issues/45"}, Solved: 1,
}, {
	ID: "isaac/update", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool { return c.In("isaac") && !ledger.Crowded(c) && !ledger.Roomy(c) },
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory[[ ({total})]]: the simulator and PyTorch share it",
	Means: "The simulator's buffers do not show in PyTorch's figures. PyTorch keeps the steps of all environments, and one minibatch of the update with its activations. That minibatch is environments x steps / number of minibatches.",
	Not:   "`empty_cache()`: it frees only what no tensor uses.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use fewer environments, or more minibatches", Told: "Halve `--num_envs` (IsaacGymEnvs: `num_envs=` at the end of the command). If only the update fails, double the number of minibatches in the config: `num_mini_batches` or `nminibatches`. With rl_games halve `minibatch_size`.", Cost: "Slower or noisier learning"},
		{Fix: "expandable_segments", If: func(c *ledger.Case) bool { return c.Slack.Has() && c.Slack.Bytes*2 > ledger.Requested(c) }, Cost: "None"},
		{Fix: "lower_resolution", Title: "Use smaller observations", Told: "Use smaller or fewer cameras, or fewer points per point cloud: every environment keeps them for every step.", Cost: "Less detail"},
		look,
	},
	Sources: []string{"rl_games/README.md", "https://github.com/hyperplane-lab/RLAfford/issues/5"},
}}
