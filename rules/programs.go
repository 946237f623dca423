package rules

import (
	"slices"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps"
	"github.com/oomdoc/oomdoc/rules/program/array"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/program/build"
	"github.com/oomdoc/oomdoc/rules/program/cluster"
	"github.com/oomdoc/oomdoc/rules/program/data"
	"github.com/oomdoc/oomdoc/rules/program/engine"
	"github.com/oomdoc/oomdoc/rules/program/field"
	"github.com/oomdoc/oomdoc/rules/program/fronts"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/program/host"
	"github.com/oomdoc/oomdoc/rules/program/lab"
	"github.com/oomdoc/oomdoc/rules/program/makers"
	"github.com/oomdoc/oomdoc/rules/program/older"
	"github.com/oomdoc/oomdoc/rules/program/ollama"
	"github.com/oomdoc/oomdoc/rules/program/papers"
	"github.com/oomdoc/oomdoc/rules/program/rest"
	"github.com/oomdoc/oomdoc/rules/program/science"
	"github.com/oomdoc/oomdoc/rules/program/server"
	"github.com/oomdoc/oomdoc/rules/program/textgen"
	"github.com/oomdoc/oomdoc/rules/program/torch"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
	"github.com/oomdoc/oomdoc/rules/program/webui"
	"github.com/oomdoc/oomdoc/rules/program/webui/scripts"
)

// Programs of which two families know something.
var (
	triton = program.Program{Name: "triton-server", Edits: "flags", Language: "cpp", Shown: "Triton Inference Server", Rank: 41, Units: []string{"tritonserver"}, Proofs: []string{"tritonserver", "tritonbackend", "Failed to initialize Python stub", "creating server: Internal - failed to load all models", "onnx runtime error 6:", "onnx runtime error 1:"}, Cards: engine.TritonCards, Steps: engine.TritonSteps, Sources: engine.TritonSources, Like: []*program.Program{&array.Frameworks}}
	other  = program.Program{Name: "other", Shown: "The program", Rank: 10, Cards: apps.EngineCards, Like: []*program.Program{&array.Frameworks, &torch.PyTorch}}
)

// Programs returns every program, and what families share without a name. Of
// clues that weigh the same the earlier counts.
func Programs() []*program.Program { return slices.Clone(programs()) }

