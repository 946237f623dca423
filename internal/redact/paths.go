package redact

import (
	"regexp"
	"strings"
)

// dataRoot begins a path to where a group keeps its data: what follows are names
// of people and projects, up to what everybody has.
var dataRoot = lazy(`(?:^|[^\w.~/-])/(?:g?scratch\d*|nfs\d*|data\d*|mnt|media|lustre\d*|gpfs\d*|beegfs|cephfs|ceph|glusterfs|weka|fsx|efs|afs|raid\d*|ssd\d*|hdd\d*|nvme\d*|disks?\d*|volumes?\d*|Volumes|storage\d*|store|net|share|cluster|archive|projects?|proj|groups?|work\d*|export|tank|pool)/`)

var rooted = signs("scratch", "/nfs", "/data", "/mnt/", "/media/", "/lustre", "/gpfs", "/beegfs", "/ceph", "/gluster", "/weka/", "/fsx/", "/efs/", "/afs/", "/raid", "/ssd", "/hdd", "/nvme", "/disk", "/volume", "/stor", "/net/", "/share/", "/cluster/", "/archive/", "/proj", "/group", "/work", "/export/", "/tank/", "/pool/")

// uncRoot is \\server\ or \\wsl$\, reprRoot the same as JSON and repr write it.
var (
	uncRoot  = lazy(`(?:^|[\s"'=(])\\\\[\w.$-]+\\`)
	reprRoot = lazy(`(?:^|[\s"'=(])\\\\\\\\[\w.$-]+\\\\`)
)

// common are folders that many have: nothing in them is a name.
var common = set(`
	models model checkpoints checkpoint ckpt ckpts weights lora loras vae clip unet embeddings huggingface hf hub cache caches datasets dataset data dataset_cache snapshots blobs refs home users user scratch project projects proj work works workspace workspaces
	group groups shared share public common team teams tmp temp output outputs out input inputs results result runs run logs log exp exps experiments experiment src source code repo repos git github gitlab app apps apps opt local usr bin var lib lib64 etc root docker
	containers container volume volumes mount mounts mnt media nfs storage store disk disks ssd nvme hdd drive raid backup backups archive archives downloads download documents desktop images image videos video audio pictures text train training test tests val eval inference
	a b c d e f g x y z c: ai ml llm llms gpu cuda python python3 conda miniconda3 anaconda3 miniforge3 mambaforge micromamba envs env venv virtualenv site-packages dist-packages node_modules programs program files windows system32 steam steamapps steamlibrary
	webui forge config configs configuration scripts script tools utils lustre gpfs fs fs1 fs2 ubuntu debian wsl games github.com main master dev nvme0n1 persistent pvc pv kaggle content session sessions jobs job slurm tmpdir spool
	triton timm apex numba cupy dask rapids cudf spacy paddle keras jax flax peft trl accelerate sklearn scipy pandas numpy lightning monai detectron2 mmcv mmdet ultralytics fairseq nltk wandb mlflow
	hub-cache transformers diffusers torch extensions custom_nodes modules stable-diffusion controlnet upscale_models esrgan gguf ggml gptq awq exl2 safetensors tokenizer vocab corpus wiki coco imagenet
`)

