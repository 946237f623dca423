package array

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Most who paste a bare message of ONNX Runtime use an app that has it inside, and
// cannot write a line of code: face swappers, upscalers, OCR and voice programs.

// codesONNX: a line of the reader's own code stands in the traceback, or the
// log is a server's.
func codesONNX(c *ledger.Case) bool {
	return c.Reader.Edits == "code" && ledger.OwnFrame(c) != nil || served(c)
}

// onlyCode is a cure for those who write code, last for the others.
func onlyCode(cure cause.Cure) cause.Cure {
	cure.If = codesONNX
	return cure
}

// endApp is how a program is ended and what else to look at, on this system.
func endApp(c *ledger.Case) []step.Step {
	windows := "Task Manager, Performance, shows which is nearly full: \"Dedicated GPU memory\" (GPU) or \"Committed\" (Memory). Close browsers, games and other AI programs."
	linux := "`nvidia-smi` and `free -h` show what is full before the start."
	text := "Windows: " + windows + " Linux: " + linux + " Colab: Runtime, Restart session."
	switch {
	case onColab(c):
		text = "Runtime, Restart session; then run only the cells that start it."
	case c.Windows():
		text = windows
	case c.Reader.OS == "linux":
		text = linux + " In Colab: Runtime, Restart session."
	}
	return []step.Step{{Kind: "text", Text: text}}
}

// builtElsewhere says whose path stands in the message of the builds for Windows.
func builtElsewhere(c *ledger.Case) map[string]string {
	if c.Contains(`d:\a\_work\`) {
		return map[string]string{"built": "The path `D:\\a\\_work` is that of the machine which built ONNX Runtime, not yours."}
	}
	return map[string]string{"built": ""}
}

// onColab: Colab keeps what it runs in a folder of its own.
func onColab(c *ledger.Case) bool { return c.Near("/content/") || c.In("colab") }

var (
	// restartApp is for the users of an app: what it held before is free then, and
	// what stays is somebody else's.
	restartApp   = cause.Cure{Fix: "restart_session", If: when.Not(codesONNX), Title: "Close the program, free memory, start it again", Steps: endApp, Cost: "free"}
	fewerThreads = cause.Cure{Fix: "lower_parallel", If: when.Not(codesONNX), Title: "Set the app's threads to 1", Told: "Each thread or worker holds its own data. Look for threads, workers or streams in the app's settings.", Cost: "slower"}
	moreRAM      = cause.Cure{Fix: "raise_memory_limit", If: onColab, Title: "Choose a runtime with more RAM", Told: "Runtime, Change runtime type: High-RAM (paid). Colab's resource panel shows how full RAM is.", Cost: "money"}
	noCopies     = cause.Cure{Fix: "use_mmap", Title: "Load the model without extra copies", Told: "Turn off graph optimization, prepacking and the CPU arena:", Cost: "slower runs", Kind: "python", Text: "so = onnxruntime.SessionOptions()\nso.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL\nso.add_session_config_entry(\"session.disable_prepacking\", \"1\")\nso.enable_cpu_mem_arena = False\nsession = onnxruntime.InferenceSession(path, so)"}
)
