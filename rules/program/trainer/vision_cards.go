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
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory[[ {while}]][[: it fills the {full} card by itself]]", Figures: filled,
		Means: means + "[[ {spilled}]][[ Of {full}, {mine} is this program's own ({mine%}): closing others gains little.]]",
		Not:   not, Later: later, Cures: cures, Sources: []string{source},
	}
}

// keptLater is what it was if a smaller step only puts the end off.
const keptLater = "If it runs and fails some epochs later, tensors are kept from step to step: add up `loss.item()` instead of `loss`, and move outputs to the CPU."

// filled are figures for sentences: the card's size where this program fills it,
// and what others hold where that is much.
func filled(c *ledger.Case) map[string]string {
	out := map[string]string{"full": "", "outside": "", "while": "", "spilled": ""}
	if c.Training() {
		out["while"] = "in a training step"
	}
	switch {
	case c.Total.Has() && c.Mine.Bytes > c.Total.Bytes+c.Total.Bytes/50:
		out["spilled"] = c.Mine.String() + " on a card of " + c.Total.String() + ": the driver (Windows, as a rule) had moved the rest to RAM, which is many times slower. So far more than the last piece is lacking: begin with a quarter of the batch."
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
	Fix: "kill_stale_process", Title: "Free the {outside} that others hold", If: ledger.Crowded,
	Told: "End an old run of yours by its PID (`kill PID`). If the process is somebody else's, use another card: put `CUDA_VISIBLE_DEVICES=1` in front of your command. It may not be enough alone.",
	Kind: "shell", Text: "nvidia-smi", Cost: "Free; what you end loses its unsaved work.",
}

var retried = []fact.Kind{fact.TorchRetry}

var detectron2Cards = []cause.Card{
	{
		ID: "detectron2/retry-masks", Kinds: retried, If: retriedOf("sem_seg_postprocess", "semantic_inference", "panoptic_inference", "instance_inference"),
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out on the card and continued on the CPU: a warning, not a crash",
		Means: "It was scaling the mask scores up to the size of the ORIGINAL image: queries or classes x height x width x 4 bytes. 250 queries of an image of 3000 x 4000 are 11.2 GiB. That did not fit on the card, so Detectron2 computed it in RAM: slower, the same result. If the program ended after this line, RAM ran out (\"Killed\") or a later step failed on the card; the line does not show which.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Downscale the image before the predictor", Told: "Half the side is a quarter of the memory. Scale the label map up again with INTER_NEAREST if you need the old size.", Kind: "python", Text: "im = cv2.resize(im, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)   # im: what you give to the predictor", Cost: "Coarser edges."},
			{Fix: "lower_batch_size", Title: "Turn off panoptic and instance output", Told: "Then the scores of the classes are scaled up instead of those of all queries. For Mask2Former, at the end of the command; OneFormer has MODEL.TEST in place of MODEL.MASK_FORMER.TEST.", Kind: "text", Text: "`MODEL.MASK_FORMER.TEST.PANOPTIC_ON False MODEL.MASK_FORMER.TEST.INSTANCE_ON False`", Cost: "Only the semantic map is left."},
			{Fix: "add_swap", Title: "If the program ended: check whether RAM ran out", Told: "\"Killed process\" in the output means RAM: process one image at a time, or add swap. `nvidia-smi` shows what else is on the card.", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'killed process|out of memory' | tail; free -h", Cost: "A look is free."},
		},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "Mask2Former/mask2former/maskformer_model.py", "OneFormer/oneformer/oneformer_model.py", "https://github.com/SHI-Labs/OneFormer/issues/50"},
	},
	{
		ID: "detectron2/retry-match", Kinds: retried, If: retriedOf("pairwise_iou", "matcher", "assign"),
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "ran out while matching boxes, and continued on the CPU: a warning, not a crash",
		Means: "It was comparing the anchors with the objects of one image: all anchors x all objects. A crowded image made that too large for what was free, so it was computed in RAM: the same result, but much slower. Many such lines mean that training is slow and close to a real failure.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size: it leaves more for the matrix"},
			{Fix: "lower_resolution", Title: "Train on random crops", Told: "A crop has fewer objects and fewer anchors.", Kind: "python", Text: "cfg.INPUT.CROP.ENABLED = True\ncfg.INPUT.CROP.SIZE = [0.6, 0.6]   # of height and width", Cost: "Objects on the edges are cut."},
			{Fix: "mixed_precision"},
		},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "detectron2/detectron2/modeling/proposal_generator/rpn.py", "detectron2/detectron2/config/defaults.py"},
	},
	{
		ID: "detectron2/retry", Kinds: retried, If: when.Root(fact.TorchRetry),
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out on the card and continued on the CPU: a warning, not a crash",
		Means: "One function did not fit on the card, so its inputs were copied to RAM and it was computed there: the same result, much slower. The line does not say how much was lacking. If the program ended after it, a later step failed on the card, or RAM ran out (\"Killed\").",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See what else is on the card", Told: "End an old run of yours by its PID.", Kind: "shell", Text: "nvidia-smi", Cost: "Free"},
			{Fix: "lower_batch_size"}, {Fix: "lower_resolution"},
		},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "mmdetection/mmdet/utils/memory.py"},
	},
	{
		ID: "detectron2/paste-masks", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"paste_masks_in_image", "_do_paste_mask"},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "ran out while pasting masks into the full-size image",
		Means: "The network had finished. Detectron2 was pasting every mask into the ORIGINAL image: objects x height x width, a byte each for the result and up to 1 GB of working memory. 100 objects in 4000 x 6000 pixels are 2.2 GiB. Large images and many detections cause it.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Downscale the image before the predictor", Told: "Half the side is a quarter of the memory.", Kind: "python", Text: "im = cv2.resize(im, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)   # im: what you give to the predictor", Cost: "Coarser edges."},
			{Fix: "lower_batch_size", Title: "Keep fewer detections (DETECTIONS_PER_IMAGE)", Told: "Where the config is made:", Kind: "python", Text: "cfg.TEST.DETECTIONS_PER_IMAGE = 50             # default 100\ncfg.MODEL.ROI_HEADS.SCORE_THRESH_TEST = 0.5    # default 0.05", Cost: "The weakest detections are dropped."},
			{Fix: "cpu_offload", Title: "Paste the masks on the CPU", Told: "In detectron2/modeling/postprocessing.py, at the start of `detector_postprocess`: `results = results.to(\"cpu\")`.", Cost: "Somewhat slower; RAM for the masks."},
		},
		Sources: []string{"detectron2/detectron2/layers/mask_ops.py", "detectron2/detectron2/utils/memory.py", "detectron2/detectron2/config/defaults.py"},
	},
	{
		ID: "detectron2/copied-to-cpu", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"Attempting to copy inputs"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory although it had moved a function to the CPU", Figures: filled,
		Means:   "The card had run out before: \"Attempting to copy inputs\" means that Detectron2 computes one function in RAM instead, most often the matching of boxes in a crowded image. Then a step that cannot move failed.[[ Of {full}, {mine} is this program's own ({mine%}).]]",
		Cures:   []cause.Cure{{Fix: "lower_batch_size"}, {Fix: "lower_resolution"}, {Fix: "mixed_precision"}},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "https://github.com/facebookresearch/detectron2/issues/2595"}, Solved: 1,
	},
	{
		ID: "detectron2/slack", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(cures.SlackWouldDo, (*ledger.Case).Training, when.Not(ledger.Crowded)),
		Cause: cause.Fragmentation, Weight: cause.Strong, Headline: "ran out of memory while {slack} of its own was unused (fragmentation)",
		Means: "{slack} of PyTorch's memory is free but split into pieces, none large enough for {asked}. In most of Detectron2's configs images are resized to changing sizes (`MIN_SIZE_TRAIN` lists several), widths differ and so does the number of boxes, so each step asks for other pieces. {mine} of {total} is this program's own: a step as large as the largest is close to the limit anyway.",
		Cures: []cause.Cure{
			{Fix: "expandable_segments", If: when.Not(cures.SplitEra)},
			{Fix: "max_split_size", If: when.All(cures.SplitEra, when.Not(cures.NewerAllocator.If)), Title: "Set max_split_size_mb", Cost: "sometimes slower", Steps: cures.SplitSize},
			{Fix: "lower_batch_size", Told: "Before the trainer is made; twice the `MAX_ITER` and `STEPS` for as many images.", Own: true},
			{Fix: "lower_resolution", Title: "Use smaller images, of one size", Told: "It saves memory and leaves fewer pieces.", Kind: "python", Text: "cfg.INPUT.MIN_SIZE_TRAIN = (640,)   # the shorter side; the defaults go up to 800\ncfg.INPUT.MAX_SIZE_TRAIN = 1000", Cost: "small objects are found less well"},
			{Fix: "use_smaller_model", Title: "Store fewer activations: freeze more, fewer proposals", Told: "For transfer learning:", Kind: "python", Text: "cfg.MODEL.BACKBONE.FREEZE_AT = 3                 # default 2\ncfg.MODEL.ROI_HEADS.BATCH_SIZE_PER_IMAGE = 128   # default 512", Cost: "some accuracy"},
			cures.NewerAllocator,
		},
		Sources: []string{"detectron2/detectron2/config/defaults.py", cures.AllocatorSource},
	},
	stepCard("detectron2/step", []string{"detectron2/engine/", "detectron2/modeling/"},
		"`SOLVER.IMS_PER_BATCH` (16 by default) is the batch of ALL cards together. Configs of the model zoo are made for eight cards; with one card it gets all 16 images.",
		"NUM_WORKERS: workers use system memory (RAM).", "https://github.com/facebookresearch/detectron2/issues/987",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "mixed_precision"}),
}

