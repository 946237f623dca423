package rules

import "github.com/oomdoc/oomdoc/parsers/fact"

// IDs of the causes.
const (
	ModelTooLarge         = "model_too_large"
	ContextTooLong        = "context_too_long"
	BatchTooLarge         = "batch_too_large"
	TrainingStateTooLarge = "training_state_too_large"
	Fragmentation         = "fragmentation"
	LeakedProcess         = "leaked_process"
	RetainedMemory        = "retained_memory"
	BudgetMisconfigured   = "budget_misconfigured"
	OversizedAllocation   = "oversized_allocation"
	HostMemory            = "host_memory"
	DeviceImbalance       = "device_imbalance"
	SoftwareBug           = "software_bug"
	Unknown               = "unknown"
)

// NoFigures are kinds whose message never says how much was wanted or held.
var noFigures = []fact.Kind{fact.CUDAError, fact.CUDAHandle, fact.NVMLAssert, fact.NCCLAlloc, fact.XPURuntime, fact.BitsAndBytes}
