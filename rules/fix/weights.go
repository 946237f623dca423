package fix

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// ofWeights say where the weights lie, and how many bits each of them has.
var ofWeights = []Fix{
	{
		ID:       "half_precision",
		Title:    "Load the model in 16 bit",
		Tradeoff: "No visible loss for running a model; for training use mixed precision instead.",
		Cost:     cheap,
		Check:    "`print(model.dtype)` after loading says bfloat16 or float16, and `model.get_memory_footprint() / 2**30` is about 2 GiB for each billion parameters.",
		Next:     "8 or 4 bit.",
		Needs:    Needs{size: true, notFor: noNetwork},
		Told:     "Choose fp16 or bf16 in your program's settings.",
		Useless: func(c *ledger.Case) string {
			if format := ledger.Quantised(c); format != "" {
				return fmt.Sprintf("%s is already quantised (%s).", quote.Told(c.ModelName()), format)
			}
			return ledger.SetQuantised(c, "load_in_4bit", "load_in_8bit")
		},
	},
	{
		ID:       "load_in_8bit",
		Title:    "Load it in 8 bit",
		Tradeoff: "Hardly any quality; slower than 16 bit, and slower than 4 bit.",
		Cost:     moderate,
		Check:    "`model.get_memory_footprint() / 2**30` is about half of 2 GiB for each billion parameters.",
		Next:     "4 bit.",
		Needs:    Needs{works: []string{"text-inference", "text-training"}, python: true, branch: "A language model", told: "load it in 8 bit."},
		Told:     "Choose it when you load the model, if your program offers it.",
		Useless:  func(c *ledger.Case) string { return uselessBits(c, "load_in_4bit", "load_in_8bit") },
	},
	{
		ID:       "load_in_4bit",
		Title:    "Load it in 4 bit",
		Tradeoff: "Little quality; somewhat slower than 16 bit. Needs the bitsandbytes package.",
		Cost:     moderate,
		Check:    "`model.get_memory_footprint() / 2**30` is about a quarter of 2 GiB for each billion parameters; then a short generation runs.",
		Next:     "A smaller model, or `max_memory` with part of it in system memory.",
		Needs:    Needs{works: []string{"text-inference", "text-training"}, python: true, branch: "A language model", told: "load it in 4 bit."},
		Told:     "Choose it when you load the model, if your program offers it.",
		Useless:  func(c *ledger.Case) string { return uselessBits(c, "load_in_4bit") },
	},
	{
		ID:       "use_mmap",
		Title:    "Memory-map the model file (mmap)",
		Tradeoff: "Usually none; from a slow disk the first answer takes longer.",
		Cost:     free,
		Check:    CheckRAM,
		Next:     "If that is still too much, use a smaller model file.",
		Told:     "Remove any option that turns it off, and use a `.safetensors` or GGUF file.",
		Steps: func(c *ledger.Case) []step.Step {
			if c.Signal("reading_checkpoint") != nil {
				return []step.Step{{Kind: "python", Text: "state = torch.load(path, map_location=\"cpu\", mmap=True)   # PyTorch 2.1; the file must have been saved by 1.6 or later\nmodel.load_state_dict(state, assign=True)   # keeps the mapped weights instead of copying them; build the model under torch.device(\"meta\")"}}
			}
			return []step.Step{{Kind: "text", Text: "Remove `--no-mmap` and `--mlock` from the command (llama.cpp), or take the `.safetensors` file instead of `.bin`, `.ckpt` or `.pt`."}}
		},
	},
	{
		ID:       "cpu_offload",
		Title:    "Offload some layers to system memory (RAM)",
		Tradeoff: "5 to 20 times slower; needs RAM for the layers that are moved.",
		Cost:     costly,
		Check:    "`print(model.hf_device_map)` shows which layers are on `cpu`; `nvidia-smi` shows 1 to 2 GiB free after loading.",
		Next:     "Lower the limit for the GPU by 1 GiB; if most layers are on `cpu`, use a smaller model.",
		Needs:    Needs{works: generated, branch: "A language model", told: "put some of its layers into system memory (RAM)."},
		Told:     "Keep part of the model in system memory (RAM), if your program has a setting for it.",
	},
	{
		ID:       "fewer_gpu_layers",
		Title:    "Put fewer layers on the GPU",
		Tradeoff: "Slower: the layers in system memory run on the CPU.",
		Cost:     costly,
		Check:    "The log says `offloaded 20/33 layers to GPU`, and `nvidia-smi` shows room left.",
		Next:     "A smaller quantisation with all layers on the GPU is usually faster.",
		Needs:    Needs{works: []string{"text-inference"}, own: true},
		Told:     "Put fewer layers on the GPU in your program's settings: halve the number, then raise it again.",
	},
	{
		ID:       "moe_cpu_offload",
		Title:    "Keep the experts in system memory (RAM)",
		Tradeoff: "Some speed, but less than with whole layers; needs RAM for the experts.",
		Cost:     costly,
		Check:    "The log's model buffers: a large one on CPU, a small one on the GPU.",
		Next:     "Move the experts of more layers, or use a smaller quantisation.",
		Needs:    Needs{works: []string{"text-inference"}, own: true},
		Told:     "Keep the experts in system memory (RAM), if your program has a setting for it.",
	},
	{
		ID:       "multi_gpu",
		Title:    "Split the model over several GPUs",
		Tradeoff: "Needs more GPUs; copying between them costs some speed.",
		Cost:     dear,
		Check:    "`nvidia-smi` after loading: every GPU holds a part.",
		Next:     "If one GPU fills first, give it less.",
		Told:     "Split it over more GPUs, if your program can.",
	},
	{
		ID:       "lowvram_mode",
		Title:    "Start the program in its low-memory mode",
		Tradeoff: "Slower; needs RAM for the parts that wait.",
		Cost:     costly,
		Check:    "Free GPU memory stays above 1 GiB while an image is made.",
		Next:     "A lower resolution, or a quantised model (fp8, GGUF).",
		Needs:    Needs{own: true},
	},
	{
		ID:       "use_lower_quant",
		Title:    "Load a smaller quantisation of the same model",
		Tradeoff: "Some quality: hardly any down to Q5_K_M, little at Q4_K_M, visible at Q3 and Q2. Another download.",
		Cost:     moderate,
		Check:    checkLoaded,
		Next:     "A smaller model, or part of the layers in system memory.",
		Needs:    Needs{works: generated, branch: "A language model", told: "the same model at 4 or 8 bit."},
		Told:     "Load a smaller quantisation of the same model, 8 or 4 bit.",
		Steps:    stepsLowerQuant,
	},
	{
		ID:       "use_smaller_model",
		Title:    "Use a smaller model",
		Tradeoff: "Quality, depending on the task; usually more speed.",
		Cost:     costly,
		Check:    checkLoaded,
		Next:     "A smaller quantisation of it, or a GPU with more memory.",
		Needs:    Needs{notFor: noNetwork},
		Told:     "Load a smaller model, or a smaller version of this one.",
		Steps:    stepsSmallerModel,
	},
}

