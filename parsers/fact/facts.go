// Package fact is what can be said of a log: plain data. Parsers make it, rules
// read it, and it knows neither.
//
// [Failure] is one statement that memory ran out, with its [Kind] and
// [Figures]; [Facts] is all that a log holds. The report repeats Size, Count,
// Process, Figures and Lookalike, so these change as the report's contract
// allows; all else may change with any version.
package fact

import "strings"

// Kind says which wording a failure had: what was refused, by whom. Rules
// judge by it; each parser declares its own.
type Kind string

// Failure is one statement in a log that memory ran out.
type Failure struct {
	Kind Kind
	// Framework is the program whose message it is, by the name the report
	// uses ("pytorch", "vllm", "llama.cpp"); empty if the wording proves none.
	Framework string
	// Backend is cuda, rocm, mps, xpu, vulkan, metal, sycl, npu, tpu or cpu
	// (host memory); empty where the message does not say.
	Backend string
	// Phase is set where the wording itself proves it, else empty.
	Phase string
	// Stage is the part that was refused, where the message says so: weights,
	// kv, compute, output, pinned, graph, logits.
	Stage string
	// Memory is the kind of memory that was refused, as printed: CUDA0, CPU,
	// Vulkan_Host. Empty where the message names none.
	Memory string
	// At is the squeezed offset where the message begins, End where it ends.
	At, End       int
	Line, EndLine int
	Date          int // the day it happened, 20240725; 0 where nothing near says it
	Message       string
	Source        string // rank or process, from the prefix
	Figures       Figures
	// Wrapper marks statements that only report another failure ("Engine core
	// initialization failed", "Failed to create llama_context"): never a root
	// while a failure stands beside them.
	Wrapper bool
	// Echo marks a wrapper that any failure makes, of memory or not ("Engine core
	// initialization failed"): alone it is no incident.
	Echo bool
	// Weak marks wordings that can mean something else (a cuBLAS handle that
	// was not created, a bare "Killed").
	Weak bool
}

// Notice is something that reads like a failure and was none: the program
// recovered, or went on with less.
type Notice struct {
	ID    string
	Line  int
	Text  string
	Title string // what happened, one sentence
}

// Lookalike is something that reads like out-of-memory and is another thing.
type Lookalike struct {
	ID     string `json:"id"`
	Line   int    `json:"line"`
	Title  string `json:"title"`  // what it really is
	Advice string `json:"advice"` // the one right thing to do
	// Text is the log's own line and where it was raised, where that says what it is.
	Text string `json:"text,omitempty"`
}

// PythonException is the look-alike of a log that ends in an exception of
// Python and says nothing of memory.
const PythonException = "python_exception"

// MemoryMentioned is the look-alike of a line that speaks of memory beside an
// error, in no wording that is known as a failure.
const MemoryMentioned = "memory_mentioned"

// Mention is that look-alike for a line that says so.
func Mention(line int, said string) Lookalike {
	return Lookalike{MemoryMentioned, line, "This line speaks of memory, but in words that oomdoc does not know. It may not be what ended the program", "If the program ended there, first try what the line itself proposes, if anything. Then make the work smaller (input, batch size, context or model), and watch RAM and `nvidia-smi` while it runs", said}
}

// Setting is an argument, option or environment variable that the log shows.
type Setting struct {
	// Name is normalised: lower case, "_" for "-", no leading dashes
	// ("gpu_memory_utilization", "n_gpu_layers", "pytorch_cuda_alloc_conf").
	Name  string
	Value string
	// Words are those of the value where quotes tell them apart.
	Words []string
	Line  int
	// Flag is the spelling in the log, where it was typed ("--ctx-size"),
	// empty for derived ones.
	Flag string
	// Default is true for values a program printed without being asked.
	Default bool
}

// ModelMention is a model's name as it stands in the log.
type ModelMention struct {
	Name string // repo id, path or file name, as written
	Line int
	// Weight orders mentions: 3 an argument or load line, 2 a path of a model
	// file, 1 any other.
	Weight int
}

// Device is a card that the log describes.
type Device struct {
	Index   int // -1 unknown
	Name    string
	Backend string
	Total   *Size
	Free    *Size // before loading
	Used    *Size
	Line    int
}

// Buffer is memory that a program says it allocated or plans.
type Buffer struct {
	Device string // as printed: CUDA0, ROCm1, CPU, Vulkan_Host
	Kind   string // weights, kv, compute, output, state
	Size   Size
}

// HostMemory reports that a buffer of this name lies in system memory, pinned
// for a device or not.
func HostMemory(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "cpu") || strings.HasPrefix(name, "amx") || strings.HasPrefix(name, "hbm") || strings.HasSuffix(name, "_host")
}

