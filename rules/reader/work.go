package reader

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// topic is a kind of work and the words that names of files, functions, packages
// and models have there. Ties go to the earlier.
type topic struct{ work, words string }

var topics = [...]topic{
	{"video-generation", "video videos t2v i2v animatediff hunyuanvideo hunyuan wan ltx ltxv mochi cogvideo cogvideox svd framepack wanvideo vace"},
	{"image-generation", "diffusion diffusers txt2img img2img sdxl sd flux dreambooth ksampler sampler inpaint controlnet unet2d ldm stylegan gan diffuser comfy imagen kolors pixart zimage stylegan2 stylegan3 dcgan srgan wgan cyclegan pix2pix biggan flux1 dreamboothlora texttoimage"},
	{"audio", "audio speech tts asr whisper voice vocoder wav music bark xtts espnet torchaudio librosa hifigan vits mel stft wavenet waveglow tacotron fastspeech wav2vec hubert deepspeech demucs openunmix umx diarization speaker voxceleb librispeech audioldm musicgen musicnn flac"},
	{"science", "protein proteins fold alphafold openfold esm molecule molecular rdkit colabfold plm docking genome genomics dna rna cryo cryosparc relion weather climate medsam3d gromacs openmm dft vasp boltz esmfold rosettafold diffdock genomes fasta fastq kmer kmers"},
	{"graph", "graph graphs gnn gcn gat pyg geometric dgl torchscatter kg transe transh conve graphsage hypergraph"},
	{"embedding", "embed rerank reranker rerankers colbert faiss createembedding createembeddings getembeddings embeddocuments embedquery sentencetransformers sentencetransformer bge mteb beir"},
	{"vision", "vision detection detect detector detectron bbox bboxes mask masks segment segmentation seg yolo yolov3 yolov5 yolov8 coco imagenet cifar mnist resnet vgg vit depth stereo optical pose face faces ocr cnn torchvision timm cv2 opencv camera gaussian rasterization nerf splatting pointcloud trimesh meshes roi keypoint kitti voc mmdet mmseg mmcv mmengine kornia image images img imgs superresolution esrgan swin unet nnunet rcnn fpn backbone densenet efficientnet mobilenet resnext convnext deeplab bev lidar pixel pixels visual scene tracker tracking reid crowd superresolution restoration dehaze radiology slice dicom mri ct trainval srresnet srres superres edsr rdn metardn facelet facenet arcface dfine detr rtdetr mobilesam sam2 dino dinov2 pointnet spconv mmdet3d torchsparse minkowski minkowskiengine mmcls mmpretrain mmpose mmocr mmaction imgs im1 im2 img1 img2 upsample yolov centernet fasterrcnn maskrcnn retinanet shufflenet wideresnet inception inceptionv3 alexnet lenet stylize photostyle monodepth flownet cityscapes lfw celeba widerface modelnet shapenet scannet nuscenes waymo videomae slowfast i3d"},
	{"data", "pandas dataframe dask polars pyarrow arrow spark pyspark cudf csv parquet sklearn xgboost lightgbm nvtabular rmm etl"},
	{"text", "llm llama llama2 llama3 gpt gpt2 bert qwen qwen2 qwen3 mistral mixtral gemma phi falcon bloom opt deepseek chatglm baichuan lm nlp text tokenizer tokenizers chat sft dpo grpo rlhf orpo causal casual language translation squad rwkv t5 lora qlora alpaca vicuna prompt generation completion rag nmt nlu ner bilstm bilstmcrf seq2seq roberta distilbert xlnet electra sbert bart pegasus marian m2m nllb wikitext openwebtext lambada summarization summarizer sentence sentences glue mnli mmlu gsm8k openllama tinyllama codellama starcoder pythia gptneox gptj nanogpt megatron torchtitan internlm glm chatglm2 chatglm3 minicpm"},
}

// spoken are the words, and pairs of words, that tell a kind of work in what
// programs print, where many more mean something else than in names: "graph",
// "mask", the image of a container. Image programs have a tokenizer too.
var spoken = [...]struct {
	work   string
	enough int
	words  string
}{
	{"video-generation", 1, "t2v i2v animatediff hunyuanvideo ltxv framepack txt2vid img2vid generate-video generating-video video-generation"},
	{"image-generation", 1, "txt2img img2img sdxl controlnet unet vae latents latent diffusion diffusers inpaint upscaler upscaling denoising generate-image generating-image generate-images image-generation images-generated image-generated black-forest"},
	{"audio", 1, "audio speech tts asr whisper transcribe transcribing transcription transcript diarization diarize vocals wav mp3 flac m4a demucs vocoder"},
	{"science", 1, "protein residues msa molecule ligand docking micrographs tomogram k-mer kmer fasta fastq contigs"},
	{"embedding", 1, "create-embedding create-embeddings computing-embeddings v1-embeddings embeddings-api beir mteb rerank reranker encoding-corpus"},
	{"vision", 1, "bbox bboxes segmenting detections detector gaussians splatting nerf pointcloud mmdet mmcls mmseg mmpose mmocr mmpretrain detectron2 imagenet coco resnet nn-interpolate #-images"},
	{"build", 1, "cc1plus crate-name compilation-terminated thread-rustc"},
	{"text-inference", 2, "prompt prompts tokenizer tokens llm chat completion completions"},
}

// meaning is what a word says in names of files and functions: its topic's number
// from 1 on, 0 for none, and whether it is one of a training run.
type meaning struct {
	topic int
	train bool
}

