package subject

import (
	"strings"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// remembered: a tracker of masks reads what it kept of earlier frames.
var remembered = says("update_memory", "add_memory", "memory_manager", "inference_core.py", "inferencecore", "mem_every", "long_term_mem", "kv_memory_store", "segtracker", "read_memory", "memory_readout", "aot_engine", "propagate_in_video")

// shown: it is about pictures.
var shown = says("frame", "mask", "video", "image", "img", "track")

// faces: the detector of face_alignment goes over whole frames.
var faces = says("detection/sfd", "sfd/detect.py", "sfd_detector", "get_detections_for_batch")

// filmed: the program is for video, by its own file or the function.
var filmed = says("run_video", "inference_video", "video_inference", "demo_video", "test_video", "process_video", "infer_video", "video_demo", "video.py")

// largePart: not a last small piece.
func largePart(c *ledger.Case) bool { return !c.Asked.Has() || c.Asked.Bytes*16 > c.Total.Bytes }

const smallFilm = "ffmpeg -i input.mp4 -vf \"scale=iw/2:-2\" small.mp4   # half the width and height; add -ss 0 -t 5 for the first five seconds"

// frameCards are about what a program keeps or passes of a video.
var frameCards = []cause.Card{{
	ID: "pytorch/tracked-masks", Kinds: cures.Refused, If: of(when.All(remembered, shown), when.Not(training)), Cause: cause.RetainedMemory, Weight: cause.Strong,
	Headline: "ran out of memory while tracking objects through a video",
	Means:    "Such a tracker keeps features of earlier frames and compares each new frame with them. So memory grows with the number of kept frames and objects, and with the frame size.",
	Not:      "`empty_cache()`: the kept frames are in use.[[ Closing programs: {few}.]]",
	Later:    "If it fails at the very first frames, the frames are too large or there are too many objects.",
	Cures: []cause.Cure{
		gradientsOpen,
		{Fix: "lower_resolution", Title: "Track smaller frames", Cost: "fine edges", Told: "Half the width and height takes at most a quarter of the memory. XMem: `--size 360` (default 480). Cutie: `max_internal_size=480` (default -1, no limit). Or shrink the video first:", Kind: "shell", Text: smallFilm},
		{Fix: "lower_context", Title: "Keep fewer frames", Cost: "objects that vanish for long may be lost", Told: "XMem: `--mem_every 10` (default 5) and `--max_mid_term_frames 5` (default 10); Cutie: lower `max_mem_frames` (default 5); SAM-Track: lower `max_len_long_term` (default 9999)."},
		{Fix: "lower_parallel", Title: "Track fewer objects at a time", Cost: "a run for each group", Told: "Track groups of 5 (Cutie: `chunk_size: 5`). Or cut the video, and start each part with the last mask of the previous one."},
		{Fix: "half_precision", If: when.Not(ledger.Before2020), Title: "Compute it in 16 bit", Cost: "hardly any quality", Told: "`with torch.autocast(\"cuda\"):` around the loop (Cutie: `amp: True`)."},
	},
	Figures: func(c *ledger.Case) map[string]string {
		out := cures.Scene(c)
		if out["few"] = ""; c.Others.Has() && c.Others.Bytes > 0 {
			out["few"] = c.Others.String() + " is outside this program, part of it CUDA's own"
		}
		return out
	},
	Sources: []string{"XMem/eval.py", "Cutie/cutie/config/eval_config.yaml", "Segment-and-Track-Anything/aot/networks/engines/aot_engine.py", "https://github.com/z-x-yang/Segment-and-Track-Anything/issues/3", "https://github.com/hkchengrex/Cutie/issues/86"},
}, {
	ID: "pytorch/faces-of-frames", Kinds: cures.Refused, If: of(faces), Cause: cause.BatchTooLarge, Weight: cause.Decisive,
	Headline: "ran out of memory while detecting faces in video frames[[: {asked} at once]]",
	Means:    "The face detector (S3FD) failed, not the talking-head model. It processes whole frames at full size, often several per call. A frame of 1920 x 1080 takes about nine times the memory of one of 640 x 360.",
	Not:      "A smaller model or 16 bit in the lip-sync network: the detector is what failed.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Detect in fewer frames at a time", Cost: "slower; same result", Told: "Wav2Lip and programs based on it: `--face_det_batch_size 4` (default 16), then 1. If the batch is set in the code (TalkLip's `detect_bbx`: 32), change it there:", Kind: "python", Text: "batches = [frames[i:i + 4] for i in range(0, len(frames), 4)]"},
		{Fix: "lower_resolution", Title: "Or shrink the video first", Cost: "detail", Told: "Wav2Lip: `--resize_factor 2`. Any program:", Kind: "shell", Text: smallFilm},
		{Fix: "lower_context", Title: "Or crop the frames around the head", Cost: "none, if the head stays there", Told: "Use ffmpeg's `-vf crop=w:h:x:y`; Wav2Lip has `--crop`."},
	},
	Figures: cures.Scene, Sources: []string{"Wav2Lip/inference.py", "TalkLip/inf_demo.py", "https://github.com/Sxjdwang/TalkLip/issues/2"},
}}

