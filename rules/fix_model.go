package rules

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
)

var useLowerQuant = Fix{
	ID:    "use_lower_quant",
	Title: "Load a smaller quantisation of the same model",
	Doc: paragraphs(
		"Quantisation stores each weight in fewer bits. It is the durable cure nine times in ten when the weights do not fit. A model of 7 billion parameters takes about 28 GB at 32 bit, 14 at 16 bit, 7 at Q8_0, 4.5 at Q4_K_M and 2.7 at Q2_K; 13 to 14 billion at Q4 about 9 to 10, 70 billion at Q4 40 and more. Context and overhead come on top.",
		"Q4_K_M and Q5_K_M (GGUF), AWQ and GPTQ at 4 bit (servers) are the sweet spot: hard to tell from the original in conversation. Q3 and Q2 are visibly worse; a smaller model at Q4 is often better than a larger one at Q2. Where errors are costly (medicine, law, code) do not go below Q8_0 untested.",
		"It does not help when the weights are not what fills the card: in training, with a long context, or with large images. `oomdoc fit` computes which quantisations of a model fit a card.",
	),
	Tradeoff: "Some quality: hardly any down to Q5_K_M, little at Q4_K_M, visible at Q3 and Q2. Another download.",
	Cost:     0.25,
	Check:    checkLoaded,
	Next:     "A smaller model, or part of the layers in system memory.",
	Steps:    stepsLowerQuant,
	Effect:   narrowed("use_lower_quant", inFourBit),
	Why:      whyWeights,
}

var useSmallerModel = Fix{
	ID:    "use_smaller_model",
	Title: "Use a smaller model",
	Doc: paragraphs(
		"Most families come in several sizes, and a newer small one is often better than an older large one. Count 2 GB for each billion parameters at 16 bit, 1 at 8 bit and about 0.6 at 4 bit, then add 1 to 2 GB for context and overhead. A mixture-of-experts model needs memory for *all* its parameters, not only for the active ones.",
		"On 8 GB that means 7 to 8 billion parameters at 4 bit, on 12 GB 13 to 14 billion, on 24 GB about 30 billion.",
	),
	Tradeoff: "Quality, depending on the task; usually more speed.",
	Cost:     0.35,
	Check:    checkLoaded,
	Next:     "A smaller quantisation of it, or a card with more memory.",
	Steps:    stepsSmallerModel,
	Why:      whyWeights,
}

var loadIn4Bit = Fix{
	ID:    "load_in_4bit",
	Title: "Load it in 4 bit",
	Doc: paragraphs(
		"bitsandbytes quantises the ordinary checkpoint while it is loaded: no other file is needed. With NF4 and double quantisation a linear layer takes 4.1 bits a weight, about a quarter of 16 bit; embeddings and the output layer stay at 16 bit, so small models shrink less.",
		"Pass a `BitsAndBytesConfig`. The bare `load_in_4bit=True` in `from_pretrained` was deprecated and transformers 5 no longer takes it. The compute type should be bfloat16 from NVIDIA's Ampere generation (RTX 30, A100) on, float16 on older cards.",
		"It does not help when the model is quantised already, when the checkpoint does not fit into system memory while loading, or when context and batch are what fills the card.",
	),
	Tradeoff: "Little quality; somewhat slower than 16 bit. Needs the bitsandbytes package.",
	Cost:     0.25,
	Check:    "`model.get_memory_footprint() / 2**30` is about a quarter of 2 GiB for each billion parameters; then a short generation runs.",
	Next:     "A smaller model, or `max_memory` with part of it in system memory.",
	Steps: func(c *Case) []Step {
		return []Step{{Kind: "shell", Text: "pip install -U bitsandbytes accelerate"}, fromPretrained(c,
			"config = BitsAndBytesConfig(\n    load_in_4bit=True,\n    bnb_4bit_quant_type=\"nf4\",\n    bnb_4bit_use_double_quant=True,\n    bnb_4bit_compute_dtype="+halfType(c)+",\n)\n",
			"quantization_config=config", `device_map="auto"`)}
	},
	Why:     whyQuarter,
	Effect:  narrowed("load_in_4bit", inFourBit),
	Useless: useless4bit,
}

var loadIn8Bit = Fix{
	ID:    "load_in_8bit",
	Title: "Load it in 8 bit",
	Doc: paragraphs(
		"The same as loading in 4 bit with half the saving: linear layers take 8 bits a weight, half of 16 bit. Quality is practically that of the original. 4 bit is faster and smaller, so 8 bit is for those who need the last bit of quality and have the room.",
	),
	Tradeoff: "Hardly any quality; slower than 16 bit, and slower than 4 bit.",
	Cost:     0.2,
	Check:    "`model.get_memory_footprint() / 2**30` is about half of 2 GiB for each billion parameters.",
	Next:     "4 bit.",
	Steps: func(c *Case) []Step {
		return []Step{{Kind: "shell", Text: "pip install -U bitsandbytes accelerate"}, fromPretrained(c, "", "quantization_config=BitsAndBytesConfig(load_in_8bit=True)", `device_map="auto"`)}
	},
	Effect:  narrowed("load_in_8bit", inEightBit),
	Useless: useless8bit,
}

