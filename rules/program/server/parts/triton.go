package parts

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// inPod: Triton was killed in a pod, whose limit is the first thing to look at.
func inPod(c *ledger.Case) bool { return c.Says("triton-server") && c.In("kubernetes") }

// podLimit raises it. KServe takes it from the InferenceService.
var podLimit = []cause.Cure{
	{Fix: "raise_memory_limit", Title: "Raise the container's memory limit", Told: "Set it several GiB above the size of the model files. With KServe it is under the model of `spec.predictor` in the InferenceService. If this limit was the cause, `kubectl describe pod POD` says `OOMKilled`.", Kind: "config", Text: "resources:\n  requests: {memory: 8Gi}   # 8Gi: above the models' files and 3 GiB\n  limits: {memory: 8Gi}", Cost: "less room for other pods"},
	{Fix: "lower_num_workers", Title: "Or load less into one pod", Told: "All models in the folder, and all instances of each, count. In `config.pbtxt`:", Kind: "config", Text: "instance_group [ { count: 1 kind: KIND_GPU } ]", Cost: "fewer requests at once"},
	{Fix: "empty_cache", Title: "Then measure the peak, and set the limit above it", Kind: "shell", Text: "kubectl top pod --containers", Cost: "free"},
}

const podNot = "Swap or closing other programs: the pod keeps its limit."

// TritonKilled are about a Triton that was ended in a pod.
var TritonKilled = []cause.Card{
	{
		ID: "triton-server/pod-load", Kinds: []fact.Kind{fact.ShellKilled, fact.ContainerKill}, If: inPod, Said: []string{"TRITONBACKEND_ModelInitialize", "TRITONBACKEND_Initialize"}, Unsaid: []string{"Started GRPCInferenceService", "Started HTTPService"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was killed while it loaded its models: most likely the container's memory limit",
		Means:    "It was killed from outside (signal 9, exit code 137) while it loaded a backend or a model. System RAM must hold the model files while they are read, plus 1 to 3 GiB of libraries. The limit of the pod counts, not the RAM of the node.",
		Not:      podNot,
		Cures:    podLimit,
		Sources:  []string{"https://kserve.github.io/website/docs/reference/crd-api", "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/", tritonModels},
	},
	{
		ID: "triton-server/pod-start", Kinds: []fact.Kind{fact.KernelKill}, If: func(c *ledger.Case) bool {
			n := ledger.SizeOf(c.F().KilledRSS)
			return inPod(c) && n > 0 && n < 1<<30
		}, Figures: func(c *ledger.Case) map[string]string {
			return map[string]string{"held": units.Amount(ledger.SizeOf(c.F().KilledRSS))}
		},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "killed tritonserver at its container's memory limit, which is too low for it to start",
		Means:    "Linux killed tritonserver at the pod's memory limit. It used only {held} of RAM, which a Triton needs just to start; with models it needs several GiB. If you did not set that limit, a LimitRange of the namespace did (`kubectl get limitrange`).",
		Not:      podNot,
		Cures:    podLimit,
		Sources:  []string{"linux/mm/memcontrol.c", "https://kubernetes.io/docs/concepts/policy/limit-range/", tritonModels},
	},
}

// TritonRequest is a request to a model of Triton's Python backend.
var TritonRequest = cause.Card{
	ID: "triton-server/python-request", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"Failed to process the request(s) for model"}, If: ledger.FillsAlone,
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of GPU memory in `execute` of a Python model",
	Means:    "The model had loaded; its `model.py` failed on a request. It holds {mine} of {total}: weights, what PyTorch keeps from earlier requests, and this one's batch. It needed {asked} more. Each instance of a model is a separate process with its own.",
	Not:      "Ending other programs: this process fills the GPU.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Compute fewer inputs at once", Told: "`execute` gets a list of requests: run them in parts of a few inputs, under `torch.inference_mode()`. Also set a small `max_batch_size` in `config.pbtxt`:", Kind: "config", Text: "max_batch_size: 4", Cost: "lower throughput"},
		{Fix: "half_precision", Title: "Load the weights in 16 bit", Told: "In `initialize` of `model.py` use `torch_dtype=torch.float16` in `from_pretrained`, or a quantised checkpoint, if it is 32 bit now.", Cost: "hardly any quality"},
		{Fix: "lower_num_workers", Title: "Run one instance of the model", Told: "In `config.pbtxt`:", Kind: "config", Text: "instance_group [ { count: 1 kind: KIND_GPU } ]", Cost: "fewer requests at once"},
	},
	Sources: []string{"https://github.com/triton-inference-server/python_backend/blob/main/src/python_be.cc", tritonModels},
}

const tritonModels = "https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/user_guide/model_configuration.html"
