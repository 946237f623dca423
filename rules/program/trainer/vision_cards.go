package trainer

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// refused are the messages of a card, with figures and without.
var refused = []fact.Kind{fact.TorchAlloc, fact.CUDAError}

// ramGone are the ways in which a process is told that RAM is at its end.
var ramGone = []fact.Kind{fact.KernelKill, fact.ShellKilled, fact.RankKilled, fact.SlurmKill, fact.ContainerKill, fact.WorkerKilled, fact.NumpyAlloc, fact.PythonMemory, fact.CPUAlloc}

// ownCard: nothing shows that others hold the card or that it was not full.
func ownCard(c *ledger.Case) bool {
	inPieces := c.Slack.Has() && c.Asked.Has() && c.Total.Has() && c.Slack.Bytes > c.Asked.Bytes && c.Slack.Bytes*8 > c.Total.Bytes
	return ledger.OnCard(c) && !ledger.Crowded(c) && !ledger.Roomy(c) && !inPieces && !c.Limit.Has() && !cures.Built(c)
}

// ordinary: and what was asked for is no single piece of a third of the card or
// more, which no usual step has.
func ordinary(c *ledger.Case) bool {
	return ownCard(c) && ledger.NeverFits(c) == "" && (!c.Total.Has() || c.Asked.Bytes*3 < c.Total.Bytes)
}

// stepCard is what all trainers have to say of a step that did not fit, in
// their own words.
func stepCard(id string, said []string, means, not, source string, cures ...cause.Cure) cause.Card {
	later := ""
	if slices.Contains([]string{"monai/step", "fastai/step", "detectron2/step"}, id) { // their readers write code
		later = keptLater
	}
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training", "unknown"}, Said: said, If: ordinary,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory[[ {while}]]", Figures: filled,
		Means: means + "[[ {spilled}]][[ It fills the {full} GPU by itself, so closing other programs gains little.]]",
		Not:   not, Later: later, Cures: cures, Sources: []string{source},
	}
}

// keptLater is what it was if a smaller step only puts the end off.
const keptLater = "If it fails again some epochs later, tensors pile up: add up `loss.item()` instead of `loss`, and move outputs to the CPU."

// filled are figures for sentences: the card's size where this program fills it,
// and what others hold where that is much.
func filled(c *ledger.Case) map[string]string {
	out := map[string]string{"full": "", "outside": "", "while": "", "spilled": ""}
	if c.Training() {
		out["while"] = "in a training step"
	}
	switch {
	case c.Total.Has() && c.Mine.Bytes > c.Total.Bytes+c.Total.Bytes/50:
		out["spilled"] = "It holds " + c.Mine.String() + " on a GPU with " + c.Total.String() + ", so the driver (usually on Windows) had already moved the rest to slow system RAM. Start with a quarter of the batch size."
	case ledger.FillsAlone(c) && c.Total.Has():
		out["full"] = c.Total.String()
	}
	if ledger.Crowded(c) && c.Others.Has() {
		out["outside"] = c.Others.String()
	}
	return out
}

// freeOthers is what to do about others where they hold much.
var freeOthers = cause.Cure{
	Fix: "kill_stale_process", Title: "Free the {outside} held by other programs", If: ledger.Crowded,
	Told: "End an old run of yours with `kill PID`. If the process is somebody else's, use another GPU: put `CUDA_VISIBLE_DEVICES=1` in front of your command. This alone may not be enough.",
	Kind: "shell", Text: "nvidia-smi", Cost: "Free; what you end loses its unsaved work.",
}

// Masks are pasted into the original image, after the network.
var (
	pastes          = retriedOf("paste_masks_in_image")
	originalSmaller = cause.Cure{Fix: "lower_resolution", Title: "Downscale the image before the predictor", Told: "Half the width and height takes a quarter of the memory.", Kind: "python", Text: "im = cv2.resize(im, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)   # im: what you pass to the predictor", Cost: "Coarser edges."}
	fewerDetections = cause.Cure{Fix: "lower_batch_size", Title: "Keep fewer detections (DETECTIONS_PER_IMAGE)", Told: "Where you set up the config:", Kind: "python", Text: "cfg.TEST.DETECTIONS_PER_IMAGE = 50             # default 100\ncfg.MODEL.ROI_HEADS.SCORE_THRESH_TEST = 0.5    # default 0.05", Cost: "The weakest detections are dropped."}
)

var retried = []fact.Kind{fact.TorchRetry}