// Program is evidence that a program took part.
type Program struct {
	Name string // as in the report: vllm, comfyui, transformers, deepspeed...
	Line int
	// Weight is 2 when the evidence proves that the program ran the failing
	// code (its own message, its own file in the traceback), 1 for a hint.
	Weight int
}

// Word is a text that somebody asked the parsers to look for.
type Word struct {
	Text string
	Line int
}

// Signals that name the system a log was made on.
const (
	OnLinux   = "linux"
	OnWindows = "windows_path"
	OnMac     = "mac"
	OnWSL     = "wsl"
	// InContainer: docker compose printed the lines.
	InContainer = "container"
	// InApp: a window or a page stands between the reader and the code, or Python
	// came with the program.
	InApp = "app"
)

// Signals of measures against too little memory that a run has taken already.
const (
	Checkpoints    = "has_gradient_checkpointing"
	MixedPrecision = "has_mixed_precision"
	SmallOptimizer = "has_optimizer_8bit"
	Adapters       = "has_adapters"
	Sharded        = "has_sharding"
	Trained        = "trained_parameters" // how many are: the line says
)

// Signal is evidence for a phase or an activity: "backward", "optimizer_step",
// "model_load". Line is where it stands.
type Signal struct {
	ID   string
	Line int // 0 for what was seen while it ran, and stands in no line
	Text string
}

// Stage is a line that shows how far a program had come.
type Stage struct {
	Phase string
	Line  int
	// Frame is set for a function of a traceback, which proves the phase of the
	// failure beside it; else the line only says what was going on before.
	Frame bool
	// Inner orders the frames of one traceback: the more special call says more.
	Inner int
}

// Code is a file of source code that a log names: in a traceback, or because
// somebody started it.
type Code struct {
	// File is as written, with "/" between folders.
	File, Function string
	// At is the line in the file, 0 where the log does not say; Source its text.
	At     int
	Source string
	// Args is what follows a script on the line that started it.
	Args string
	Line int
	// Own marks what the reader wrote or checked out; the rest belongs to
	// installed packages, to the language or to who built the program.
	Own bool
}

// Settings of a script by what its options mean; the flag is the script's own
// spelling.
const (
	Option        = "option_" // begins them all
	OptionBatch   = "option_batch"
	OptionSize    = "option_size"
	OptionLength  = "option_length"
	OptionSides   = "option_sides" // --height and --width, as typed
	OptionHalf    = "option_half"
	OptionWorkers = "option_workers"
)

// OwnHint names the fact that holds what a program without a parser proposes
// itself: "Try a smaller tile size". It is to be quoted, never to be pasted.
const OwnHint = "own_hint"

// Fact is a named figure that is no failure's own: "weights" of vLLM's load
// line, "model_size" of llama.cpp, "layers". One that is named like a key of
// [Figures] completes the figures of a failure that follows it.
type Fact struct {
	Name  string
	Size  *Size
	Count *Count
	Text  string
	Line  int
}

// Start names the fact that a program started: its first line.
const Start = "start"

// Facts are all that parsers found in a log, in the order of its lines.
type Facts struct {
	Failures   []Failure
	Notices    []Notice
	Lookalikes []Lookalike
	Settings   []Setting
	Models     []ModelMention
	Devices    []Device
	Buffers    []Buffer
	Processes  []Process // on cards
	Tasks      []Process // in the computer's memory when the kernel killed one
	Programs   []Program
	Words      []Word
	Talk       []Word // lines of the programs' own around the first failures
	Signals    []Signal
	Stages     []Stage
	Code       []Code
	Facts      []Fact
	Notes      []string
	Closed     []string // options that commands are shown without: they run strangers' code or open the machine
	// Unread are lines that tell of a failure and were only counted: the log says
	// so too often. Left counts those whose text is not kept.
	Unread []Unread
	Left   int
}

// Unread is a line that stands in a log Count times, the first time as Line.
type Unread struct {
	Line  int
	Text  string
	Count int
}

// Named facts of text-generation-webui.
const (
	// TextgenSince is the month that a log cannot be older than.
	TextgenSince = "textgen_since"
	// TextgenLoader is the loader that was at work.
	TextgenLoader = "textgen_loader"
)

// Proof is text that only one program prints, or a path that only its files
// have. Those of all programs are handed to the parsers.
type Proof struct {
	Word    string
	Program string
	// Hint marks a word that other programs may have too.
	Hint bool
	// Beside lists what must follow closely for the word to count; nil: nothing.
	Beside []string
	// Unit marks the name of a container or system unit: it proves the program
	// that runs in it where it stands before a failure.
	Unit bool
}
