package rules

import (
	"slices"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/array"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/program/host"
	"github.com/oomdoc/oomdoc/rules/program/server"
	"github.com/oomdoc/oomdoc/rules/program/torch"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
	"github.com/oomdoc/oomdoc/rules/program/webui"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Programs of which two families know something.
var (
	triton = program.Program{Name: "triton-server", Shown: "Triton Inference Server", Rank: 40, Proofs: []string{"tritonserver", "tritonbackend"}, Like: []*program.Program{&server.TensorRTLLM, &array.Frameworks}}
	other  = program.Program{Name: "other", Shown: "The program", Rank: 10, Like: []*program.Program{&array.Frameworks, &torch.PyTorch}}
)

// Programs returns every program, and what families share without a name. Of
// clues that weigh the same the earlier counts.
func Programs() []*program.Program {
	return []*program.Program{
		&server.VLLM, &server.SGLang, &server.TorchMemorySaver, &server.TGI, &server.TensorRTLLM, &triton, &server.LMDeploy, &server.MLC, &server.Ray,
		&ggml.LlamaCpp, &ggml.KoboldCpp, &ggml.LMStudio, &ggml.StableDiffusionCpp, &ggml.WhisperCpp, &ggml.LlamaCppPython, &ggml.NodeLlamaCpp, &ggml.Ollama,
		&webui.Textgen, &webui.ExLlama, &webui.TabbyAPI, &torch.Unsloth, &torch.LLaMAFactory, &torch.Axolotl, &torch.Transformers,
		&torch.PEFT, &torch.TRL, &torch.DeepSpeed, &torch.Accelerate, &torch.Lightning,
		&webui.ComfyUI, &webui.Fooocus, &webui.A1111, &webui.Forge, &webui.SDNext, &webui.Kohya, &webui.Diffusers, &webui.InvokeAI, &webui.FramePack,
		&array.JAX, &array.TensorFlow, &array.CuPy, &array.ONNXRuntime, &array.MLX, &array.NumPy, &array.Candle, &array.Frameworks,
		&trainer.MMDetection, &trainer.MMRotate, &trainer.MMSegmentation, &trainer.MMEngine, &trainer.Detectron2, &trainer.YOLOv5, &trainer.Ultralytics, &trainer.Timm, &trainer.DETR,
		&trainer.NNUNetV2, &trainer.NNUNetV1, &trainer.MONAI, &trainer.SegmentAnything, &trainer.NeMo, &trainer.ESPnet, &trainer.Fairseq, &trainer.PyG, &trainer.DGL,
		&trainer.GaussianSplatting, &trainer.Nerfstudio, &trainer.StyleGAN, &trainer.Fastai,
		&trainer.Torchtune, &trainer.Swift, &trainer.Megatron, &trainer.ColossalAI, &trainer.SentenceTransformers, &trainer.FlagEmbedding, &trainer.Verl, &trainer.OpenRLHF,
		&trainer.OneTrainer, &trainer.AIToolkit, &trainer.DiffusersTrain,
		&host.Host, &host.LinuxOOMKiller, &host.Kubernetes, &host.Slurm, &host.Windows, &torch.PyTorch, &other,
	}
}

// Proofs returns what proves the programs in a log, for the parsers.
func Proofs() []fact.Proof {
	var out []fact.Proof
	for _, p := range Programs() {
		out = append(out, p.Evidence()...)
	}
	return out
}

// Words returns what cards look for in a log, for the parsers.
func Words() []string {
	var out []string
	for _, p := range Programs() {
		for _, k := range p.Cards {
			out = append(append(out, k.Said...), k.Unsaid...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var byName = sync.OnceValue(func() map[string]*program.Program {
	out := map[string]*program.Program{}
	for _, p := range Programs() {
		out[p.Name] = p
	}
	return out
})

// Rank orders the programs of a stack by how much they say; named is false for
// those that a report's framework does not know.
func Rank(name string) (rank int, named bool) {
	if p := byName()[name]; p != nil && p.Rank > 0 {
		return p.Rank, true
	}
	return beforeAll, false
}

// beforeAll is the rank of apps and trainers: what a user started.
const beforeAll = 92

// Shown is how people write a program's name.
func Shown(name string) string {
	switch p := byName()[name]; {
	case name == "":
		return other.Shown
	case p == nil || p.Shown == "":
		return name
	default:
		return p.Shown
	}
}

// Spelling is how programs spell a fix, as far as it is the same for every
// case.
type Spelling struct {
	Programs []string
	Steps    []step.Step
}

// Spellings returns how each program spells a fix.
func Spellings(id string) []Spelling {
	var out []Spelling
	for _, p := range Programs() {
		if steps := p.Steps[id]; steps != nil {
			names := like(p)
			c := &ledger.Case{Facts: &fact.Facts{}, Framework: names[0], Stack: names[:1], Phase: "unknown"}
			out = append(out, Spelling{Programs: names, Steps: steps(c)})
		}
	}
	return out
}

// like are the names of a program and of those that have its entries too.
func like(p *program.Program) []string {
	names := []string{p.Name}
	for _, q := range Programs() {
		if slices.Contains(q.Like, p) {
			names = append(names, q.Name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}