var halfPrecision = Fix{
	ID:    "half_precision",
	Title: "Load the weights at 16 bit",
	Doc: paragraphs(
		"Without a word about precision, transformers 4 and diffusers load weights at 32 bit, twice what is needed; transformers 5 takes the checkpoint's own. Say it: `torch_dtype=`, which is called `dtype=` from transformers 4.56 on.",
		"bfloat16 from NVIDIA's Ampere generation on and on AMD and Intel; float16 on older NVIDIA cards and on Macs. It does not help where the weights are at 16 bit or quantised already.",
	),
	Tradeoff: "None that can be seen for running a model. For training use mixed precision instead.",
	Cost:     0.1,
	Check:    "`print(model.dtype)` after loading says bfloat16 or float16, and `model.get_memory_footprint() / 2**30` is about 2 GiB for each billion parameters.",
	Next:     "8 or 4 bit.",
	Steps: func(c *Case) []Step {
		return []Step{fromPretrained(c, "half = "+halfType(c)+"\n", dtypeArgument(c)+"=half", `device_map="auto"`)}
	},
	Effect:  effectHalf,
	Useless: uselessHalf,
}

var cpuOffload = Fix{
	ID:    "cpu_offload",
	Title: "Put some layers into system memory",
	Doc: paragraphs(
		"`device_map=\"auto\"` fills the card up to the limit you give and keeps the rest in system memory. Leave about 1 to 2 GiB of the card for what is computed on the way. Every token then waits for the layers that are not on the card: 5 to 20 times slower.",
		"It is a fallback for trying something out. If most of the model lands in system memory, a smaller model is the better answer. System memory must hold the rest: 2 GB for each billion parameters at 16 bit.",
	),
	Tradeoff: "5 to 20 times slower, and system memory for what is moved.",
	Cost:     0.45,
	Check:    "`print(model.hf_device_map)` shows which layers are on `cpu`; `nvidia-smi` shows 1 to 2 GiB free after loading.",
	Next:     "Lower the limit for the card by 1 GiB; if most layers are on `cpu`, use a smaller model.",
	Steps: func(c *Case) []Step {
		return []Step{fromPretrained(c, "half = "+halfType(c)+"\n", dtypeArgument(c)+"=half", `device_map="auto"`, maxMemory(c))}
	},
	Effect: effectMaxMemory,
}

var fewerGpuLayers = Fix{
	ID:    "fewer_gpu_layers",
	Title: "Put fewer layers on the GPU",
	Doc: paragraphs(
		"Programs built on llama.cpp can keep any number of layers on the card and the rest in system memory. Start with half of the layers, look at the free memory, go up. Each layer also takes its share of the KV cache with it.",
		"The option is `-ngl` in llama.cpp and `num_gpu` in Ollama: `/set parameter num_gpu 20`, `PARAMETER num_gpu 20` in a Modelfile, or `\"options\": {\"num_gpu\": 20}` in the API. An option `--gpu-layers` of `ollama run` never existed.",
	),
	Tradeoff: "Speed: the layers left in system memory run at the processor's pace.",
	Cost:     0.3,
	Check:    "The log says `offloaded 20/33 layers to GPU`, and `nvidia-smi` shows room left.",
	Next:     "A smaller quantisation with all layers on the card is usually faster.",
	Steps:    paste("shell", "llama-server -m model.gguf -ngl 20"),
}

var moeCpuOffload = Fix{
	ID:    "moe_cpu_offload",
	Title: "Keep the experts in system memory",
	Doc: paragraphs(
		"A mixture-of-experts model uses few of its experts for each token. Kept in system memory, the experts cost little speed, while attention and the KV cache stay on the card. In llama.cpp `--cpu-moe` moves all of them and `--n-cpu-moe N` those of the first N layers (August 2025 on; before that `-ot \"exps=CPU\"`).",
		"It does nothing for models without experts.",
	),
	Tradeoff: "Some speed, far less than with whole layers; system memory for the experts.",
	Cost:     0.3,
	Check:    "The log's model buffers: a large one on CPU, a small one on the card.",
	Next:     "Move the experts of more layers, or use a smaller quantisation.",
	Steps:    paste("shell", "llama-server -m model.gguf -ngl 99 --n-cpu-moe 20"),
}

