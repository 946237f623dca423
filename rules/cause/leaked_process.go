package cause

import "github.com/oomdoc/oomdoc/rules/ledger"

var leakedProcess = Rule{
	ID:      LeakedProcess,
	Title:   "Other programs hold the memory that is missing",
	Settles: "Run `nvidia-smi` and look for processes that should not be there.",
	Remedies: []Remedy{
		{Fix: "kill_stale_process", Fit: Cures},
		{Fix: "select_gpu", Fit: Helps},
		{Fix: "limit_framework_preallocation", Fit: MayHelp, If: ledger.Preallocates},
		{Fix: "restart_session", Fit: MayHelp},
		{Fix: "close_other_apps", Fit: LastResort},
	},
}