// uselessBits says why bitsandbytes cannot load a model in few bits, "" if it may.
func uselessBits(c *ledger.Case, settings ...string) string {
	apple := ""
	if c.Backend == "mps" && c.In("transformers") {
		apple = "bitsandbytes does not run on Apple's GPU; use a model that is already quantised (MLX, GGUF)."
	}
	return cmp.Or(ledger.SetQuantised(c, settings...), ledger.AlreadyQuantised(c), apple)
}

func stepsLowerQuant(c *ledger.Case) []step.Step {
	name := quote.Told(c.ModelName())
	if c.Model == nil {
		name = "the same model"
	}
	return []step.Step{{Kind: "text", Text: "Look for a 4-bit version of " + name + ": `Q4_K_M` (GGUF, for llama.cpp, Ollama, LM Studio), `AWQ` or `GPTQ` (for transformers and vLLM)."}}
}

func stepsSmallerModel(c *ledger.Case) []step.Step {
	language := strings.HasPrefix(c.Reader.Work, "text") || c.Reader.Work == "embedding"
	if ledger.OnCard(c) && c.In("pytorch") && (c.Training() || !language) {
		return []step.Step{{Kind: "text", Text: "Take the next smaller model of its family, or fewer layers or channels. Each parameter takes 4 bytes in 32 bit, 2 in 16 bit, and about 16 in training with Adam."}}
	}
	if t := c.F().Total; t != nil && ledger.OnCard(c) && language {
		return []step.Step{{Kind: "text", Text: fmt.Sprintf("This GPU (%s) holds at most about %d billion parameters in 4 bit, or %d in 16 bit, beside context and working memory.", t, billions(t.Bytes, 10), billions(t.Bytes, 34))}}
	}
	return []step.Step{{Kind: "text", Text: "Take the next smaller size of its family. Count 0.6 GB per billion parameters in 4 bit or 2 GB in 16 bit, plus 1 to 2 GB for context and overhead."}}
}

// billions is how many billion parameters fit into three quarters of a card
// (the rest is context and overhead), at so many sixteenths of a byte each: 10
// for 4 bit with its tail, 34 for 16 bit.
func billions(total int64, sixteenths int64) int64 { return max(total*3/4*16/sixteenths/1e9, 1) }
