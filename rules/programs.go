package rules

import (
	"slices"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps"
	"github.com/oomdoc/oomdoc/rules/program/array"
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
	"github.com/oomdoc/oomdoc/rules/program/ollama"
	"github.com/oomdoc/oomdoc/rules/program/papers"
	"github.com/oomdoc/oomdoc/rules/program/rest"
	"github.com/oomdoc/oomdoc/rules/program/science"
	"github.com/oomdoc/oomdoc/rules/program/server"
	"github.com/oomdoc/oomdoc/rules/program/textgen"
	"github.com/oomdoc/oomdoc/rules/program/torch"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
	"github.com/oomdoc/oomdoc/rules/program/webui"
)

// Programs of which two families know something.
var (
	triton = program.Program{Name: "triton-server", Edits: "flags", Language: "cpp", Shown: "Triton Inference Server", Rank: 40, Units: []string{"tritonserver"}, Proofs: []string{"tritonserver", "tritonbackend", "onnx runtime error 6:", "onnx runtime error 1:"}, Cards: engine.TritonCards, Steps: engine.TritonSteps, Sources: engine.TritonSources, Like: []*program.Program{&array.Frameworks}}
	other  = program.Program{Name: "other", Shown: "The program", Rank: 10, Cards: apps.EngineCards, Like: []*program.Program{&array.Frameworks, &torch.PyTorch}}
)

// Programs returns every program, and what families share without a name. Of
// clues that weigh the same the earlier counts.
func Programs() []*program.Program { return slices.Clone(programs()) }