// tested: many inputs had gone through a network with gradients off.
func tested(c *ledger.Case) bool {
	return cures.Freed(c) && !c.Training() && stage(c) == "uses" && cures.LateStep(c)
}

// TestCards are for an evaluation that had gone well for a while.
var TestCards = []cause.Card{{
	ID: "pytorch/late-test", Kinds: cures.Allocators, If: when.All(unknown, cures.OnOneCard, cures.OwnCard, tested), Among: []string{cause.RetainedMemory, cause.LeakedProcess, cause.BatchTooLarge, cause.OversizedAllocation, cause.ModelTooLarge, cause.Unknown},
	Headline: "ran out of memory at one of many test inputs",
	Means:    "The log shows earlier inputs that passed, and gradients are off. Most likely this input is larger than the others (point cloud, image or recording), or results of all inputs stay on the GPU.",
	Not:      "Training settings: this is a test.[[ {settings}.]]",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Print the size of each input, and limit the largest", Cost: "detail of those", Told: "If memory jumps at this input, use a coarser voxel size or a smaller image for it, process it in blocks, or leave it out.", Kind: "python", Text: "print(x.shape, torch.cuda.memory_allocated() // 2**20, \"MiB\")   # before the network; x: what goes in, or its largest tensor"},
		{Fix: "detach_accumulated", Title: "If memory climbs steadily: move each result to system RAM", Cost: "none", Told: "Keep only the predicted class (`.argmax(1).cpu()`), or add up a confusion matrix."},
		{Fix: "empty_cache", Title: "If input sizes vary a lot: empty the cache between inputs", Cost: "slower", Kind: "python", Text: "torch.cuda.empty_cache()   # after each input"},
		{Fix: "lower_batch_size", Title: "Or test one input at a time", Cost: "slower", Told: "Many scripts have a separate option for it (`--test_batch_size`, `val_batch_size`)."},
	},
	Figures: cures.Scene, Sources: []string{cures.MemoryFAQ, "https://github.com/guochengqian/PointNeXt/issues/147", "https://github.com/thangvubk/SoftGroup/issues/43"},
}}

// FilmCards are for videos of which nothing else is known.
var FilmCards = []cause.Card{{
	ID: "pytorch/film-at-once", Kinds: cures.Refused, If: of(filmed, when.Not(training), largePart), Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory on the frames of a video[[: {asked} at once]]",
	Means:    "{line} probably processes many frames in one call. Memory grows with the number of frames per call and with their size.",
	Cures: []cause.Cure{
		gradientsOpen,
		{Fix: "lower_context", Title: "Pass fewer frames per call", Cost: "slower; joins may show", Told: "Look for the script's option for a window, chunk or maximum number of frames, also for the decoder at the end. Otherwise cut the video into clips of a few seconds."},
		{Fix: "lower_resolution", Title: "Make the frames smaller", Cost: "detail", Told: "Use the script's own size option, or shrink the video first:", Kind: "shell", Text: smallFilm},
		{Fix: "half_precision", If: when.Not(when.Any(ledger.Before2020, cures.NarrowAlready)), Title: "Compute it in 16 bit", Cost: "hardly any quality", Told: "Use its fp16 or `dtype` option; in code `model.half()` and `x.half()`."},
	},
	Figures: func(c *ledger.Case) map[string]string {
		out := cures.Scene(c)
		out["line"] = "Such a program"
		if f := ledger.OwnFrame(c); f != nil && strings.HasSuffix(f.Source, ")") {
			out["line"] = "`" + f.Source + "`"
		}
		return out
	},
	Sources: []string{cures.MemoryFAQ, "https://github.com/prs-eth/RollingDepth/issues/26", "https://github.com/XiaoyuShi97/VideoFlow/issues/21"},
}}
