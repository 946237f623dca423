package field

import (
	"regexp"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/when"
)

// aerSizes are what a circuit requires and what Aer may use, in MB.
var aerSizes = regexp.MustCompile(`(?i)required memory: (\d{1,18})M, max memory: (\d{1,18})M`)

// halfTooMuch: single precision is more than Aer may use as well.
func halfTooMuch(c *ledger.Case) bool {
	m := aerSizes.FindStringSubmatch(c.Failure.Message)
	if m == nil {
		return false
	}
	need, _ := ledger.Whole(m[1])
	have, _ := ledger.Whole(m[2])
	return need/2 > have
}

// Simulators of circuits, scanners and weather.
var (
	QiskitAer = of(program.Program{
		Name: "qiskit-aer", Shown: "Qiskit Aer", Work: "science", Edits: "code",
		Proofs: []string{"qiskit_aer/", "qiskit/providers/aer/", "AerError", "Insufficient memory to run circuit", "aersimulator"},
		Cards: []cause.Card{{
			ID: "qiskit-aer/circuit", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainHost, fact.NativeAlloc, fact.PlainDevice, fact.DeviceAlloc}, Said: []string{"Insufficient memory to run circuit"},
			Cause: cause.OversizedAllocation, Weight: cause.Decisive,
			Headline: "refused the circuit: it needs more memory than Aer may use",
			Means:    "A state vector of n qubits takes 16 x 2^n bytes: 30 qubits take 16 GiB, and each one more doubles it. A density matrix or unitary takes 16 x 4^n. Aer compares that (\"Required memory\", in MB) with \"max memory\" before it starts. Idle qubits count too: a circuit transpiled for a device with 127 qubits has 127.",
			Not:      "Fewer shots.",
			Cures: []cause.Cure{
				{Fix: "fix_shape", Title: "Transpile for the simulator, not for the device", Told: "The circuit then keeps its own number of qubits. From a device you need only the noise model:", Kind: "python", Text: "sim = AerSimulator()   # with noise: AerSimulator(noise_model=NoiseModel.from_backend(device))\nqc = transpile(qc, sim)", Cost: "free"},
				{Fix: "use_smaller_model", Title: "Use a method without a full state", Told: "For little entanglement use the matrix product state, for Clifford gates only the stabilizer method (hundreds of qubits).", Kind: "python", Text: "sim = AerSimulator(method=\"matrix_product_state\")   # or \"stabilizer\", \"extended_stabilizer\", \"tensor_network\" on a GPU", Cost: "slow if entanglement is high"},
				{Fix: "half_precision", If: when.Not(halfTooMuch), Title: "Compute in single precision (half the memory)", Kind: "python", Text: "sim = AerSimulator(method=\"statevector\", precision=\"single\")   # 8 bytes instead of 16", Cost: "seven digits of precision"},
			},
			Sources: []string{"qiskit-aer/src/simulators/circuit_executor.hpp", "qiskit-aer/qiskit_aer/backends/aer_simulator.py"},
		}},
		Titles: map[string]string{"fix_shape": "Use fewer qubits", "use_smaller_model": "Use a method without a full state (method=)", "half_precision": "Compute in single precision", "lower_parallel": "Run one experiment at a time"},
		Costs:  map[string]string{"fix_shape": "None.", "use_smaller_model": "Slow where entanglement is high.", "half_precision": "Seven digits of precision.", "lower_parallel": "Slower."},
		Useless: map[string]func(*ledger.Case) string{"half_precision": func(c *ledger.Case) string {
			if halfTooMuch(c) {
				return "Half of the required memory is still more than Aer may use."
			}
			return ""
		}},
		Steps: steps{
			"fix_shape":         say("Transpile for the simulator (`transpile(qc, AerSimulator())`), not for a device: idle qubits count, too."),
			"use_smaller_model": python("sim = AerSimulator(method=\"matrix_product_state\")   # little entanglement; Clifford gates only: \"stabilizer\""),
			"half_precision":    python("sim = AerSimulator(precision=\"single\")"),
			"lower_parallel":    python("sim.set_options(max_parallel_experiments=1, max_parallel_shots=1)"),
		},
		Sources: program.Sources{"qiskit-aer/qiskit_aer/backends/aer_simulator.py": "method precision max_parallel_experiments max_parallel_shots max_memory_mb blocking_enable blocking_qubits"},
	}, one(shortage{
		means:  "A state vector of n qubits takes 16 x 2^n bytes (8 in single precision), a density matrix 16 x 4^n. One more qubit doubles or quadruples it. Each parallel shot or experiment has its own.",
		fixes:  []string{"half_precision", "use_smaller_model", "fix_shape", "lower_parallel"},
		source: "qiskit-aer/qiskit_aer/backends/aer_simulator.py",
	}), one(shortage{
		means:  "A state vector of n qubits takes 16 x 2^n bytes (30 qubits: 16 GiB). A density matrix or an operator as a matrix takes 16 x 4^n (15 qubits: 16 GiB). `Operator(qc)`, `DensityMatrix` and `SparsePauliOp.to_matrix()` create such matrices.",
		fixes:  []string{"use_smaller_model", "fix_shape", "half_precision", "lower_parallel"},
		source: "qiskit-aer/qiskit_aer/backends/aer_simulator.py",
	}))

	PennyLane = of(program.Program{
		Name: "pennylane", Shown: "PennyLane", Work: "science", Edits: "code",
		Proofs: []string{"pennylane/", "pennylane_lightning", "lightning.gpu", "lightning.qubit"},
		Titles: map[string]string{"gradient_checkpointing": "Use adjoint gradients (diff_method=\"adjoint\")", "half_precision": "Compute in single precision", "fix_shape": "Use fewer wires and no matrices", "lower_batch_size": "Feed fewer samples at once"},
		Costs:  map[string]string{"gradient_checkpointing": "Works for expectation values only.", "half_precision": "Seven digits of precision.", "fix_shape": "A smaller problem.", "lower_batch_size": "Slower."},
		Steps: steps{
			"gradient_checkpointing": python("@qml.qnode(qml.device(\"lightning.qubit\", wires=n), diff_method=\"adjoint\")   # a few states instead of one per gate\ndef circuit(x):\n    return qml.expval(qml.PauliZ(0))   # your own circuit"),
			"half_precision":         python("dev = qml.device(\"lightning.gpu\", wires=n, c_dtype=numpy.complex64)"),
			"fix_shape":              say("Set `wires` no higher than the circuit uses. Avoid `qml.matrix`, `qml.state` of many wires and `default.mixed` (4^n): they create large arrays."),
			"lower_batch_size":       say("Pass the samples in parts: each input of a batch (broadcasting) has its own state."),
		},
		Sources: program.Sources{"pennylane/pennylane/devices/default_qubit.py": "adjoint", "pennylane/doc/introduction/interfaces.rst": "diff_method"},
	}, one(shortage{
		means:  "A state of n wires takes 16 x 2^n bytes (28 wires: 4 GiB). With `diff_method=\"backprop\"`, the default of default.qubit, a state is kept for every gate. `lightning.gpu` keeps several.",
		fixes:  []string{"gradient_checkpointing", "half_precision", "lower_batch_size", "fix_shape"},
		source: "pennylane/pennylane/devices/default_qubit.py",
	}), one(shortage{
		means:  "A state of n wires takes 16 x 2^n bytes (28 wires: 4 GiB), a matrix or mixed state 16 x 4^n. With `diff_method=\"backprop\"`, the default of default.qubit, a state is kept for every gate.",
		fixes:  []string{"gradient_checkpointing", "lower_batch_size", "fix_shape"},
		source: "pennylane/pennylane/devices/default_qubit.py",
	}))

	GraphCast = of(program.Program{
		Name: "graphcast", Shown: "GraphCast or GenCast", Work: "science", Edits: "code",
		Proofs: []string{"graphcast/graphcast.py", "graphcast/gencast.py", "graphcast/rollout.py", "graphcast/autoregressive.py", "graphcast/deep_typed_graph_net.py", "graphcast/denoiser.py", "graphcast/casting.py"},
		Titles: map[string]string{"use_smaller_model": "Use the 1 degree model", "lower_context": "Forecast fewer steps at once", "cpu_offload": "Write each chunk out as it is made"},
		Costs:  map[string]string{"use_smaller_model": "Less detail.", "lower_context": "No loss for a forecast.", "cpu_offload": "A little time."},
		Steps: steps{
			"use_smaller_model": say("Use \"GraphCast_small\" (1 degree, 13 levels), or GenCast \"1p0deg\": it needs 8 GB of GPU memory and 21 GB of RAM (0.25 degrees: 32 and 250)."),
			"lower_context":     say("For a forecast use `rollout.chunked_prediction`, one step of 6 hours at a time. In training use one target step: gradients through several keep each of them."),
			"cpu_offload":       say("Use `rollout.chunked_prediction_generator`, and write each chunk out (`.to_netcdf`) before the next."),
		},
		Sources: program.Sources{"graphcast/weathernext/utils/rollout.py": "chunked_prediction chunked_prediction_generator", "graphcast/docs/weathernext1_gen/cloud_vm_setup.md": "GenCast"},
	}, one(shortage{
		means:  "The grid decides: 0.25 degrees means 721 x 1440 points x 37 levels, sixteen times as many points as 1 degree. GenCast needs 32 GB of GPU memory at 0.25 degrees, and 8 GB at 1 degree.",
		fixes:  []string{"use_smaller_model", "lower_context", "cpu_offload", "bigger_gpu"},
		source: "graphcast/docs/weathernext1_gen/cloud_vm_setup.md",
	}), one(shortage{
		means:  "Compiling and the data of a forecast need RAM: for GenCast 250 GB at 0.25 degrees and 21 GB at 1 degree. All steps of a forecast stay in RAM until they are written.",
		fixes:  []string{"use_smaller_model", "cpu_offload", "add_swap"},
		source: "graphcast/docs/weathernext1_gen/cloud_vm_setup.md",
	}))

	TIGRE = of(program.Program{
		Name: "tigre", Shown: "TIGRE", Work: "science", Edits: "code",
		Proofs: []string{"CBCT:CUDA:", "tigre/algorithms/", "tigre/utilities/", "tigre/demos/", "GD_TV:GPU", "Ax_mex", "Atb_mex"},
		Titles: map[string]string{"kill_stale_process": "Free the card", "lower_resolution": "Bin the projections, or use a smaller volume", "multi_gpu": "Use several cards"},
		Costs:  map[string]string{"kill_stale_process": "None.", "lower_resolution": "Lower resolution.", "multi_gpu": "Needs more cards."},
		Steps: steps{
			"lower_resolution": say("Halve `geo.nVoxel` and `geo.nDetector`, and double `geo.dVoxel` and `geo.dDetector`: the volume then takes an eighth. Total variation (ASD-POCS, FISTA with TV) needs several copies; OS-SART or FDK need fewer."),
			"multi_gpu":        say("Pass `gpuids = gpu.getGpuIds(); gpuids.devices = [0, 1]` to the algorithm (`gpuids=gpuids`). The work is divided among cards of the same kind."),
		},
		Sources: program.Sources{"TIGRE/Common/CUDA/ray_interpolated_projection.cu": "splitting", "TIGRE/Python/tigre/utilities/gpu.py": "getGpuIds devices"},
	}, one(shortage{
		also:   plainMemory,
		means:  "TIGRE divides volume and projections into parts that fit into the free GPU memory. It can still fail if something else takes memory meanwhile (the desktop, MATLAB's gpuArrays, another process), or in a step that it does not divide, such as total variation.",
		fixes:  []string{"kill_stale_process", "lower_resolution", "multi_gpu"},
		source: "TIGRE/Common/CUDA/ray_interpolated_projection.cu",
	}), nil)
)