func set(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

// installed begin what a package manager or a program has put there: the names
// that follow are theirs.
var installed = set(`site-packages dist-packages node_modules envs venv .venv env conda miniconda3 anaconda3 miniforge3 mambaforge .cache huggingface hub lib lib64 python bin src .local .conda custom_nodes extensions steamapps .git modules`)

// modelLike is a folder that is named after a model, or a part of one.
var modelLike = lazy(`(?i)llama|qwen|mi[sx]tral|gemma|phi-?\d|falcon|gpt|opt-|bloom|bert|\bt5|flux|sdxl|^sd\d|stable|diffusion|\bwan\d|hunyuan|cogvideo|deepseek|\byi-|baichuan|glm|intern(?:lm|vl)|vicuna|alpaca|wizard|coder|whisper|resnet|unet|yolo|models--|datasets--|checkpoint|step[_-]?\d|epoch|\d(?:\.\d+)?[bm]\b|q\d_[k0-9]|fp16|bf16|fp8|int[48]|gguf|safetensors`)

// maskPaths masks folders behind data roots.
func (m *Masker) maskPaths(t *glance, s string) string {
	if rooted(t) {
		s = m.segments(dataRoot(), "/", s)
	}
	if !strings.Contains(s, `\\`) {
		return s
	}
	s = m.segments(reprRoot(), `\\`, s)
	return m.segments(uncRoot(), `\`, s)
}

// most is how many folders of a path are masked: somebody's, a project's and
// one in it. Deeper ones are a program's.
const most = 3

// segments masks the folders of the paths that begin with root.
func (m *Masker) segments(root *regexp.Regexp, separator, s string) string {
	var b strings.Builder
	last := 0
	for _, at := range root.FindAllStringIndex(s, -1) {
		if at[1] < last || strings.HasPrefix(s[at[1]:], `\`) {
			continue
		}
		for from, n := at[1], 0; from < len(s) && n < most; {
			folder, ends := folderAt(s[from:], separator)
			if folder == "" || installed[strings.ToLower(folder)] || ends && strings.Contains(folder, ".") || m.ofProgram(folder) {
				break
			}
			if ofSomebody(folder) {
				is := masked("DIR", folder, m.name)
				if n++; n == 1 {
					m.learn("DIR", folder, is)
				}
				b.WriteString(s[last:from] + is)
				last = from + len(folder)
			}
			if from += len(folder) + len(separator); ends {
				break
			}
		}
	}
	return b.String() + s[last:]
}

// folderAt is the part of a path that a text begins with, and whether the path
// ends with it.
func folderAt(s, separator string) (folder string, ends bool) {
	n := strings.IndexAny(s, "/\\ \t\r\n'\"<>|:*?,;()[]{}`")
	if n < 0 {
		return s, true
	}
	return s[:n], !strings.HasPrefix(s[n:], separator)
}

// ofProgram reports the folder of a model or of a program: what follows is
// theirs.
func (m *Masker) ofProgram(folder string) bool {
	return modelLike().MatchString(folder) || !common[strings.ToLower(folder)] && m.known(folder)
}

// ofSomebody tells a folder that bears a name from one that everybody has, a
// date, a number or a hash.
func ofSomebody(folder string) bool {
	lower := strings.ToLower(folder)
	if common[lower] || strings.Trim(lower, "0123456789abcdef") == "" && len(lower) >= 7 || strings.IndexByte("$%{.", folder[0]) >= 0 {
		return false
	}
	return strings.ContainsFunc(lower, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 0x80 }) && person("", folder, "")
}

// privateFile is a file that was given as an argument: of text, tables, sound
// or pictures. Weights, programs and their settings are none.
var privateFile = lazy(`(?i)(?:^|[\s=])(?:'(?:[^'\n]*[/\\])?(?P<FILE1>[^'\n/\\]+)|"(?:[^"\n]*[/\\])?(?P<FILE2>[^"\n/\\]+)|(?:[^\s'"=]*[/\\])?(?P<FILE3>[^\s'"=/\\]+))\.(?:txt|md|pdf|docx?|odt|rtf|epub|csv|tsv|xlsx?|jsonl|parquet|mp3|wav|flac|m4a|ogg|opus|mp4|mkv|mov|avi|webm|png|jpe?g|webp|gif|tiff?|bmp|heic|dcm|nii(?:\.gz)?|srt|vtt|eml|zip)\b`)

var documented = signs(".txt", ".md", ".pdf", ".doc", ".odt", ".rtf", ".epub", ".csv", ".tsv", ".xls", ".jsonl", ".parquet", ".mp3", ".wav", ".flac", ".m4a", ".ogg", ".opus", ".mp4", ".mkv", ".mov", ".avi", ".webm", ".png", ".jp", ".webp", ".gif", ".tif", ".bmp", ".heic", ".dcm", ".nii", ".srt", ".vtt", ".eml", ".zip")

// usualFiles are names that say nothing.
var usualFiles = set(`requirements requirements-dev readme license changelog input inputs output outputs out in test tests train training val valid validation eval dev data dataset metadata prompt prompts negative image images img video audio sample samples example demo file log logs
	result results text corpus wiki mask frame frames speech song photo picture labels classes captions caption vocab merges cmakelists constraints pyproject`)

// command reports a line on which somebody started something.
var command = lazy(`(?:^|[$#>%❯] |&& |; |\| |: )(?:sudo |[A-Z_]+=\S+ |\./|\S*/)*(?:python[\d.]*|accelerate|torchrun|deepspeed|uv|conda|docker|podman|ollama|vllm|whisper\S*|ffmpeg|llama-\S+|main|sd(?:-\S+)?|invokeai\S*|node|npx|cargo|go|java|Rscript|julia|perl|bash|sh|srun|sbatch|curl|wget|mpirun|time|nohup|cat|\S+\.(?:exe|py|sh|bat))(?:\s|$)|(?:^|\s)--?[a-zA-Z][\w-]*[ =]`)

// maskFiles masks the names of files on a command line, and leaves what kind of
// file it is.
func (m *Masker) maskFiles(t *glance, s string) string {
	if !documented(t) || !command().MatchString(s) {
		return s
	}
	r := rule{re: privateFile(), private: func(_, x, _ string) bool {
		stem := strings.TrimRight(strings.ToLower(x), "0123456789_-.%d")
		return stem != "" && !usualFiles[strings.ToLower(x)] && !usualFiles[stem] && !modelLike().MatchString(x) && !m.known(x) && strings.IndexByte("$%{*<-", x[0]) < 0
	}}
	return r.apply(s, m.name)
}