// retriedOf holds for a function of one of the names that went on on the CPU.
func retriedOf(names ...string) func(c *ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.Root(fact.TorchRetry) && slices.ContainsFunc(names, c.Contains) }
}

var timmCards = []cause.Card{
	stepCard("timm/step", []string{"pytorch-image-models/", "in train_one_epoch"},
		"`--batch-size` is 128 images for each card by default, in 32 bit without `--amp`. At 384 pixels a step needs about three times the memory of 224 pixels.",
		"More cards: `--batch-size` counts for each card.", "pytorch-image-models/train.py",
		cause.Cure{Fix: "mixed_precision"}, cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "gradient_checkpointing"}),
}

var detrCards = []cause.Card{
	{
		ID: "detr/matcher", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"models/matcher.py", "torch.cdist(out_bbox", "linear_sum_assignment"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "ran out while matching queries to objects", Figures: filled,
		Means: "It failed in the matcher. Its cost matrix has the queries of the whole batch x the objects of the whole batch: twice the batch is four times the matrix, and one crowded image can be enough.[[ Besides, {outside} of the {total} is held outside this program.]]",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "cpu_offload", Title: "Compute the matching costs on the CPU", Told: "In models/matcher.py, before the costs are computed; the assignment itself runs on the CPU anyway:", Kind: "python", Text: "out_prob, out_bbox = out_prob.cpu(), out_bbox.cpu()\ntgt_ids, tgt_bbox = tgt_ids.cpu(), tgt_bbox.cpu()", Cost: "Somewhat slower."},
			{Fix: "lower_resolution", Title: "Cut crowded images into tiles", Told: "This lists the images with the most objects:", Kind: "shell", Text: fullest, Cost: "Objects on the edges are cut."},
			freeOthers,
		},
		Sources: []string{"detr/models/matcher.py"},
	},
	stepCard("detr/step", []string{"engine.py", "models/transformer.py", "models/backbone.py", "deformable_transformer.py"},
		"Images of up to 1333 pixels are padded to the largest of the batch, and the encoder attends over all positions, so the largest images decide. `--batch_size` counts for EACH card.",
		"", "detr/datasets/coco.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "use_smaller_model"}),
}