var detectron2Cards = []cause.Card{
	{
		ID: "detectron2/retry-masks", Kinds: retried, If: retriedOf("sem_seg_postprocess", "semantic_inference", "panoptic_inference", "instance_inference"),
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory and continued on the CPU: a warning, not a crash",
		Means: "It scaled mask scores up to the size of the ORIGINAL image. 250 queries on a 3000 x 4000 image take 11.2 GiB. That did not fit on the GPU, so it ran on the CPU: slower, same result. If the program then ended, either RAM ran out (\"Killed\") or a later step failed on the GPU.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Downscale the image before the predictor", Told: "Half the width and height takes a quarter of the memory. Scale the label map back up with INTER_NEAREST if needed.", Kind: "python", Text: "im = cv2.resize(im, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)   # im: what you pass to the predictor", Cost: "Coarser edges."},
			{Fix: "lower_batch_size", Title: "Turn off panoptic and instance output", Told: "Then it scales up scores per class instead of per query. Mask2Former: add at the end of the command (OneFormer: `MODEL.TEST` in place of `MODEL.MASK_FORMER.TEST`):", Kind: "text", Text: "`MODEL.MASK_FORMER.TEST.PANOPTIC_ON False MODEL.MASK_FORMER.TEST.INSTANCE_ON False`", Cost: "You get the semantic map only."},
			{Fix: "add_swap", Title: "If the program ended: check whether RAM ran out", Told: "\"Killed process\" in the output means yes: process one image at a time, or add swap.", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'killed process|out of memory' | tail; free -h", Cost: "Free to check."},
		},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "Mask2Former/mask2former/maskformer_model.py", "OneFormer/oneformer/oneformer_model.py", "https://github.com/SHI-Labs/OneFormer/issues/50"},
	},
	{
		ID: "detectron2/retry-match", Kinds: retried, If: retriedOf("pairwise_iou", "matcher", "assign"),
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "ran out of GPU memory while matching boxes, and continued on the CPU: a warning, not a crash",
		Means: "It compared all anchors with all objects of one image. An image with many objects made that too large for the free memory, so it ran on the CPU: same result, but much slower. Many such lines mean that training is slow and close to a real crash.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size: it leaves more room"},
			{Fix: "lower_resolution", Title: "Train on random crops", Told: "A crop has fewer objects and fewer anchors.", Kind: "python", Text: "cfg.INPUT.CROP.ENABLED = True\ncfg.INPUT.CROP.SIZE = [0.6, 0.6]   # of height and width", Cost: "Objects at the edges are cut."},
			{Fix: "mixed_precision"},
		},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "detectron2/detectron2/modeling/proposal_generator/rpn.py", "detectron2/detectron2/config/defaults.py"},
	},
	{
		ID: "detectron2/retry", Kinds: retried, If: when.Root(fact.TorchRetry),
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory and continued on the CPU: a warning, not a crash",
		Means: "One function did not fit on the GPU, so it ran on the CPU instead: same result, much slower. If the program then ended, a later step failed on the GPU, or RAM ran out (\"Killed\").",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See what else uses the GPU", Told: "End an old run of yours with `kill PID`.", Kind: "shell", Text: "nvidia-smi", Cost: "Free"},
			cures.Only(pastes, originalSmaller), cures.Only(pastes, fewerDetections),
			{Fix: "lower_batch_size", If: when.Not(pastes)}, {Fix: "lower_resolution", If: when.Not(pastes)},
		},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "mmdetection/mmdet/utils/memory.py"},
	},
	{
		ID: "detectron2/paste-masks", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"paste_masks_in_image", "_do_paste_mask"},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "ran out of memory while pasting masks into the full-size image",
		Means: "The network itself had finished. Detectron2 pastes every mask into the ORIGINAL image: objects x height x width bytes, plus up to 1 GB of working memory. 100 objects in 4000 x 6000 pixels take 2.2 GiB.",
		Cures: []cause.Cure{
			originalSmaller, fewerDetections,
			{Fix: "cpu_offload", Title: "Paste the masks on the CPU", Told: "In detectron2/modeling/postprocessing.py, at the start of `detector_postprocess`: `results = results.to(\"cpu\")`.", Cost: "Somewhat slower; RAM for the masks."},
		},
		Sources: []string{"detectron2/detectron2/layers/mask_ops.py", "detectron2/detectron2/utils/memory.py", "detectron2/detectron2/config/defaults.py"},
	},
	{
		ID: "detectron2/copied-to-cpu", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"Attempting to copy inputs"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory, although it had moved one function to the CPU", Figures: filled,
		Means:   "\"Attempting to copy inputs\" means that the GPU was full earlier and Detectron2 ran one function on the CPU, often the box matching for an image with many objects. Then a step failed that cannot move.",
		Cures:   []cause.Cure{{Fix: "lower_batch_size"}, {Fix: "lower_resolution"}, {Fix: "mixed_precision"}},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "https://github.com/facebookresearch/detectron2/issues/2595"}, Solved: 1,
	},
	{
		ID: "detectron2/slack", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(cures.SlackWouldDo, (*ledger.Case).Training, when.Not(ledger.Crowded)),
		Cause: cause.Fragmentation, Weight: cause.Strong, Headline: "ran out of memory while {slack} was reserved but unused (fragmentation)",
		Means: "{slack} of PyTorch's reserved memory is unused, but split into blocks too small for {asked}. Most Detectron2 configs train on changing image sizes (`MIN_SIZE_TRAIN` lists several), so each step needs blocks of other sizes.",
		Cures: []cause.Cure{
			{Fix: "expandable_segments", If: when.Not(cures.SplitEra)},
			{Fix: "max_split_size", If: when.All(cures.SplitEra, when.Not(cures.NewerAllocator.If)), Title: "Set max_split_size_mb", Cost: "sometimes slower", Steps: cures.SplitSize},
			{Fix: "lower_batch_size", Told: "Set it before you create the trainer. For the same number of images double `MAX_ITER` and `STEPS`.", Own: true},
			{Fix: "lower_resolution", Title: "Use smaller images of one size", Told: "It saves memory and fragments less.", Kind: "python", Text: "cfg.INPUT.MIN_SIZE_TRAIN = (640,)   # the shorter side; the defaults go up to 800\ncfg.INPUT.MAX_SIZE_TRAIN = 1000", Cost: "small objects are found less well"},
			{Fix: "use_smaller_model", Title: "Freeze more layers, use fewer proposals", Told: "For fine-tuning:", Kind: "python", Text: "cfg.MODEL.BACKBONE.FREEZE_AT = 3                 # default 2\ncfg.MODEL.ROI_HEADS.BATCH_SIZE_PER_IMAGE = 128   # default 512", Cost: "some accuracy"},
			cures.NewerAllocator,
		},
		Sources: []string{"detectron2/detectron2/config/defaults.py", cures.AllocatorSource},
	},
	stepCard("detectron2/step", []string{"detectron2/engine/", "detectron2/modeling/"},
		"`SOLVER.IMS_PER_BATCH` (default 16) counts ALL GPUs together. Model zoo configs are made for eight GPUs; a single GPU gets all 16 images.",
		"`NUM_WORKERS`: workers use system RAM.", "https://github.com/facebookresearch/detectron2/issues/987",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "mixed_precision"}),
}

