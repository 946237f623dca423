package science

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// GROMACS is GROMACS.
var GROMACS = program.Program{
	Name: "gromacs", Shown: "GROMACS", Work: "science", Edits: "flags", Language: "cpp",
	Commands: []string{"gmx"},
	Proofs:   []string{"gmx mdrun", "src/gromacs/", "GROMACS:", "gmx grompp", "GROMACS reminds you"},
	Titles:   map[string]string{"lower_parallel": "Fewer ranks per GPU", "cpu_offload": "Keep PME on the CPU", "lower_batch_size": "Analyse fewer frames or atoms"},
	Costs:    map[string]string{"lower_parallel": "Some speed.", "cpu_offload": "Speed: PME runs at the processor's pace.", "lower_batch_size": "Coarser sampling in time."},
	Remedies: cures(cause.InOrder("kill_stale_process", "lower_parallel", "cpu_offload", "select_gpu"), cause.InOrder("lower_batch_size", "fix_shape", "raise_memory_limit")),
	Steps: steps{
		"lower_parallel":   step.Paste("shell", "gmx mdrun -deffnm md -ntmpi 1 -ntomp 8 -gpu_id 0   # your own -deffnm; each rank on a GPU has its own buffers"),
		"cpu_offload":      step.Paste("shell", "gmx mdrun -deffnm md -nb gpu -pme cpu   # your own -deffnm"),
		"lower_batch_size": step.Paste("shell", "gmx trjconv -f traj.xtc -s topol.tpr -o part.xtc -skip 10   # every tenth frame, and choose a small group; then analyse part.xtc"),
		"fix_shape":        step.Paste("text", "Look at the box and the coordinates: a system that blew up, or a tiny Fourier or output spacing, makes grids without bound. An index group with all waters does so in analyses that compare all pairs."),
	},
	Cards: gromacsCards,
}

// OpenMM is OpenMM.
var OpenMM = program.Program{
	Name: "openmm", Shown: "OpenMM", Work: "science", Edits: "code", Language: "python",
	Proofs:   []string{"OpenMMException", "openmm/app/", "openmmtools/", "simtk/openmm", "openmm/openmm.py"},
	Titles:   map[string]string{"lower_parallel": "Fewer contexts at a time", "fix_shape": "Check box and Ewald tolerance", "half_precision": "Mixed or single precision"},
	Costs:    map[string]string{"lower_parallel": "Time between replicas.", "half_precision": "Digits of the energy."},
	Remedies: cures(cause.InOrder("lower_parallel", "fix_shape", "kill_stale_process", "half_precision"), cause.InOrder("lower_parallel", "raise_memory_limit")),
	Steps: steps{
		"lower_parallel": step.Paste("python", "cache.global_context_cache.capacity = 2   # openmmtools: contexts kept on the GPU; else `del simulation` before the next one"),
		"fix_shape":      step.Paste("python", "print(topology.getPeriodicBoxVectors())   # a huge box or a tiny ewaldErrorTolerance makes a huge PME grid, wrong positions huge neighbour lists"),
		"half_precision": step.Paste("python", "simulation = Simulation(topology, system, integrator, platform, {\"Precision\": \"mixed\"})   # double needs about twice"),
	},
	Cards: openmmCards,
}

// Isaac is Isaac Gym and Isaac Lab: thousands of simulated robots on a card.
var Isaac = program.Program{
	Name: "isaac", Shown: "Isaac Gym / Isaac Lab", Work: "science", Edits: "flags", Language: "python",
	Sources:  program.Sources{"IsaacLab/scripts/reinforcement_learning/rsl_rl/train.py": "--num_envs --headless"},
	Proofs:   []string{"isaacgym/", "isaacgymenvs", "isaaclab", "omni.isaac", "PxgCudaDeviceMemoryAllocator", "carb.gym.plugin", "omni.physx", "--sim_device", "--rl_device"},
	Titles:   map[string]string{"lower_batch_size": "Fewer environments", "limit_framework_preallocation": "Smaller PhysX buffers", "lower_resolution": "Smaller or fewer cameras"},
	Costs:    map[string]string{"lower_batch_size": "Fewer samples per step; more steps.", "limit_framework_preallocation": "Contacts are lost if they are too small.", "lower_resolution": "Detail of the images."},
	Remedies: cures(cause.InOrder("lower_batch_size", "limit_framework_preallocation", "lower_resolution", "kill_stale_process"), cause.InOrder("lower_batch_size", "raise_memory_limit")),
	Steps: steps{
		"lower_batch_size":              step.Paste("text", "Add `--num_envs 1024` to the command (IsaacGymEnvs: `num_envs=1024`), halved until it starts, and keep it `--headless`. The batch of the learner is environments times horizon: lower its minibatch in step."),
		"limit_framework_preallocation": step.Paste("text", "Isaac Lab: lower `gpu_max_rigid_contact_count`, `gpu_max_rigid_patch_count` and `gpu_collision_stack_size` in PhysxCfg. Isaac Gym: `max_gpu_contact_pairs` and `default_buffer_size_multiplier` under physx."),
		"lower_resolution":              step.Paste("text", "Cameras cost most: lower their width and height, and take out data types that you do not use."),
	},
	Cards: isaacCards,
}

// MJX is MuJoCo on JAX.
var MJX = program.Program{
	Name: "mujoco-mjx", Shown: "MuJoCo MJX", Work: "science", Edits: "code", Language: "python",
	Proofs:   []string{"mujoco/mjx/", "mujoco.mjx", "brax/"},
	Titles:   map[string]string{"lower_batch_size": "Fewer environments", "fix_shape": "Simpler collision geometry"},
	Costs:    map[string]string{"lower_batch_size": "Fewer samples per step; more steps.", "fix_shape": "Coarser contacts."},
	Remedies: cures(cause.InOrder("lower_batch_size", "fix_shape", "kill_stale_process"), cause.InOrder("lower_batch_size", "raise_memory_limit")),
	Steps: steps{
		"lower_batch_size": step.Paste("text", "Halve `num_envs` (and `batch_size` or `num_minibatches` with it) in the training configuration: all of them step at once in one compiled program."),
		"fix_shape":        step.Paste("text", "MJX reserves room for every pair that could touch: take pairs out with `contype` and `conaffinity`, use capsules and boxes instead of meshes, and bound them with `max_contact_points` and `max_geom_pairs` (custom numeric fields of the model)."),
	},
}
