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
	Headline: "ran out of memory while following objects through a video",
	Means:    "Such a tracker keeps features of earlier frames and compares each new frame with all of them. So memory grows with the frames it keeps, with the number of objects, and with the pixels of a frame.[[ This program held {mine} of {total}; {asked} more was refused.]]",
	Not:      "`empty_cache()`: what is kept is in use.[[ Closing programs: {few}.]]",
	Later:    "If it fails at the very first frames, the frames are too large, or there are too many objects: memory is not what grew.",
	Cures: []cause.Cure{
		gradientsOpen,
		{Fix: "lower_resolution", Title: "Track smaller frames", Cost: "fine edges", Told: "Half the width and height is a quarter of each kept frame and a sixteenth of the comparison. XMem: `--size 360` for the shorter side (480); Cutie: `max_internal_size=480` (-1 now: no limit); elsewhere make the video smaller first:", Kind: "shell", Text: smallFilm},
		{Fix: "lower_context", Title: "Keep fewer frames", Cost: "objects that vanish for long may be lost", Told: "XMem: `--mem_every 10` (5), `--max_mid_term_frames 5` (10), without `--disable_long_term`; Cutie: `mem_every`, `max_mem_frames` (5), `use_long_term: True` for long videos; AOT and SAM-Track: `max_len_long_term` (9999 now: no limit) and a larger `long_term_mem_gap`."},
		{Fix: "lower_parallel", Title: "Follow fewer objects at a time", Cost: "a run for each group", Told: "Groups of 5 or 10; Cutie: `chunk_size: 5`. Or cut the video, and begin each part with the last mask of the one before."},
		{Fix: "half_precision", If: when.Not(ledger.Before2020), Title: "Compute it in 16 bit", Cost: "hardly any quality", Told: "`with torch.autocast(\"cuda\"):` around the loop (Cutie: `amp: True`)."},
	},
	Figures: func(c *ledger.Case) map[string]string {
		out := cures.Scene(c)
		if out["few"] = ""; c.Others.Has() && c.Others.Bytes > 0 {
			out["few"] = c.Others.String() + " is outside it, part of which is CUDA's own"
		}
		return out
	},
	Sources: []string{"XMem/eval.py", "Cutie/cutie/config/eval_config.yaml", "Segment-and-Track-Anything/aot/networks/engines/aot_engine.py", "https://github.com/z-x-yang/Segment-and-Track-Anything/issues/3", "https://github.com/hkchengrex/Cutie/issues/86"},
}, {
	ID: "pytorch/faces-of-frames", Kinds: cures.Refused, If: of(faces), Cause: cause.BatchTooLarge, Weight: cause.Decisive,
	Headline: "ran out of memory while looking for faces in whole frames[[: {asked} in one piece]]",
	Means:    "The face detector (S3FD) goes over frames at full size, many in one call; the talking-head model itself had not begun. Frames x height x width decide: a frame of 1920 x 1080 takes about nine times one of 640 x 360.[[ {mine} of {total} was in use before.]]",
	Not:      "A smaller model or 16 bit in the lip-sync network: it failed before that.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Detect in fewer frames at a time", Cost: "slower; the same boxes", Told: "Wav2Lip and most that are made of it: `--face_det_batch_size 4` (16). Where frames are cut into groups in the code (TalkLip's `detect_bbx`: 32), 4 there:", Kind: "python", Text: "batches = [frames[i:i + 4] for i in range(0, len(frames), 4)]"},
		{Fix: "lower_resolution", Title: "Or make the video smaller first", Cost: "detail around the face", Told: "Faces need not be large for it; Wav2Lip: `--resize_factor 2`.", Kind: "shell", Text: smallFilm},
		{Fix: "lower_context", Title: "Or crop the frames around the head", Cost: "none, if the head stays there", Told: "With ffmpeg `-vf crop=w:h:x:y`, or the program's own `--crop` or `--box`."},
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
	Means:    "The log counts inputs that had gone well, and the traceback shows that gradients are off. So most likely this input is larger than those before (a larger cloud, picture or recording), or results of all inputs are kept on the card.[[ {asked} was refused beside {mine} of {total}.]]",
	Not:      "Training settings: nothing is trained here.[[ {settings}.]]",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Print the size of each input, and limit the largest", Cost: "detail of those", Told: "If memory jumps at this input: a coarser voxel or smaller image for it, blocks of it one after another with the results joined in RAM, or leave it out.", Kind: "python", Text: "print(x.shape, torch.cuda.memory_allocated() // 2**20, \"MiB\")   # before the network; x: what goes in, or its largest tensor"},
		{Fix: "detach_accumulated", Title: "If it climbs instead: move each result to RAM", Cost: "none", Told: "Scores of all classes for all points or pixels are large: keep the class (`.argmax(1).cpu()`), or add up a confusion matrix."},
		{Fix: "empty_cache", Title: "If sizes vary much: empty the cache between inputs", Cost: "slower", Kind: "python", Text: "torch.cuda.empty_cache()   # after each input"},
		{Fix: "lower_batch_size", Title: "Or test one input at a time", Cost: "slower", Told: "Most scripts have a batch size of their own for it (`--test_batch_size`, `val_batch_size`)."},
	},
	Figures: cures.Scene, Sources: []string{cures.MemoryFAQ, "https://github.com/guochengqian/PointNeXt/issues/147", "https://github.com/thangvubk/SoftGroup/issues/43"},
}}

// FilmCards are for videos of which nothing else is known.
var FilmCards = []cause.Card{{
	ID: "pytorch/film-at-once", Kinds: cures.Refused, If: of(filmed, when.Not(training), largePart), Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory on the frames of a video[[: {asked} in one piece]]",
	Means:    "{line} works on many frames in one call: frames x channels x height x width for each layer. So the number of frames in a call and their size decide.",
	Cures: []cause.Cure{
		gradientsOpen,
		{Fix: "lower_context", Title: "Pass fewer frames in one call", Cost: "slower; joins may show", Told: "Look for the script's option for a window, snippet, chunk or maximum number of frames, also for the decoder at the end, which works at full size; otherwise cut the video into clips of a few seconds."},
		{Fix: "lower_resolution", Title: "Make the frames smaller", Cost: "detail", Told: "The script's own option for the size, or before it:", Kind: "shell", Text: smallFilm},
		{Fix: "half_precision", If: when.Not(when.Any(ledger.Before2020, cures.NarrowAlready)), Title: "Compute it in 16 bit", Cost: "hardly any quality", Told: "Its option for fp16 or `dtype`; in code `model.half()` with half inputs."},
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
