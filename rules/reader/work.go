package reader

import (
	"strings"
	"sync"
	"unicode"

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
	{"text", "llm llama llama2 llama3 gpt gpt2 bert qwen qwen2 qwen3 mistral mixtral gemma phi falcon bloom opt deepseek chatglm baichuan lm nlp text tokenizer tokenizers chat sft dpo grpo ppo rlhf orpo causal casual language translation squad rwkv t5 lora qlora alpaca vicuna prompt generation completion rag"},
}

// workWords are the numbers of the topics by their words.
var workWords = sync.OnceValue(func() map[string]int {
	out := map[string]int{}
	for i := len(topics) - 1; i >= 0; i-- {
		for word := range strings.FieldsSeq(topics[i].words) {
			out[word] = i
		}
	}
	return out
})

// trains are words of a training run, in names of files and functions.
var trains = map[string]bool{"train": true, "training": true, "trainer": true, "fit": true, "backward": true, "finetune": true, "finetuning": true, "pretrain": true, "sft": true, "dpo": true, "grpo": true, "rlhf": true, "optimizer": true, "epoch": true}

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
	switch k.Work {
	case "image-generation":
		return shown == "video-generation"
	case "data":
		return k.Script != ""
	}
	return false
}

// shown is the work that names in the log show, with the line that says so.
func (w *who) shown() (work string, line int) {
	var votes [len(topics)]int
	var first [len(topics)]int
	training := w.c.Training()
	count := func(name string, weight, line int) {
		for _, word := range Words(name) {
			if trains[word] {
				training = true
			}
			if i, ok := workWords()[word]; ok {
				votes[i] += weight
				if first[i] == 0 {
					first[i] = line
				}
			}
		}
	}
	for _, x := range w.c.Facts.Code {
		for _, name := range namesOf(x) {
			count(name, 1, x.Line)
		}
	}
	if x := w.c.Signal("vision"); x != nil {
		count("vision", 1, x.Line)
	}
	if m := w.c.Model; m != nil {
		count(m.Name, 1, m.Line)
	}
	best := 0
	for i := range votes {
		if votes[i] > votes[best] {
			best = i
		}
	}
	if votes[best] == 0 {
		return "", 0
	}
	work = topics[best].work
	if work == "text" {
		work = "text-inference"
		if training {
			work = "text-training"
		}
	}
	return work, first[best]
}

// namesOf are the names that say what a file is about: of the reader's own the
// last folders, the file and the function; of a package its name and the file.
func namesOf(x fact.Code) []string {
	parts := strings.Split(strings.Trim(x.File, "~./"), "/")
	for i, part := range parts {
		if strings.HasSuffix(part, "-packages") && i+1 < len(parts) {
			return append(parts[i+1:], x.Function)
		}
	}
	if !x.Own {
		return nil
	}
	return append(parts[max(0, len(parts)-4):], x.Function)
}

// Words cuts a name at everything that is no letter or digit, and where small
// letters are followed by a capital one: "DQNModel", "train_one_epoch".
func Words(name string) []string {
	var out []string
	start := 0
	cut := func(i int) {
		if i > start {
			out = append(out, strings.ToLower(name[start:i]))
		}
	}
	var before rune
	for i, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			cut(i)
			start = i + len(string(r))
		case unicode.IsUpper(r) && unicode.IsLower(before):
			cut(i)
			start = i
		}
		before = r
	}
	cut(len(name))
	return out
}
