package trainer

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// refused are the messages of a card, with figures and without.
var refused = []fact.Kind{fact.TorchAlloc, fact.CUDAError}

// ramGone are the ways in which a process is told that RAM is at its end.
var ramGone = []fact.Kind{fact.KernelKill, fact.ShellKilled, fact.RankKilled, fact.SlurmKill, fact.ContainerKill, fact.WorkerKilled, fact.NumpyAlloc, fact.PythonMemory, fact.CPUAlloc}

// ownCard: nothing shows that others hold the card or that it was not full.
func ownCard(c *ledger.Case) bool {
	inPieces := c.Slack.Has() && c.Asked.Has() && c.Total.Has() && c.Slack.Bytes > c.Asked.Bytes && c.Slack.Bytes*8 > c.Total.Bytes
	return ledger.OnCard(c) && !ledger.Crowded(c) && !ledger.Roomy(c) && !inPieces && !c.Limit.Has()
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
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out in a training step[[: it fills the {full} card by itself]]", Figures: filled,
		Means: means + "[[ Of {full}, {mine} is this program's own ({mine%}): closing others gains little.]]",
		Not:   not, Later: later, Cures: cures, Sources: []string{source},
	}
}

// keptLater is what it was if a smaller step only puts the end off.
const keptLater = "If it runs and dies some epochs later, something is kept from step to step: add up `loss.item()`, not `loss`, and move outputs to the CPU."

// filled are figures for sentences: the card's size where this program fills it,
// and what others hold where that is much.
func filled(c *ledger.Case) map[string]string {
	out := map[string]string{"full": "", "outside": ""}
	if ledger.FillsAlone(c) && c.Total.Has() {
		out["full"] = c.Total.String()
	}
	if ledger.Crowded(c) && c.Others.Has() {
		out["outside"] = c.Others.String()
	}
	return out
}

// freeOthers is what to do about others where they hold much.
var freeOthers = cause.Cure{
	Fix: "kill_stale_process", Title: "Free what others hold: {outside}", If: ledger.Crowded,
	Told: "An old run of yours: end it by its PID (`kill PID`); somebody else's: take another card with `CUDA_VISIBLE_DEVICES=1` in front of your command. Perhaps not enough alone.",
	Kind: "shell", Text: "nvidia-smi", Cost: "Free; what you end loses its unsaved work.",
}

var retried = []fact.Kind{fact.TorchRetry}

