package reader

import (
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
	{"image-generation", "diffusion diffusers txt2img img2img sdxl sd flux dreambooth ksampler sampler inpaint controlnet unet2d ldm stylegan gan diffuser comfy imagen kolors pixart zimage"},
	{"audio", "audio speech tts asr whisper voice vocoder wav music bark xtts espnet torchaudio librosa hifigan vits mel stft"},
	{"science", "protein proteins fold alphafold openfold esm molecule molecular rdkit colabfold plm docking genome genomics dna rna cryo cryosparc relion weather climate medsam3d gromacs openmm dft vasp"},
	{"graph", "graph graphs gnn gcn gat pyg geometric dgl scatter sparse"},
	{"embedding", "embedding embeddings embed rerank reranker colbert faiss"},
	{"vision", "vision detection detect detector detectron bbox bboxes mask masks segment segmentation seg yolo yolov3 yolov5 yolov8 coco imagenet cifar mnist resnet vgg vit depth stereo optical pose face faces ocr cnn torchvision timm cv2 opencv camera gaussian rasterization nerf splatting pointcloud mesh roi keypoint kitti voc mmdet mmseg mmcv mmengine kornia image images img imgs superresolution esrgan swin unet nnunet rcnn fpn backbone densenet efficientnet mobilenet resnext convnext deeplab bev lidar pixel pixels visual scene tracker tracking reid crowd superresolution restoration dehaze radiology slice dicom mri ct"},
	{"data", "pandas dataframe dask polars pyarrow arrow spark pyspark cudf csv parquet sklearn xgboost lightgbm nvtabular rmm etl"},
	{"text", "llm llama llama2 llama3 gpt gpt2 bert qwen qwen2 qwen3 mistral mixtral gemma phi falcon bloom opt deepseek chatglm baichuan lm nlp text tokenizer tokenizers chat sft dpo grpo rlhf orpo causal casual language translation squad rwkv t5 lora qlora alpaca vicuna prompt generation completion rag"},
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
	{"image-generation", 1, "txt2img img2img sdxl controlnet unet vae latents latent diffusion diffusers inpaint upscaler upscaling denoising generate-image generating-image generate-images image-generation images-generated image-generated"},
	{"audio", 1, "audio speech tts asr whisper transcribe transcribing transcription transcript diarization diarize vocals wav mp3 demucs vocoder"},
	{"science", 1, "protein residues msa molecule ligand docking micrographs tomogram"},
	{"embedding", 1, "embeddings beir mteb rerank reranker encoding-corpus"},
	{"vision", 1, "bbox bboxes segmenting detections detector gaussians splatting nerf pointcloud"},
	{"text-inference", 2, "prompt prompts tokenizer tokens llm chat completion completions"},
}

// meaning is what a word says: its topic's number, -1 for none, and whether it is
// one of a training run, in names of files and functions.
type meaning struct {
	topic int
	train bool
}

// meanings are the words that say something.
var meanings = sync.OnceValue(func() map[string]meaning {
	out := map[string]meaning{}
	for word := range strings.FieldsSeq("train training trainer fit backward finetune finetuning pretrain sft dpo grpo rlhf optimizer epoch") {
		out[word] = meaning{-1, true}
	}
	for i := len(topics) - 1; i >= 0; i-- {
		for word := range strings.FieldsSeq(topics[i].words) {
			out[word] = meaning{i, out[word].train}
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
	if shown == "" || k.Work != "" && !overrides(k, shown) {
		return k.Work
	}
	w.proved(line)
	return shown
}

// overrides reports work that a program does besides its own: an image program
// that makes video, an engine for text that serves images.
func overrides(k Known, shown string) bool {
	return k.Work == "image-generation" && shown == "video-generation" || k.Work == "data" && k.Script != ""
}

// shown is the work that names in the log show, with the line that says so.
func (w *who) shown() (work string, line int) {
	var votes [len(topics)]int
	var first [len(topics)]int
	training := w.c.Training()
	said := meanings()
	count := func(name string, line int) {
		for word := range Words(name) {
			m, ok := said[word]
			if training = training || m.train; !ok || m.topic < 0 {
				continue
			}
			votes[m.topic]++
			if first[m.topic] == 0 {
				first[m.topic] = line
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
			count(x.Source, x.Line)
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

// topicsOf says of which topic of spoken a word or pair of words is.
var topicsOf = sync.OnceValue(func() map[string]int {
	out := map[string]int{}
	for i, topic := range spoken {
		for word := range strings.FieldsSeq(topic.words) {
			out[word] = i
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
			i, known := of[word]
			if !known {
				i, known = of[before+"-"+word]
			}
			if before = word; !known {
				continue
			}
			if votes[i]++; first[i] == 0 {
				first[i] = x.Line
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
	if _, inside, packaged := strings.Cut(path, "-packages/"); packaged {
		return inside, true
	}
	if !x.Own {
		return "", false
	}
	start := len(path)
	for range 4 {
		if start = strings.LastIndexByte(path[:start], '/'); start < 0 {
			break
		}
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
