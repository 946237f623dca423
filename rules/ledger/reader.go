package ledger

// Reader is who pasted a log: what they run, what for, on which system, and
// what they can change. What the log does not show is "" or 0.
type Reader struct {
	// Program is what they started, and whose settings are theirs: a program's
	// name, "own-script", or a library's script ("transformers-script").
	Program string `json:"program,omitempty"`
	// Work is text-inference, text-training, embedding, image-generation,
	// video-generation, vision, audio, graph, science, data, rendering or build.
	Work string `json:"work,omitempty"`
	// Edits is what they can change: code, flags, or admin for limits of the
	// machine alone.
	Edits string `json:"edits,omitempty"`
	// OS is windows, linux, mac or wsl.
	OS string `json:"os,omitempty"`
	// Language is python, cpp, go, js, rust, java, csharp or other.
	Language string `json:"language,omitempty"`
	// Cards and Ranks are how many there are at least.
	Cards int `json:"cards,omitempty"`
	Ranks int `json:"ranks,omitempty"`
	// Lines prove it.
	Lines []int `json:"lines,omitempty"`
}

// OnWindows reports that a page file stands for swap, and set for export.
func (r Reader) OnWindows() bool { return r.OS == "windows" }

// WritesPython reports that a line of Python can be put into what failed.
func (r Reader) WritesPython() bool { return r.Edits == "code" && r.Language == "python" }

// Many reports that several cards or ranks work together.
func (r Reader) Many() bool { return r.Cards > 1 || r.Ranks > 1 }