var multiGpu = Fix{
	ID:    "multi_gpu",
	Title: "Spread it over more cards",
	Doc: paragraphs(
		"Weights can be split over several cards: `device_map=\"auto\"` puts whole layers on each (one card works at a time), tensor parallelism splits every layer (all work at once). Two cards of 12 GB hold a little less than one of 24: each has its own context and buffers, 0.5 to 1 GiB.",
		"Plain data parallel training does not help: every card holds a full copy.",
	),
	Tradeoff: "Another card; some speed is lost between the cards.",
	Cost:     0.6,
	Check:    "`nvidia-smi` after loading: all cards hold a share.",
	Next:     "If one card fills first, give it less.",
	Steps: func(c *Case) []Step {
		return []Step{{Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=0,1"}, fromPretrained(c, "half = "+halfType(c)+"\n", dtypeArgument(c)+"=half", `device_map="auto"`)}
	},
}

var biggerGpu = Fix{
	ID:    "bigger_gpu",
	Title: "Use a card with more memory",
	Doc: paragraphs(
		"When the model has to be that model at that precision, the card has to be larger. Renting one by the hour tells for the price of a coffee whether it is enough, before anything is bought. Plan weights + KV cache + 1 to 2 GB.",
	),
	Tradeoff: "Money.",
	Cost:     0.95,
	Check:    checkLoaded,
	Next:     "If it fails there as well, the cause is not the size of the card: look for a growing context, batch or leak.",
	Effect:   effectLargerCard,
	Steps:    stepsBiggerGPU,
}

var lowvramMode = Fix{
	ID:    "lowvram_mode",
	Title: "Start the program in its low-memory mode",
	Doc: paragraphs(
		"Image programs can keep only the part on the card that works at the moment: text encoder, then diffusion model, then decoder. AUTOMATIC1111 has `--medvram` and `--lowvram`, ComfyUI `--lowvram` and `--novram`, diffusers `enable_model_cpu_offload()`.",
		"Newer programs do it by themselves: in ComfyUI since August 2024 `--lowvram` changes little and `--reserve-vram 1` is the better first step; in Forge `--medvram` and `--lowvram` do nothing.",
	),
	Tradeoff: "Speed, and system memory for the parts that wait.",
	Cost:     0.3,
	Check:    "The free memory of the card stays above 1 GiB while an image is made.",
	Next:     "A lower resolution, or a quantised model (fp8, GGUF).",
	Steps:    paste("python", "pipe.enable_model_cpu_offload()   # instead of pipe.to(\"cuda\"); enable_sequential_cpu_offload() needs least, and is slow"),
}

var useMmap = Fix{
	ID:    "use_mmap",
	Title: "Let the file be mapped instead of copied",
	Doc: paragraphs(
		"A mapped file is read page by page as it is needed, and the pages can be dropped again; a copied one needs its whole size in system memory, sometimes twice while it is converted. llama.cpp maps unless `--no-mmap` or `--mlock` is given; safetensors files are mapped, old `.bin` and `.pt` files are copied.",
		"It lowers the need for system memory, not for the card's.",
	),
	Tradeoff: "None as a rule; a first answer can be slower from a slow disk.",
	Cost:     0.05,
	Check:    checkRAM,
	Next:     "If it is mapped and still too much, use a smaller file.",
	Steps:    stepsMmap,
}

func stepsMmap(c *Case) []Step {
	if c.Signal("reading_checkpoint") != nil {
		return []Step{{Kind: "python", Text: "state = torch.load(path, map_location=\"cpu\", mmap=True)   # PyTorch 2.1; the file must have been saved by 1.6 or later\nmodel.load_state_dict(state, assign=True)   # keeps the mapped weights instead of copying them; build the model under torch.device(\"meta\")"}}
	}
	return []Step{{Kind: "text", Text: "Remove `--no-mmap` and `--mlock` from the command (llama.cpp), or take the `.safetensors` file instead of `.bin`, `.ckpt` or `.pt`."}}
}

func stepsLowerQuant(c *Case) []Step {
	name := printable(c.ModelName())
	if c.Model == nil {
		name = "the same model"
	}
	return []Step{{Kind: "text", Text: "Look for a 4-bit version of " + name + ": `Q4_K_M` (GGUF, for llama.cpp, Ollama, LM Studio), `AWQ` or `GPTQ` (for transformers and vLLM)."}}
}

func stepsSmallerModel(c *Case) []Step {
	if t := c.F().Total; t != nil && onCard(c) {
		return []Step{{Kind: "text", Text: fmt.Sprintf("For this card (%s): at most about %d billion parameters at 4 bit, or %d at 16 bit; what is left is for context and overhead.", t.Text, billions(t.Bytes, 10), billions(t.Bytes, 34))}}
	}
	return []Step{{Kind: "text", Text: "Take the next smaller size of the family: count 0.6 GB for each billion parameters at 4 bit, 2 GB at 16 bit, and 1 to 2 GB for context and overhead."}}
}

// billions is how many billion parameters fit into three quarters of a card
// (the rest is context and overhead), at so many sixteenths of a byte each: 10
// for 4 bit with its tail, 34 for 16 bit.
func billions(total int64, sixteenths int64) int64 {
	return max(total*3/4*16/sixteenths/1e9, 1)
}

func stepsBiggerGPU(c *Case) []Step {
	f := c.F()
	if f.Requested != nil && f.Total != nil && onCard(c) {
		return []Step{{Kind: "text", Text: fmt.Sprintf("Take a card with clearly more than %s: the next sizes are 12, 16, 24, 32, 48 and 80 GB.", f.Total.Text)}}
	}
	return []Step{{Kind: "text", Text: "Take the next size of card: 12, 16, 24, 32, 48 or 80 GB; rent one for an hour first."}}
}

// maxMemory is the max_memory argument: the card's share, measured where the
// log does not say how large it is, and as much RAM as the rest needs.
func maxMemory(c *Case) string {
	ram := int64(24)
	if z, ok := sizingOf(c); ok {
		if weights, ok := z.weights(); ok {
			ram = max(ceilDiv(weights-cardShare(c), units.GiB)+2, 4)
		}
	}
	if t := c.F().Total; t != nil && onCard(c) {
		return fmt.Sprintf("max_memory={%d: \"%dGiB\", \"cpu\": \"%dGiB\"}", gpu(c), cardShare(c)/units.GiB, ram)
	}
	return fmt.Sprintf("max_memory={%d: torch.cuda.mem_get_info(%d)[0] - 3 * 2**29, \"cpu\": \"%dGiB\"}   # what is free less 1.5 GiB", gpu(c), gpu(c), ram)
}

// cardShare is how much of the card weights may take, in whole GiB: all of it
// less what others hold, and less room for the piece that failed, 1.25 GiB at
// least.
func cardShare(c *Case) int64 {
	f := c.F()
	if f.Total == nil {
		return 0
	}
	beside := units.GiB * 5 / 4
	if f.Requested != nil {
		beside = max(beside, f.Requested.Bytes+driverContext)
	}
	if c.Others.Has() && c.Others.Bytes > driverContext {
		beside += c.Others.Bytes - driverContext
	}
	return max((f.Total.Bytes-beside)/units.GiB, 1) * units.GiB
}

func whyWeights(c *Case) string {
	f := c.F()
	if !allocator(c) || f.Allocated == nil || f.Total == nil || f.Allocated.Bytes*2 < f.Total.Bytes || f.Allocated.Bytes > f.Total.Bytes {
		return ""
	}
	return fmt.Sprintf("This program alone holds %s of the %s.", f.Allocated.Text, f.Total.Text)
}

// whyQuarter: what 16-bit weights come to at 4 bit with their 16-bit tail.
func whyQuarter(c *Case) string {
	f := c.F()
	if c.Phase == "load" || c.Training() || whyWeights(c) == "" {
		return whyWeights(c)
	}
	return fmt.Sprintf("If the weights are most of the %s that it holds, they come to about %s.", f.Allocated.Text, units.Format(f.Allocated.Bytes*3/10))
}

// setQuantised says that loading in few bits was asked for already.
func setQuantised(c *Case, settings ...string) string {
	s, ok := c.Setting(settings...)
	if !ok || !strings.EqualFold(s.Value, "true") {
		return ""
	}
	return fmt.Sprintf("%s is set already (line %d).", s.Name, s.Line)
}

func useless4bit(c *Case) string {
	return firstReason(setQuantised(c, "load_in_4bit"), alreadyQuantised(c), noBitsAndBytes(c))
}

func useless8bit(c *Case) string {
	return firstReason(setQuantised(c, "load_in_4bit", "load_in_8bit"), alreadyQuantised(c), noBitsAndBytes(c))
}

func uselessHalf(c *Case) string {
	if format := quantised(c); format != "" {
		return fmt.Sprintf("%s is quantised already (%s).", printable(c.ModelName()), format)
	}
	return setQuantised(c, "load_in_4bit", "load_in_8bit")
}

func noBitsAndBytes(c *Case) string {
	if c.Backend == "mps" && c.In("transformers") {
		return "bitsandbytes does not run on Apple's GPU; take a model that is quantised already (MLX, GGUF)."
	}
	return ""
}

func firstReason(reasons ...string) string {
	for _, why := range reasons {
		if why != "" {
			return why
		}
	}
	return ""
}
