package ambient

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// signal is text that shows what a program was doing. Paths and function names
// of tracebacks are better evidence than source lines, which pastes shorten.
type signalWord struct {
	word string
	id   string
}

// Signals that rules and phases rest on, by what they mean.
var signalWords = []signalWord{
	{"torch/autograd/__init__.py", "backward"}, {`torch\autograd\__init__.py`, "backward"}, {"torch/autograd/variable.py", "backward"},
	{"loss.backward(", "backward"}, {"autograd.backward(", "backward"}, {"run_backward(", "backward"}, {"_engine_run_backward", "backward"}, {"accelerator.backward(", "backward"}, {"torch/utils/checkpoint.py", "checkpointing"},
	{"optimizer.step()", "optimizer_step"}, {"torch/optim/", "optimizer_step"}, {`torch\optim\`, "optimizer_step"}, {"in optimizer_step", "optimizer_step"}, {"exp_avg_sq", "optimizer_step"}, {"low_level_optim.py", "optimizer_step"}, {"param_shard.grad", "optimizer_step"},
	{"trainer.train()", "training"}, {"train_epoch", "training"}, {"training_step", "training"}, {"_inner_training_loop", "training"}, {"in train(", "training"}, {", in train\n", "training"}, {"train.py\"", "training"}, {"train.py --", "training"}, {"trainer.py\"", "training"}, {"train_sft.py", "training"}, {"finetune", "training"},
	{"num_train_epochs", "training"}, {"--do_train", "training"}, {"TrainingArguments(", "training"}, {"Trained Tokens", "training"}, {"Trainable parameters", "training"}, {"LR Scheduler", "training"}, {"lr_scheduler", "training"}, {"Weight Decay", "training"}, {"weight_decay", "training"}, {"total batch size =", "training"}, {"train-steps", "training"}, {"batch_cost:", "training"}, {"train_batch_size", "training"}, {"--learning-rate", "training"}, {"--learning_rate", "training"},
	{"modeling_utils.py", "hf_modeling"}, {"from_pretrained", "loading"}, {"load_state_dict", "loading"}, {"_load_pretrained_model", "loading"}, {"load_checkpoint_in_model", "loading"}, {"in load_model", "loading"}, {"in load_quant", "loading"}, {"huggingface_loader", "loading"},
	{"load_model_wrapper", "loading"}, {"load_quantized", "loading"}, {"Loaded the model in", "model_loaded"}, {"GPTQ_loader", "loading"}, {"ExLlama_loader", "loading"}, {"ExLlamav2_loader", "loading"}, {"ExLlamav2_HF_loader", "loading"}, {"ExLlamav3_HF_loader", "loading"}, {"AutoAWQ_loader", "loading"}, {"transformers_loader", "loading"}, {"load_torch_file", "loading"}, {"load_checkpoint_guess_config", "loading"}, {"in load_unet", "loading"}, {"load_model_weights", "loading"},
	{"create_state_tensors", "cache_creation"}, {"in _prepare_one", "preparing"}, {"in prepare_model", "preparing"}, {"accelerator.prepare(", "preparing"}, {"modules/processing.py", "inferring"}, {`modules\processing.py`, "inferring"}, {"modules/txt2img.py", "inferring"}, {`modules\txt2img.py`, "inferring"}, {"modules/img2img.py", "inferring"}, {`modules\img2img.py`, "inferring"}, {"sample_hunyuan", "inferring"}, {"pipe.to(", "loading"}, {"pipeline.to(", "loading"}, {"modules/training.py", "training"}, {`modules\training.py`, "training"}, {"actor_rollout", "training"}, {"update_actor", "training"},
	{"caching_allocator_warmup", "warmup_alloc"},
	{"generation/utils.py", "generating"}, {`generation\utils.py`, "generating"}, {"model.generate(", "generating"}, {"in generate\n", "generating"}, {"torch_pad_and_concatenate", "eval_accumulate"}, {"evaluation_loop", "eval_accumulate"}, {"nested_concat", "eval_accumulate"},
	{"in inference", "inferring"}, {"inference.py", "inferring"}, {"predict.py", "inferring"}, {"demo.py", "inferring"}, {"pipe(prompt", "inferring"}, {"pipeline(prompt", "inferring"}, {"vae.decode", "inferring"}, {"got prompt", "inferring"}, {"Prompt executed in", "inferring"}, {"sample.py", "inferring"}, {"[InvokeAI]::INFO --> Graph stats:", "inferring"}, {"Exception during processing", "inferring"}, {"Error occurred when executing", "inferring"},
	{"_convert_to_fp32", "logits_fp32"}, {"logits.float()", "logits_fp32"}, {"return tensor.float()", "logits_fp32"}, {"log_softmax", "logits_fp32"}, {"cross_entropy", "logits_fp32"}, {"selective_log_softmax", "logits_fp32"},
	{"torch/nn/modules/conv.py", "layer"}, {`torch\nn\modules\conv.py`, "layer"}, {"torch/nn/modules/batchnorm.py", "layer"}, {"torch/nn/modules/activation.py", "layer"}, {"torch/nn/modules/linear.py", "layer"}, {`torch\nn\modules\linear.py`, "layer"}, {"torch/nn/functional.py", "layer"}, {`torch\nn\functional.py`, "layer"},
	{"scaled_dot_product_attention", "attention"}, {"ret = input.softmax(", "attention"}, {"_sdp_attention", "attention"},
	{".transpose(-2, -1)", "scores"}, {".transpose(-1, -2)", "scores"}, {".transpose(2, 3))", "scores"}, {"attention_scores = ", "scores"}, {"bmm(proj_query", "scores"}, {"matmul(proj_query", "scores"}, {"bmm(query", "scores"}, {"matmul(query", "scores"}, {"bmm(q, k", "scores"}, {"matmul(q, k", "scores"}, {"bmm(theta", "scores"}, {"matmul(theta_x, phi_x", "scores"}, {"matmul(theta, phi", "scores"}, {"get_attention_scores", "scores"}, {"attn_weights = ", "scores"}, {"attn.softmax(", "scores"}, {"b i d, b j d", "scores"}, {"b h i d, b h j d", "scores"}, {"b n h d, b m h d", "scores"}, {"bhqd,bhkd", "scores"}, {"bqhd,bkhd", "scores"},
	{"attn_output_weights = ", "mha_weights"}, {"This DataLoader will create", "workers"}, {"nn/parallel/distributed.py", "distributed"}, {"_run_ddp_forward", "training"}, {"World Size =", "distributed"}, {"world_size=2", "distributed"}, {"world_size=3", "distributed"}, {"world_size=4", "distributed"}, {"world_size=6", "distributed"}, {"world_size=8", "distributed"}, {"world_size=16", "distributed"}, {"torch/serialization.py", "reading_checkpoint"}, {`torch\serialization.py`, "reading_checkpoint"},
	{".append(", "appends"}, {".extend(", "appends"},
	{"train_step", "training"}, {"Starting training", "training"}, {"train_loader", "training"}, {"trainloader", "training"}, {"train_dataloader", "training"}, {"zero_grad(", "training"}, {"for epoch in", "training"}, {"Start training", "training"}, {"Running training", "training"}, {"KETOS training", "training"}, {"Training failed", "training"}, {"Error during training", "training"}, {"[train]", "training"}, {"Training Error", "training"},
	{"initializing model parallel", "loading"}, {"load model error", "loading"}, {"failed to load the model", "loading"}, {"model loading failed", "loading"}, {"loading index", "loading"},
	{"s/it, loss=", "training"}, {"it/s, loss=", "training"}, {"s/it, avr_loss=", "training"}, {"it/s, avr_loss=", "training"}, // tqdm's line of a trainer
	{"train_network.py", "training"}, {"accelerate/commands/launch.py", "training"}, {"dataloader.py", "dataloader"},
	{"WanVAE", "video"}, {"WAN21", "video"}, {"HunyuanVideo", "video"}, {"LTXV", "video"}, {"CogVideo", "video"}, {"Mochi", "video"}, {"AnimateDiff", "video"}, {"/ldm/wan/", "video"}, {`\ldm\wan\`, "video"}, {"img2vid", "video"}, {"txt2vid", "video"}, {"generate_video", "video"},
	{"iou_score", "vision"}, {"dice_loss", "vision"}, {"loss_bbox", "vision"}, {"loss_mask", "vision"}, {"mAP50", "vision"}, {"pixel_values", "vision"}, {"FeatureExtractor/", "vision"}, {"detection_", "vision"}, {"torchvision", "vision"}, {"conv2d", "vision"}, {"max_pool2d", "vision"}, {"batch_norm2d", "vision"}, {"BatchNorm2d", "vision"}, {"cv2.", "vision"}, {"ImageFolder", "vision"},
	{"There is an imbalance between your GPUs", "uneven_cards"}, {"in pin memory thread", "pinning"}, {"utils/data/_utils/pin_memory.py", "pinning"}, {`utils\data\_utils\pin_memory.py`, "pinning"},
	{"ZeroDivisionError:", "aftermath"}, {"UnboundLocalError:", "aftermath"}, {"'NoneType' object", "aftermath"},
	{"Valid (loss", "validating"}, {"validate(", "validating"}, {"SSIM: ", "validating"}, {"[VAL]", "validating"}, {"epoch", "epochs"}, {"loss = criterion(", "epochs"}, {"Exception in ASGI application", "inferring"},
	{`"GET /`, fact.InApp}, {`"POST /`, fact.InApp}, {"Internal Server Error", fact.InApp}, {"gradio:", fact.InApp}, {"gradio/", fact.InApp}, {`gradio\`, fact.InApp}, {"streamlit/", fact.InApp}, {`streamlit\`, fact.InApp}, {`\runtime\lib\site-packages`, fact.InApp}, {"python_embeded", fact.InApp}, {"PyQt5", fact.InApp}, {"PyQt6", fact.InApp}, {"PySide6", fact.InApp}, {"tkinter/", fact.InApp}, {`tkinter\`, fact.InApp},
}

// Signals reads what a program was doing.
var Signals = text.Parser{
	Name:    "signals",
	Context: text.Each(signalWords, func(w signalWord) string { return strings.TrimRight(w.word, "\n") }),
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		seen := map[string]int{}
		for _, h := range hits {
			id := signalWords[h.Word].id
			if seen[id]++; seen[id] > 20 {
				continue // evidence enough
			}
			if l.Aside(h.At) && (id == "backward" || id == "optimizer_step") && l.InBlock(h.At) {
				id = "training" // the loop that failed goes back in each turn
			} else if ownCode[id] && inLibrary(l, h.At) || l.Aside(h.At) {
				continue
			}
			l.Signal(f, id, h.At)
		}
	},
}

// Notebooks are shown by their cells: a kernel is to be restarted there.
var Notebooks = text.Parser{
	Name:    "notebooks",
	Context: notebookWords,
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		for _, h := range hits {
			if h.Word < len(notebookWords)-1 || strings.Contains(l.LineText(h.At), "Error    ") {
				l.Signal(f, "notebook", h.At)
				return
			}
		}
	},
}

// notebookWords end with the head of IPython's traceback: the error's name and,
// far to the right in the same line, what begins a line elsewhere.
var notebookWords = []string{"ipython-input", "cell line:", ".ipynb", "Cell In[", "Error Traceback (most recent call last)"}

// ownCode are signals that count only where the reader can change the line.
var ownCode = map[string]bool{"scores": true, "appends": true}

// frameReach is how far before a source line the head of its frame begins.
const frameReach = 400

// inLibrary reports a source line of a traceback whose frame, told by the last
// File "..." before it, is of an installed package or of Python itself.
func inLibrary(l *text.Log, at int) bool {
	before := l.Squeezed()[max(at-frameReach, 0):at]
	frame := strings.LastIndex(before, `file"`)
	if frame < 0 {
		return false
	}
	path, _, _ := strings.Cut(strings.ReplaceAll(before[frame+len(`file"`):], `\`, "/"), `"`)
	return installed(path)
}
