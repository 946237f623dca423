package ledger

import "slices"

// Reader is who pasted a log: what they run, what for, on which system, and
// what they can change. What the log does not show is "" or 0.
type Reader struct {
	// Program is what they started: its name, "own-script", or a library's script
	// ("transformers-script"); Repository their checkout, OWNER/NAME on GitHub.
	Program    string `json:"program,omitempty"`
	Repository string `json:"repository,omitempty"`
	// Work is text-inference, text-training, embedding, image-generation,
	// video-generation, vision, audio, graph, science, data, rendering or build.
	Work string `json:"work,omitempty"`
	// Edits is what they can change: code, flags, or admin (the machine's limits).
	Edits string `json:"edits,omitempty"`
	// OS is windows, linux, mac or wsl.
	OS string `json:"os,omitempty"`
	// Language is python, cpp, go, js, rust, java, csharp or other.
	Language string `json:"language,omitempty"`
	// Cards and Ranks are how many there are at least.
	Cards int   `json:"cards,omitempty"`
	Ranks int   `json:"ranks,omitempty"`
	Lines []int `json:"lines,omitempty"` // that prove it
}

// Writes reports that a line of a language can be put into what failed, as far
// as is known: where nothing shows what they can change, it may be.
func (r Reader) Writes(language string) bool {
	return (r.Edits == "" || r.Edits == "code") && (r.Language == "" || r.Language == language)
}

// modelWork are the trades of those who run models.
var modelWork = []string{"text-inference", "text-training", "embedding", "image-generation", "video-generation", "vision", "audio", "graph"}

// RunsModels: something in the log is about AI, so that advice on models may be
// of use.
func RunsModels(c *Case) bool {
	return c.Model != nil || slices.Contains(modelWork, c.Reader.Work) || c.Says("pytorch", "tensorflow", "jax", "mlx", "onnxruntime", "llama.cpp")
}