// retriedOf holds for a function of one of the names that went on on the CPU.
func retriedOf(names ...string) func(c *ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.Root(fact.TorchRetry) && slices.ContainsFunc(names, c.Contains) }
}

var timmCards = []cause.Card{
	stepCard("timm/step", []string{"pytorch-image-models/", "in train_one_epoch"},
		"`--batch-size` defaults to 128 images per GPU, in 32 bit without `--amp`. Images of 384 pixels need about three times the memory of 224 pixels.",
		"More GPUs: `--batch-size` is per GPU.", "pytorch-image-models/train.py",
		cause.Cure{Fix: "mixed_precision"}, cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "gradient_checkpointing"}),
}

var detrCards = []cause.Card{
	{
		ID: "detr/matcher", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"models/matcher.py", "torch.cdist(out_bbox", "linear_sum_assignment"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "ran out of memory while matching queries to objects", Figures: filled,
		Means: "The matcher's cost matrix has all queries of the batch x all objects of the batch: twice the batch size takes four times the memory. One image with very many objects can be enough.[[ Something outside this program also holds {outside}.]]",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "cpu_offload", Title: "Compute the matching costs on the CPU", Told: "Insert in models/matcher.py, before the costs are computed. The assignment itself runs on the CPU anyway:", Kind: "python", Text: "out_prob, out_bbox = out_prob.cpu(), out_bbox.cpu()\ntgt_ids, tgt_bbox = tgt_ids.cpu(), tgt_bbox.cpu()", Cost: "Somewhat slower."},
			{Fix: "lower_resolution", Title: "Cut crowded images into tiles", Told: "This lists the images with the most objects:", Kind: "shell", Text: fullest, Cost: "Objects at the edges are cut."},
			freeOthers,
		},
		Sources: []string{"detr/models/matcher.py"},
	},
	stepCard("detr/step", []string{"engine.py", "models/transformer.py", "models/backbone.py", "deformable_transformer.py"},
		"Images of up to 1333 pixels are padded to the largest in the batch, and the encoder attends over all positions. So the largest images decide. `--batch_size` is per GPU.",
		"", "detr/datasets/coco.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "use_smaller_model"}),
}