var programs = sync.OnceValue(func() []*program.Program {
	return []*program.Program{
		&server.VLLM, &server.SGLang, &server.TorchMemorySaver, &engine.TGI, &engine.TensorRTLLM, &triton, &engine.LMDeploy, &engine.MLC, &engine.LightLLM, &host.Ray, &ggml.LlamaCpp, &fronts.KoboldCpp, &fronts.LMStudio, &fronts.StableDiffusionCpp, &fronts.WhisperCpp, &fronts.Speech, &fronts.LlamaCppPython, &fronts.NodeLlamaCpp, &ollama.Ollama, &textgen.Textgen, &textgen.ExLlama, &textgen.TabbyAPI, &torch.Unsloth, &torch.LLaMAFactory, &torch.Axolotl, &torch.Transformers, &torch.PEFT, &torch.TRL, &torch.DeepSpeed, &torch.Accelerate, &trainer.Lightning, &webui.ComfyUI, &webui.Fooocus, &webui.A1111, &webui.Forge, &webui.SDNext, &webui.Kohya, &webui.Diffusers, &webui.InvokeAI, &webui.FramePack, &array.JAX, &array.TensorFlow, &array.CuPy, &array.ONNXRuntime, &array.MLX, &array.NumPy, &array.Candle, &array.Frameworks, &trainer.MMF, &trainer.Kraken, &science.PLMFit, &torch.HFTrainer, &torch.LMFlow, &torch.LLMStudio, &torch.RLSwarm, &array.Burn, &webui.MagicQuill, &webui.LatentDiffusion,
		&field.Cellpose, &field.StarDist, &field.SLEAP, &field.Kilosort, &field.Suite2p, &field.CaImAn, &field.TotalSegmentator, &field.SynthSeg, &field.FMRIPrep, &field.ESM, &field.ProteinMPNN, &field.RFdiffusion, &field.OmegaFold, &field.Protenix, &field.DiffDock, &field.ModelAngelo, &field.CryoDRGN, &field.Topaz, &field.ScVI, &field.ScGPT, &field.Basecaller, &field.MACE, &field.NequIP, &field.CHGNet, &field.FairChem, &field.TorchMDNet, &field.SchNetPack, &field.Chemprop, &field.GPUMD, &field.PySCF, &field.QiskitAer, &field.PennyLane, &field.GraphCast, &field.TIGRE, &field.CleanRL, &field.Tianshou, &field.Dreamer, &field.MuZero, &field.LeggedGym, &field.RLGames, &field.TimeSeriesLibrary, &field.Darts, &field.NeuralForecast, &field.PyTorchForecasting, &field.GluonTS, &field.TabPFN, &field.AutoGluon, &field.RecBole, &field.PyKEEN, &field.DLRM, &field.TorchRec, &field.UMAP, &field.HDBSCAN, &field.Gensim, &field.FastText, &field.GraphStorm, &field.VASP, &field.QuantumESPRESSO, &field.CP2K, &field.OpenFOAM, &field.ITK, &field.PCL, &field.CellRanger, &field.DeepVariant, &field.Celery, &field.Airflow, &field.RabbitMQ, &field.Polars, &field.Xarray, &field.Rasterio, &field.Miner, &field.John, &science.Trinity, &science.Samtools, &science.BWA, &science.Minimap2, &science.Flye, &science.Hifiasm, &science.Diamond, &science.Salmon, &science.Bowtie2, &science.OSM2PGSQL, &science.OSRM, &science.AliceVision, &science.OpenMVS,
		&array.OpenPI, &science.Theano, &science.Torch7, &array.MaskRCNN, &array.GPT2, &array.DeepSpeech, &array.OpenNMT, &science.ASTRA, &host.Snakemake, &host.Nextflow, &data.Gluten, &host.Spark, &host.YARN, &array.DeepLabCut, &data.MySQL, &data.Redis, &data.Elasticsearch, &data.Neo4j, &data.SQLServer, &data.PHP, &data.DuckDB, &data.Trino, &data.Doris, &data.ImageMagick, &data.Oracle, &data.VirtualMachines, &data.Heroku, &build.Linker, &build.MSVC, &build.DotNet, &build.Node, &build.JVMStart, &build.Go, &science.DXVK, &science.STAR, &science.SPAdes, &science.Kraken, &science.Gaussian, &science.ORCA, &science.LAMMPS, &science.Solver, &science.AfterEffects, &science.Stata, &science.BuildKit, &science.CatBoost, &science.Dynamics, &science.Renderers, &science.OpenCLPictures,
		&science.RELION, &science.CryoSPARC, &science.MotionCor, &science.FastSurfer, &science.COLMAP, &science.Metashape, &science.AlphaFold, &science.AlphaFold3, &science.ColabFold, &science.Boltz, &science.Chai, &science.OpenFold, &science.RoseTTAFold, &science.GROMACS, &science.OpenMM, &science.DeePMD, &science.Isaac, &science.MJX, &science.Blender, &science.Redshift, &science.Octane, &science.Unreal, &science.Unity, &science.Direct3D, &science.WGPU, &science.Ryujinx, &science.FFmpeg, &science.Minecraft, &science.Java, &science.XGBoost, &science.LightGBM, &science.RAPIDS, &science.FAISS, &science.SparkRAPIDS, &science.Numba, &science.Dask, &science.Scanpy, &science.Modin, &science.OpenDroneMap, &array.Pandas, &array.Keras,
		&science.MATLAB, &science.Julia, &science.JuliaHost, &science.Octave, &science.R, &science.Hashcat, &science.OpenCV, &science.Paddle, &science.MXNet, &science.Caffe, &science.Darknet, &science.TFObjectDetection, &science.Build, &host.PostgreSQL, &host.ClickHouse, &host.Docker, &host.GitHub, &host.Colab, &host.Kaggle, &host.Lambda, &host.CloudRun, &host.AWSBatch, &host.PBS, &host.LSF, &host.HTCondor, &host.WSL, &host.MacOS, &host.PageFile, &server.Aphrodite, &server.VLLMAscend, &server.VLLMGaudi, &server.VLLMTPU, &server.VLLMOmni, &engine.NanoVLLM, &server.IPEXLLM, &server.Xinference, &engine.FastChat, &engine.TEI, &engine.Infinity,
		&cluster.KServe, &cluster.RayServe, &server.Dynamo, &cluster.NIM, &cluster.GPUStack, &cluster.OpenLLM, &engine.LiteLLM, &engine.Exo, &engine.Petals, &engine.RKLLM, &engine.MistralRs, &fronts.LocalAI, &fronts.Jan, &fronts.GPT4All, &fronts.Llamafile, &fronts.IkLlamaCpp, &fronts.LlamaBox, &fronts.Tabby, &fronts.ChatGLMCpp, &fronts.QwenCpp, &fronts.LLamaSharp, &apps.WhisperX, &apps.WhisperASR, &apps.InsanelyFast, &apps.WhisperCTranslate2, &apps.FasterWhisper, &apps.Whisper, &apps.CoquiTTS, &apps.Bark, &apps.RVC, &apps.SoVITS, &apps.GPTSoVITS, &apps.F5TTS, &apps.FishSpeech, &apps.ACEStep, &apps.CosyVoice, &apps.IndexTTS, &apps.ChatTTS, &apps.VibeVoice, &apps.Chatterbox, &apps.Zonos, &apps.Tacotron2, &apps.VITS, &apps.StyleTTS2, &apps.Tortoise, &apps.MeloTTS, &apps.StableAudioTools, &apps.DiffSinger, &apps.VoiceCraft, &apps.Amphion, &apps.ParlerTTS, &apps.Dia, &apps.Moshi, &apps.UVR, &apps.Spleeter, &apps.OpenVoice, &apps.SparkTTS, &apps.Nougat, &apps.Surya, &apps.Marker, &apps.Docling, &apps.MinerU, &apps.EasyOCR, &apps.DocTR, &apps.AudioCraft, &apps.Demucs,
		&apps.Wan2GP, &apps.Wan, &apps.HunyuanVideo, &apps.CogVideo, &apps.OmniGen, &apps.EasyDiffusion, &apps.SwarmUI, &apps.Deforum, &apps.Dreambooth, &apps.EveryDream, &makers.SadTalker, &makers.SUPIR, &makers.Hunyuan3D, &makers.ChaiNNer, &apps.InpaintAnything, &apps.RealESRGAN, &makers.GFPGAN, &makers.CodeFormer, &apps.FaceFusion, &apps.Roop, &apps.DeepFaceLab, &fronts.OpenWebUI, &fronts.H2OGPT, &fronts.PrivateGPT, &fronts.Khoj, &trainer.MMRotate, &trainer.MMDetection, &trainer.MMSegmentation, &trainer.MMEngine, &trainer.Detectron2, &trainer.YOLOv5, &trainer.Ultralytics, &trainer.Timm, &trainer.DETR, &trainer.BiaPy, &trainer.YOLOX, &trainer.BasicSR, &trainer.NeRFPyTorch, &trainer.RAFT, &trainer.OpenCLIP, &trainer.GuidedDiffusion, &trainer.CycleGAN, &trainer.SlowFast, &trainer.NNUNetV2, &trainer.NNUNetV1, &trainer.MONAI, &trainer.SegmentAnything, &trainer.NeMo, &trainer.ESPnet, &trainer.Fairseq, &trainer.PyG, &trainer.DGL, &trainer.GaussianSplatting, &trainer.Nerfstudio, &trainer.StyleGAN, &trainer.Fastai, &trainer.SparseConv, &trainer.StableBaselines,
		&lab.NanoGPT, &lab.LitGPT, &lab.GPTNeoX, &lab.LLMFoundry, &lab.Composer, &lab.StanfordAlpaca, &lab.AlpacaLoRA, &lab.QLoRA, &lab.ChatGLM, &lab.XTuner, &lab.AlignmentHandbook, &lab.DeepSpeedChat, &lab.AutoTrain, &lab.EasyR1, &lab.Slime, &lab.TRLX, &lab.LMEval, &lab.OpenCompass, &lab.LightEval, &lab.MTEB, &lab.GPTQModel, &lab.AutoGPTQ, &lab.AutoAWQ, &lab.LLMCompressor, &lab.Mergekit, &lab.LLaVA, &lab.InternVL, &lab.QwenVL, &lab.MiniGPT4, &lab.LAVIS, &lab.SimpleTransformers, &lab.BERTopic, &lab.Flair, &lab.SpaCy, &lab.AllenNLP, &lab.ColBERT, &lab.OpenNMTPy, &lab.Marian, &lab.Tensor2Tensor, &lab.Icefall, &lab.SpeechBrain, &lab.WeNet, &lab.FunASR, &lab.Pyannote, &lab.Kaldi, &lab.RETURNN, &lab.Seamless, &lab.MetaLlama, &lab.KTransformers, &lab.AirLLM, &lab.OptimumIntel, &trainer.Torchtune, &trainer.Swift, &trainer.Megatron, &trainer.ColossalAI, &trainer.SentenceTransformers, &trainer.FlagEmbedding, &trainer.Verl, &trainer.OpenRLHF, &trainer.OneTrainer, &trainer.AIToolkit, &trainer.DiffusersTrain,
		&papers.MaskRCNNBenchmark, &papers.EfficientDetPyTorch, &papers.Effdet, &papers.CenterNet, &papers.YOLACT, &papers.PyTorchYOLOv3, &papers.YOLOv7, &papers.YOLOv6, &papers.PaddleDetection, &papers.PaddleSeg, &papers.GroundingDINO, &papers.SwinTransformer, &papers.ConvNeXt, &papers.MAE, &papers.VideoMAE, &papers.DINOv2, &papers.BLIP, &papers.MMAction2, &papers.MMPose, &papers.SMP, &papers.SemanticSegmentation, &papers.HRNetSegmentation, &papers.OpenPCDet, &papers.Pointcept, &papers.DepthAnything, &papers.BiRefNet, &papers.Restormer, &papers.SwinIR, &papers.KAIR, &papers.Pix2PixHD, &papers.SPADE, &papers.CUT, &papers.DALLEPytorch, &papers.InstantNGP, &papers.TorchNGP, &papers.Neuralangelo, &papers.SDFStudio, &papers.Threestudio, &papers.NeuS, &papers.TensoRF, &papers.Nvdiffrec, &papers.DUSt3R, &papers.MASt3R, &papers.VGGT, &papers.DROIDSLAM,
		&makers.TRELLIS, &makers.InstantMesh, &makers.TripoSR, &makers.PIFuHD, &makers.AlphaPose, &makers.OpenPose, &makers.RIFE, &makers.DiffBIR, &makers.StableSR, &makers.IOPaint, &makers.Rembg, &makers.Marigold, &makers.DeOldify, &makers.NeuralStyle, &makers.NcnnUpscalers, &makers.FLUX, &makers.GenerativeModels, &makers.DeepFloyd, &makers.PixArt, &makers.AnimateDiff, &makers.OpenSora, &makers.Mochi, &makers.LTXVideo, &makers.SkyReels, &makers.DynamiCrafter, &makers.HunyuanDiT, &makers.LivePortrait, &makers.Wav2Lip, &makers.MuseTalk, &makers.LatentSync, &makers.IDMVTON, &makers.OOTDiffusion, &makers.InstantID, &host.Host, &host.LinuxOOMKiller, &host.Kubernetes, &host.Slurm, &host.Windows, &torch.PyTorch, &other, &rest.Program,
	}
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
		return p.Rank, p.Rank < beforeAll
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
