package field

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// Simulators of circuits, scanners and weather.
var (
	QiskitAer = of(program.Program{
		Name: "qiskit-aer", Shown: "Qiskit Aer", Work: "science", Edits: "code",
		Proofs: []string{"qiskit_aer/", "qiskit/providers/aer/", "AerError", "Insufficient memory to run circuit", "aersimulator"},
		Cards: []cause.Card{{
			ID: "qiskit-aer/circuit", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainHost, fact.NativeAlloc, fact.PlainDevice, fact.DeviceAlloc}, Said: []string{"Insufficient memory to run circuit"},
			Cause: cause.OversizedAllocation, Weight: cause.Decisive,
			Headline: "refused the circuit: its state is larger than the memory",
			Means:    "A state vector of n qubits is 16 x 2^n bytes: 30 qubits are 16 GiB, each one more doubles it; a density matrix or unitary is 16 x 4^n. Aer compares that (\"Required memory\", in MB) with \"max memory\" and refuses before it starts. All qubits of the circuit count, also idle ones: a circuit transpiled for a device of 127 qubits has 127.",
			Not:      "More swap, or fewer shots.",
			Cures: []cause.Cure{
				{Fix: "fix_shape", Title: "Transpile for the simulator, not for the device", Told: "That leaves the circuit at its own width; from a device only its noise model is needed:", Kind: "python", Text: "sim = AerSimulator()   # with noise: AerSimulator(noise_model=NoiseModel.from_backend(device))\nqc = transpile(qc, sim)", Cost: "free"},
				{Fix: "use_smaller_model", Title: "A method that holds no full state", Told: "Little entanglement: matrix product state; Clifford gates only: stabilizer (hundreds of qubits).", Kind: "python", Text: "sim = AerSimulator(method=\"matrix_product_state\")   # or \"stabilizer\", \"extended_stabilizer\", \"tensor_network\" on a GPU", Cost: "slow where entanglement is high"},
				{Fix: "half_precision", Title: "It is twice too large: single precision", Kind: "python", Text: "sim = AerSimulator(method=\"statevector\", precision=\"single\")   # 8 bytes in place of 16", Cost: "seven digits"},
			},
			Sources: []string{"qiskit-aer/src/simulators/circuit_executor.hpp", "qiskit-aer/qiskit_aer/backends/aer_simulator.py"},
		}},
		Titles: map[string]string{"fix_shape": "Fewer qubits in the circuit", "use_smaller_model": "A method that holds no full state", "half_precision": "Single precision", "lower_parallel": "One experiment at a time"},
		Costs:  map[string]string{"fix_shape": "None.", "use_smaller_model": "Slow where entanglement is high.", "half_precision": "Seven digits.", "lower_parallel": "Slower."},
		Steps: steps{
			"fix_shape":         say("Transpile for the simulator (`transpile(qc, AerSimulator())`), not for a device: idle qubits count as well."),
			"use_smaller_model": python("sim = AerSimulator(method=\"matrix_product_state\")   # little entanglement; Clifford gates only: \"stabilizer\""),
			"half_precision":    python("sim = AerSimulator(precision=\"single\")"),
			"lower_parallel":    python("sim.set_options(max_parallel_experiments=1, max_parallel_shots=1)"),
		},
		Sources: program.Sources{"qiskit-aer/qiskit_aer/backends/aer_simulator.py": "method precision max_parallel_experiments max_parallel_shots max_memory_mb blocking_enable blocking_qubits"},
	}, one(shortage{
		means:  "A state vector of n qubits is 16 x 2^n bytes (8 in single precision), a density matrix 16 x 4^n: one qubit more doubles or quadruples it. Parallel shots and experiments hold one each.",
		not:    "Fewer shots.",
		fixes:  []string{"half_precision", "use_smaller_model", "fix_shape", "lower_parallel"},
		source: "qiskit-aer/qiskit_aer/backends/aer_simulator.py",
	}), one(shortage{
		means:  "A state vector of n qubits is 16 x 2^n bytes (30: 16 GiB), a density matrix or an operator as a matrix 16 x 4^n (15: 16 GiB). `Operator(qc)`, `DensityMatrix` and `SparsePauliOp.to_matrix()` make such matrices.",
		not:    "Fewer shots, or swap.",
		fixes:  []string{"use_smaller_model", "fix_shape", "half_precision", "lower_parallel"},
		source: "qiskit-aer/qiskit_aer/backends/aer_simulator.py",
	}))

	PennyLane = of(program.Program{
		Name: "pennylane", Shown: "PennyLane", Work: "science", Edits: "code",
		Proofs: []string{"pennylane/", "pennylane_lightning", "lightning.gpu", "lightning.qubit"},
		Titles: map[string]string{"gradient_checkpointing": "Adjoint gradients", "half_precision": "Single precision", "fix_shape": "Fewer wires, no matrices", "lower_batch_size": "Fewer parameters at once"},
		Costs:  map[string]string{"gradient_checkpointing": "None as a rule; expectation values only.", "half_precision": "Seven digits.", "fix_shape": "A smaller problem.", "lower_batch_size": "Slower."},
		Steps: steps{
			"gradient_checkpointing": python("@qml.qnode(qml.device(\"lightning.qubit\", wires=n), diff_method=\"adjoint\")   # a few states in place of one for each gate\ndef circuit(x):\n    return qml.expval(qml.PauliZ(0))   # your own circuit"),
			"half_precision":         python("dev = qml.device(\"lightning.gpu\", wires=n, c_dtype=numpy.complex64)"),
			"fix_shape":              say("`wires` no higher than the circuit uses; `qml.matrix`, `qml.state` of many wires and `default.mixed` (4^n) make what is large."),
			"lower_batch_size":       say("Feed the samples in parts: a batch of inputs (broadcasting) holds one state each."),
		},
		Sources: program.Sources{"pennylane/pennylane/devices/default_qubit.py": "adjoint", "pennylane/doc/introduction/interfaces.rst": "diff_method"},
	}, one(shortage{
		means:  "A state of n wires is 16 x 2^n bytes (28: 4 GiB). With `diff_method=\"backprop\"`, the default of default.qubit, a state is kept for every gate; `lightning.gpu` keeps several.",
		not:    "Fewer shots.",
		fixes:  []string{"gradient_checkpointing", "half_precision", "lower_batch_size", "fix_shape"},
		source: "pennylane/pennylane/devices/default_qubit.py",
	}), one(shortage{
		means:  "A state of n wires is 16 x 2^n bytes (28: 4 GiB), a matrix or mixed state 16 x 4^n. With `diff_method=\"backprop\"`, the default of default.qubit, a state is kept for every gate of the circuit.",
		not:    "Fewer shots.",
		fixes:  []string{"gradient_checkpointing", "lower_batch_size", "fix_shape"},
		source: "pennylane/pennylane/devices/default_qubit.py",
	}))

	GraphCast = of(program.Program{
		Name: "graphcast", Shown: "GraphCast or GenCast", Work: "science", Edits: "code",
		Proofs: []string{"graphcast/graphcast.py", "graphcast/gencast.py", "graphcast/rollout.py", "graphcast/autoregressive.py", "graphcast/deep_typed_graph_net.py", "graphcast/denoiser.py", "graphcast/casting.py"},
		Titles: map[string]string{"use_smaller_model": "The model of 1 degree", "lower_context": "Fewer steps at once", "cpu_offload": "Steps to RAM as they are made"},
		Costs:  map[string]string{"use_smaller_model": "Detail.", "lower_context": "None for a forecast.", "cpu_offload": "A little time."},
		Steps: steps{
			"use_smaller_model": say("\"GraphCast_small\" (1 degree, 13 levels), GenCast \"1p0deg\": 8 GB of card and 21 GB of RAM (0.25 degrees: 32 and 250)."),
			"lower_context":     say("A forecast: `rollout.chunked_prediction`, one step of 6 hours at a time. Training: one target step; gradients through several keep each."),
			"cpu_offload":       say("`rollout.chunked_prediction_generator`, and each chunk written out (`.to_netcdf`) before the next."),
		},
		Sources: program.Sources{"graphcast/graphcast/rollout.py": "chunked_prediction chunked_prediction_generator", "graphcast/docs/weathernext1_gen/cloud_vm_setup.md": "GenCast"},
	}, one(shortage{
		means:  "The grid decides: 0.25 degrees are 721 x 1440 points x 37 levels, sixteen times the work of 1 degree, in one compiled program. GenCast at 0.25 degrees needs 32 GB of the card, and 8 at 1 degree.",
		not:    "JAX's share of the card alone.",
		fixes:  []string{"use_smaller_model", "lower_context", "cpu_offload", "bigger_gpu"},
		source: "graphcast/docs/weathernext1_gen/cloud_vm_setup.md",
	}), one(shortage{
		means:  "Compiling and the data of a forecast take RAM: GenCast 250 GB at 0.25 degrees and 21 at 1; all steps of a long forecast are kept until they are written.",
		not:    "A graphics card with more memory.",
		fixes:  []string{"use_smaller_model", "cpu_offload", "add_swap"},
		source: "graphcast/docs/weathernext1_gen/cloud_vm_setup.md",
	}))

	TIGRE = of(program.Program{
		Name: "tigre", Shown: "TIGRE", Work: "science", Edits: "code",
		Proofs: []string{"CBCT:CUDA:", "tigre/algorithms/", "tigre/utilities/", "tigre/demos/", "GD_TV:GPU", "Ax_mex", "Atb_mex"},
		Titles: map[string]string{"kill_stale_process": "Free the card for it", "lower_resolution": "Bin the projections, or a smaller volume", "multi_gpu": "Several cards"},
		Costs:  map[string]string{"kill_stale_process": "None.", "lower_resolution": "Resolution.", "multi_gpu": "Cards."},
		Steps: steps{
			"lower_resolution": say("`geo.nVoxel` and `geo.nDetector` halved, `geo.dVoxel` and `geo.dDetector` doubled: an eighth of the volume. Total variation (ASD-POCS, FISTA with TV) needs several copies: OS-SART or FDK need fewer."),
			"multi_gpu":        say("`gpuids = gpu.getGpuIds(); gpuids.devices = [0, 1]`, given to the algorithm (`gpuids=gpuids`): the work is divided among cards of the same kind."),
		},
		Sources: program.Sources{"TIGRE/Common/CUDA/ray_interpolated_projection.cu": "splitting", "TIGRE/Python/tigre/utilities/gpu.py": "getGpuIds devices"},
	}, one(shortage{
		means:  "TIGRE divides volume and projections into parts that fit what is free on the card, so a refusal means that something else took it in the meantime (a desktop, MATLAB's gpuArrays, another process), or a step that is not divided, such as total variation.",
		not:    "A smaller block by hand: it is chosen by itself.",
		fixes:  []string{"kill_stale_process", "lower_resolution", "multi_gpu"},
		source: "TIGRE/Common/CUDA/ray_interpolated_projection.cu",
	}), nil)
)