var programs = sync.OnceValue(func() []*program.Program {
	return slices.Concat([]*program.Program{
		&server.VLLM, &server.SGLang, &server.TorchMemorySaver, &engine.TGI, &engine.TensorRTLLM, &triton, &engine.LMDeploy, &cluster.MindIE, &cluster.MindSpore, &engine.MLC, &cluster.LightLLM, &host.Ray, &ggml.LlamaCpp, &fronts.KoboldCpp, &fronts.LMStudio, &fronts.StableDiffusionCpp, &fronts.WhisperCpp, &fronts.Speech, &fronts.LlamaCppPython, &fronts.NodeLlamaCpp, &ollama.Ollama, &textgen.Textgen, &textgen.ExLlama, &textgen.TabbyAPI, &torch.Unsloth, &torch.LLaMAFactory, &torch.Axolotl, &torch.Transformers,
		&torch.PEFT, &torch.TRL, &torch.DeepSpeed, &torch.Accelerate, &trainer.Lightning, &webui.ComfyUI, &webui.Fooocus, &webui.A1111, &webui.Forge, &webui.SDNext, &scripts.TiledDiffusion, &scripts.Musubi, &scripts.Kohya, &webui.Diffusers, &webui.InvokeAI, &webui.FramePack, &array.JAX, &array.TensorFlow, &array.CuPy, &array.ONNXRuntime, &array.MLX, &array.NumPy, &array.Candle, &array.Frameworks, &papers.MMF, &papers.Kraken, &science.PLMFit, &lab.HFTrainer, &lab.LMFlow, &lab.LLMStudio, &lab.RLSwarm, &lab.NeMoDiarizer,
		&rest.Burn, &textgen.KoboldAI, &scripts.MagicQuill, &scripts.LatentDiffusion}, field.All, []*program.Program{
		&science.Trinity, &science.Samtools, &science.BWA, &science.Minimap2, &science.Flye, &science.Hifiasm, &science.Diamond, &science.Salmon, &science.Bowtie2, &science.OSM2PGSQL, &science.OSRM, &science.AliceVision, &science.OpenMVS, &array.OpenPI, &science.Theano, &older.Torch7, &array.MaskRCNN, &array.GPT2, &array.DeepSpeech, &array.OpenNMT, &science.ASTRA, &host.Snakemake, &host.Nextflow, &host.Cromwell, &data.Gluten, &host.Spark, &host.YARN, &array.DeepLabCut, &data.MySQL,
		&data.Redis, &data.Elasticsearch, &data.Neo4j, &data.SQLServer, &data.PHP, &data.DuckDB, &data.Trino, &data.Doris, &data.ImageMagick, &data.Oracle, &data.VirtualMachines, &data.Heroku, &data.ArangoDB, &data.YDB, &data.Impala, &data.HAWQ, &data.BigQuery, &data.SBCL, &data.LuaJIT, &data.Emscripten, &data.Board, &data.KernelPages, &data.HomeAssistant, &build.Linker, &build.Cargo, &build.MSVC, &build.DotNet, &build.Node, &build.JVMStart, &build.Go, &build.GoBuild, &build.Bundler, &build.Maven, &build.Ruby, &build.Rsync,
	}, science.All, []*program.Program{
		&calls.Pandas, &array.Keras, &array.TorchXLA, &science.MATLAB, &rest.CuArrays, &rest.Gaudi, &rest.SplatViewer, &rest.DXVK, &science.Julia, &science.JuliaHost, &science.Octave, &science.R, &field.Hashcat, &science.OpenCV, &science.Paddle, &older.MXNet, &older.Caffe, &older.Darknet, &science.TFObjectDetection, &science.Build, &build.CMake, &data.PostgreSQL, &data.ClickHouse, &host.Docker, &host.GitHub, &host.Colab, &host.Kaggle, &host.Lambda, &host.CloudRun, &host.AWSBatch, &host.PBS, &host.LSF, &host.HTCondor, &host.WSL, &host.MacOS, &host.Gunicorn, &host.Joblib, &host.SageMaker, &host.Spaces, &host.Streamlit, &host.Render, &host.GridEngine, &host.Jetson, &host.Shell, &host.Android, &host.PageFile, &server.Aphrodite, &cluster.VLLMAscend, &cluster.VLLMGaudi, &cluster.VLLMTPU, &cluster.VLLMOmni, &cluster.NanoVLLM, &cluster.IPEXLLM, &server.Xinference, &cluster.Chatchat, &cluster.FastChat, &engine.TEI, &engine.LoRAX, &engine.VLLMRs, &engine.Infinity, &cluster.KServe, &cluster.RayServe, &server.Dynamo, &cluster.NIM, &cluster.VoxBox, &cluster.GPUStack, &cluster.OpenLLM, &cluster.LiteLLM, &cluster.OlmOCR, &cluster.Orpheus, &cluster.Exo, &cluster.Petals, &cluster.RKLLM, &engine.MistralRs, &fronts.LocalAI, &fronts.Jan, &fronts.GPT4All, &fronts.Llamafile,
		&fronts.DS4, &fronts.IkLlamaCpp, &fronts.LlamaBox, &fronts.Tabby, &fronts.ChatGLMCpp, &fronts.QwenCpp, &fronts.LLamaSharp, &fronts.OpenWebUI, &fronts.H2OGPT, &fronts.PrivateGPT, &fronts.Khoj,
	}, apps.All, trainer.All, lab.All, papers.All, makers.All, []*program.Program{
		&host.Host, &host.LinuxOOMKiller, &host.Kubernetes, &host.Slurm, &host.Windows, &torch.PyTorch, &other, &rest.First, &rest.Program,
	})
})

// Proofs returns what proves the programs in a log, for the parsers.
func Proofs() []fact.Proof {
	var out []fact.Proof
	for _, p := range programs() {
		out = append(out, p.Evidence()...)
	}
	return out
}

// Words returns what cards look for in a log, for the parsers.
func Words() []string {
	var out []string
	for _, p := range programs() {
		for _, k := range p.Cards {
			for _, word := range slices.Concat(k.Said, k.Unsaid) {
				out = append(out, program.Spelled(word)...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var byName = sync.OnceValue(func() map[string]*program.Program {
	out := map[string]*program.Program{}
	for _, p := range programs() {
		out[p.Name] = p
	}
	return out
})

// Rank orders the programs of a stack by how much they say; named is false for
// those that a report's framework does not know.
func Rank(name string) (rank int, named bool) {
	if p := byName()[name]; p != nil && p.Rank > 0 {
		return p.Rank, p.Rank < engines
	}
	return beforeAll, false
}

// beforeAll is the rank of apps and trainers: what a user started; engines that
// only apps run (Whisper) stand right below.
const engines, beforeAll = 91, 92

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