var detectron2Cards = []cause.Card{
	{
		ID: "detectron2/retry-masks", Kinds: retried, If: retriedOf("sem_seg_postprocess", "semantic_inference", "panoptic_inference", "instance_inference"),
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out on the card and went on on the CPU: a warning, not a crash",
		Means: "It was scaling the mask scores up to the size of the ORIGINAL image: queries or classes x height x width x 4 bytes. 250 queries of an image of 3000 x 4000 are 11.2 GiB. That did not fit on the card, so Detectron2 did it in RAM: the result is the same, only slower. If the program died after this line, it was RAM (\"Killed\"), or a later step on the card; the line shows neither.",
		Not:   "A smaller INPUT.MIN_SIZE_TEST: the result is scaled back to the size of the original.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Give it a smaller original", Told: "Before the predictor; half the side is a quarter of the memory. Scale the label map up again with INTER_NEAREST if you need the old size.", Kind: "python", Text: "im = cv2.resize(im, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)   # im: what you give to the predictor", Cost: "Coarser edges."},
			{Fix: "lower_batch_size", Title: "Compute only what you use", Told: "With panoptic and instance output off, the scores of the classes are scaled up instead of those of all queries. Mask2Former, at the end of the command; OneFormer: MODEL.TEST in place of MODEL.MASK_FORMER.TEST.", Kind: "text", Text: "`MODEL.MASK_FORMER.TEST.PANOPTIC_ON False MODEL.MASK_FORMER.TEST.INSTANCE_ON False`", Cost: "Only the semantic map is left."},
			{Fix: "add_swap", Title: "It died after this line: see whether RAM ran out", Told: "\"Killed process\" there means RAM: swap bridges it, one image at a time avoids it. `nvidia-smi` tells whether something else has the card.", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'killed process|out of memory' | tail; free -h", Cost: "A look is free."},
		},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "Mask2Former/mask2former/maskformer_model.py", "OneFormer/oneformer/oneformer_model.py", "https://github.com/SHI-Labs/OneFormer/issues/50"},
	},
	{
		ID: "detectron2/retry-match", Kinds: retried, If: retriedOf("pairwise_iou", "matcher", "assign"),
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "ran out while matching boxes, and went on on the CPU: a warning, not a crash",
		Means: "It was comparing the anchors with the objects of one image: all anchors x all objects. A crowded image made that too large for what was free, so it was done in RAM: the same result, but seconds instead of milliseconds for that step. Many such lines mean that the card is too full for this data set.",
		Not:   "A smaller backbone alone: the matrix depends on anchors and objects.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "A smaller batch leaves more for the matrix"},
			{Fix: "lower_resolution", Title: "Fewer objects in one image", Told: "Random crops for training: objects and anchors both become fewer.", Kind: "python", Text: "cfg.INPUT.CROP.ENABLED = True\ncfg.INPUT.CROP.SIZE = [0.6, 0.6]   # of height and width", Cost: "Objects on the edges are cut."},
			{Fix: "mixed_precision"},
		},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "detectron2/detectron2/modeling/proposal_generator/rpn.py", "detectron2/detectron2/config/defaults.py"},
	},
	{
		ID: "detectron2/retry", Kinds: retried, If: when.Root(fact.TorchRetry),
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out on the card and went on on the CPU: a warning, not a crash",
		Means: "The card was full for one function, so its inputs were copied to RAM and it was computed there: the same result, much slower. The line does not say how much was lacking. If the program died after it, a step that cannot move failed on the card, or RAM ran out (\"Killed\").",
		Not:   "Ignoring many of these lines: each is a failed allocation that costs seconds.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Look who else is on the card", Told: "An old run of yours: end it by its PID.", Kind: "shell", Text: "nvidia-smi", Cost: "Free"},
			{Fix: "lower_batch_size"}, {Fix: "lower_resolution"},
		},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "mmdetection/mmdet/utils/memory.py"},
	},
	{
		ID: "detectron2/paste-masks", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"paste_masks_in_image", "_do_paste_mask"},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "ran out while pasting masks into the full-size image",
		Means: "The network was done. What failed is pasting every found mask into the ORIGINAL image: objects x height x width, a byte each for the result and up to 1 GB of working memory. 100 objects in 4000 x 6000 pixels are 2.2 GiB. Large originals and many detections make it, not the model.",
		Not:   "A smaller backbone or INPUT.MIN_SIZE_TEST: masks are pasted at the size of the original.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Give it a smaller original", Told: "Before the predictor; half the side is a quarter of the memory.", Kind: "python", Text: "im = cv2.resize(im, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)   # im: what you give to the predictor", Cost: "Coarser edges."},
			{Fix: "lower_batch_size", Title: "Keep fewer detections", Told: "Where the config is made:", Kind: "python", Text: "cfg.TEST.DETECTIONS_PER_IMAGE = 50             # default 100\ncfg.MODEL.ROI_HEADS.SCORE_THRESH_TEST = 0.5    # default 0.05", Cost: "The weakest detections are dropped."},
			{Fix: "cpu_offload", Title: "Paste on the CPU", Told: "In detectron2/modeling/postprocessing.py move the results there first: `results = results.to(\"cpu\")` at the start of `detector_postprocess`.", Cost: "Somewhat slower; RAM for the masks."},
		},
		Sources: []string{"detectron2/detectron2/layers/mask_ops.py", "detectron2/detectron2/utils/memory.py", "detectron2/detectron2/config/defaults.py"},
	},
	{
		ID: "detectron2/copied-to-cpu", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"Attempting to copy inputs"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out for good after it had moved a function to the CPU", Figures: filled,
		Means: "The card had run out before: \"Attempting to copy inputs\" is Detectron2 computing one function in RAM instead, mostly the matching of boxes of a crowded image. Then a step that cannot move failed too.[[ Of {full}, {mine} is this program's own ({mine%}).]]",
		Not:   "Ignoring those notes: each is a failed allocation that costs seconds.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"}, {Fix: "lower_resolution"}, {Fix: "mixed_precision"},
		},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "https://github.com/facebookresearch/detectron2/issues/2595"}, Solved: 1,
	},
	stepCard("detectron2/step", []string{"detectron2/engine/", "detectron2/modeling/"},
		"It failed in a training step. IMS_PER_BATCH, 16 by default, counts over ALL cards: configs of the model zoo are meant for eight, so that a single card gets all 16.",
		"NUM_WORKERS: workers take system memory.", "https://github.com/facebookresearch/detectron2/issues/987",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "mixed_precision"}),
}

// retriedOf holds for a function of one of the names that went on on the CPU.
func retriedOf(names ...string) func(c *ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.Root(fact.TorchRetry) && slices.ContainsFunc(names, c.Contains) }
}

var timmCards = []cause.Card{
	stepCard("timm/step", []string{"pytorch-image-models/", "in train_one_epoch"},
		"It failed in a training step. The default is 128 images for each card, in 32 bit: made for 16 GB and more and for images of 224 pixels. At 384 pixels a step needs three times as much.",
		"More cards: --batch-size is that of one card.", "pytorch-image-models/train.py",
		cause.Cure{Fix: "mixed_precision"}, cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "gradient_checkpointing"}),
}

var detrCards = []cause.Card{
	{
		ID: "detr/matcher", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"models/matcher.py", "torch.cdist(out_bbox", "linear_sum_assignment"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out while matching queries to objects", Figures: filled,
		Means: "It failed in the matcher. Its cost matrix has the queries of the whole batch x the objects of the whole batch, so that twice the batch is four times the matrix. One crowded image is enough, at a random step.[[ Besides, {outside} of the {total} is held outside this program.]]",
		Not:   "A smaller backbone: the matrix does not depend on it.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "cpu_offload", Title: "Compute the costs on the CPU", Told: "In models/matcher.py, before the costs; the assignment itself runs on the CPU anyway:", Kind: "python", Text: "out_prob, out_bbox = out_prob.cpu(), out_bbox.cpu()\ntgt_ids, tgt_bbox = tgt_ids.cpu(), tgt_bbox.cpu()", Cost: "Somewhat slower."},
			{Fix: "lower_resolution", Title: "Or fewer objects in one image", Told: "Cut crowded images into tiles; this finds them:", Kind: "shell", Text: fullest, Cost: "Objects on the edges are cut."},
			freeOthers,
		},
		Sources: []string{"detr/models/matcher.py"},
	},
	stepCard("detr/step", []string{"engine.py", "models/transformer.py", "models/backbone.py", "deformable_transformer.py"},
		"It failed in a training step. Images of up to 1333 pixels are padded to the largest of the batch, and the encoder attends over all positions, so that two large ones together decide; --batch_size is that of ONE card.",
		"Fewer queries: images fill the card, not queries.", "detr/datasets/coco.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "use_smaller_model"}),
}