// meanings are the words that say something.
var meanings = sync.OnceValue(func() map[string]meaning {
	out := map[string]meaning{}
	for word := range strings.FieldsSeq("train training trainer fit backward finetune finetuning pretrain sft dpo grpo rlhf optimizer epoch") {
		out[word] = meaning{0, true}
	}
	for i := len(topics) - 1; i >= 0; i-- {
		for word := range strings.FieldsSeq(topics[i].words) {
			out[word] = meaning{i + 1, out[word].train}
		}
	}
	return out
})

// work is what the reader does: what the names of files, functions and models
// show, else what the program is for.
func (w *who) work(k Known) string {
	shown, line := w.shown()
	if video := w.c.Signal("video"); video != nil && (k.Work == "image-generation" || shown == "image-generation") {
		shown, line = "video-generation", video.Line
	}
	text := k.Work == "text-inference" // engines for text also train, and serve embeddings
	if x := w.c.Signal("training"); text && x != nil && w.c.Phase == "training" {
		shown, line = "text-training", x.Line
	} else if shown == "" || k.Work != "" && !(k.Work == "image-generation" && shown == "video-generation" || text && shown == "embedding" || k.Work == "data" && k.Script != "") {
		return k.Work
	}
	w.proved(line)
	return shown
}

// shown is the work that names in the log show, with the line that says so.
func (w *who) shown() (work string, line int) {
	var votes, first [len(topics)]int
	training, said := w.c.Training(), meanings()
	count := func(name string, line int) {
		before := ""
		for word := range Words(name) {
			m, ok := said[word]
			if !ok {
				stem := strings.TrimRightFunc(word, func(r rune) bool { return r >= '0' && r <= '9' })
				m = cmp.Or(said[stem], said[before+stem]) // ResNet50, super_resolution
			}
			before, training = word, training || m.train
			if m.topic > 0 {
				votes[m.topic-1]++
				first[m.topic-1] = cmp.Or(first[m.topic-1], line)
			}
		}
	}
	for _, x := range w.c.Facts.Code {
		if file, ok := nameOf(x); ok {
			count(file, x.Line)
			count(x.Function, x.Line)
		}
	}
	if x := w.c.Signal("vision"); x != nil {
		count("vision", x.Line)
	}
	for _, x := range w.c.Facts.Code {
		if x.Own && votes == [len(topics)]int{} {
			count(x.Source+openEnded.Replace(x.Args), x.Line)
		}
	}
	if m := w.c.Model; m != nil {
		count(m.Name, m.Line)
	}
	best := 0
	for i := range votes {
		if votes[i] > votes[best] {
			best = i
		}
	}
	work, line = topics[best].work, first[best]
	if votes[best] == 0 {
		work, line = w.said()
	}
	if work == "text" {
		work = "text-inference"
		if training {
			work = "text-training"
		}
	}
	return work, line
}

// openEnded are words of options that programs of several kinds have: what makes
// images has a prompt and a text encoder.
var openEnded = strings.NewReplacer("prompt", "", "video", "", "text", "", "tokenizer", "", "generation", "", "graph", "", "sampler", "", "depth", "", "speaker", "")

// topicsOf says of which topic of spoken, from 1 on, a word or pair of words is.
var topicsOf = sync.OnceValue(func() map[string]int {
	out := map[string]int{}
	for i, topic := range spoken {
		for word := range strings.FieldsSeq(topic.words) {
			out[word] = i + 1
		}
	}
	return out
})

// said is the kind of work of which most is said around the failure: at least
// twice as often as of any other.
func (w *who) said() (work string, line int) {
	var votes, first [len(spoken)]int
	of := topicsOf()
	for _, x := range w.c.Facts.Talk {
		before := ""
		for word := range Words(x.Text) {
			i := cmp.Or(of[word], of[before+"-"+word]) - 1
			if before = word; word[0] <= '9' {
				before = "#"
			}
			if i >= 0 {
				votes[i]++
				first[i] = cmp.Or(first[i], x.Line)
			}
		}
	}
	ranked := slices.Sorted(slices.Values(votes[:]))
	most, others := slices.Index(votes[:], ranked[len(ranked)-1]), ranked[len(ranked)-2]
	if votes[most] < max(spoken[most].enough, 2*others) {
		return "", 0
	}
	return spoken[most].work, first[most]
}

// nameOf is the part of a path that says what a file is about: of the reader's
// own the last folders and the file, of a package its name and the file.
func nameOf(x fact.Code) (name string, ok bool) {
	path := strings.Trim(x.File, "~./")
	if _, inside, packaged := strings.Cut(path, "-packages/"); packaged || !x.Own {
		return inside, packaged
	}
	start := len(path)
	for i := 0; i < 4 && start >= 0; i++ {
		start = strings.LastIndexByte(path[:start], '/')
	}
	return path[start+1:], true
}

// Words are the parts of a name, in lower case: it is cut at everything that is
// no letter or digit, and where small letters are followed by a capital one:
// "DQNModel", "train_one_epoch".
func Words(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0
		var before rune
		for i, r := range name {
			letter := unicode.IsLetter(r) || unicode.IsDigit(r)
			if !letter || unicode.IsUpper(r) && unicode.IsLower(before) {
				if i > start && !yield(strings.ToLower(name[start:i])) {
					return
				}
				start = i
				if !letter {
					start += utf8.RuneLen(r)
				}
			}
			before = r
		}
		if len(name) > start {
			yield(strings.ToLower(name[start:]))
		}
	}
}
