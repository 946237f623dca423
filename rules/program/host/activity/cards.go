package activity

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Kill and OtherKills say what signal 9 means where nothing explains it.
const (
	Kill = "\"Killed\" (signal 9) nearly always means that RAM, or the memory limit of a container or job, was full. "
	// Stage is the last line before the end, where it tells one.
	Stage = "[[The line before it is \"{stage}\", so it was at that step or the next. ]]"
	// Held is what the program said of its own memory last.
	Held       = "[[By its own count it held {held} shortly before. ]]"
	OtherKills = "A `kill -9` or a time limit looks the same."
)

// work is a kind of work that fills RAM in its own way: the words that its lines
// begin with and its commands are named by, what it was doing, why that takes RAM,
// and what makes it smaller.
type work struct {
	// inPython: its words mean something else in other programs; long: it says little
	// while it goes on.
	inPython, long                bool
	id, says, named, doing, means string
	cure                          cause.Cure
}

var works = []work{
	{
		false, true, "converting", "", "", "while it converted a model's weights", "A conversion usually has all weights in RAM: as much as the files, twice that in 32 bit, and for a moment again when it saves.[[ {model}]]",
		cause.Cure{Fix: "half_precision", Title: "Keep 16 bit, or download converted weights", Told: "Look in the script's options for a data type (`--dtype bfloat16`, `--fp16`). Often somebody has put the converted weights on the Hub. Otherwise RAM and swap together need the sum above.", Cost: "none"},
	},
	{
		true, false, "saving", "saving writing dumping merging packing concatenating joining", "merge merging", "while it joined or saved its results", "A join builds the whole while its parts still exist, and saving or merging often works on a full copy.",
		cause.Cure{Fix: "stream_dataset", Title: "Save in parts, and free what is done", Told: "[[{option} ]]Write every part as soon as it is ready (`np.save`, `torch.save`, one file for some thousand items), and `del` it. When merging adapters, load the base model in 16 bit, not 32.", Cost: "some rewriting"},
	},
	{
		true, true, "export", "exporting", "export onnx torch2onnx tflite torchscript tensorrt", "while it exported a model", "An export runs the model on an example input, usually on the CPU, and then holds all weights twice. The example's batch and size count as in any run.",
		cause.Cure{Fix: "lower_batch_size", Title: "Export with batch 1 and a small example input", Told: "Look in the script for the example (`dummy_input`, `torch.rand(...)`, `torch.randn(...)`). Batch 1 is enough where `dynamic_axes` leaves the batch open. Call the export under `torch.no_grad()`.", Cost: "none"},
	},
	{
		false, true, "quantising", "quantizing quantising calibrating", "quantize quantise quantization quantizer quant gptq awq", "while it quantised a model", "The original model is in RAM (2 GB per billion parameters in 16 bit, twice that in 32), and beside it the calibration samples with each layer's outputs for them.",
		cause.Cure{Fix: "lower_batch_size", Title: "Calibrate with fewer and shorter samples", Told: "[[{option} ]][[It had {samples} samples here. ]]128 samples of 512 tokens are a usual start: `num_calibration_samples=128, max_seq_length=512` in llm-compressor, fewer and shorter `examples` in AutoGPTQ. Load the original in 16 bit, not 32.", Cost: "perhaps some accuracy"},
	},
	{
		false, true, "indexing", "indexing", "indexer indexing faiss buildindex createindex indexbuilder", "while it built an index", "A flat index holds every vector in RAM: vectors x dimension x 4 bytes, and usually beside the array that they come from.",
		cause.Cure{Fix: "stream_dataset", Title: "Add the vectors in parts, from disk", Told: "Write the embeddings to a `.npy` file first, then add them in parts. If the index itself is too large, compress it: `faiss.index_factory(d, \"IVF4096,PQ64\")`.", Kind: "python", Text: "x = np.load(\"vectors.npy\", mmap_mode=\"r\")\nfor i in range(0, len(x), 100_000):\n    index.add(x[i:i + 100_000])", Cost: "some rewriting"},
	},
	{
		true, true, "evaluating", "evaluating testing predicting inferring validating", "eval evaluate evaluation test infer inference predict prediction", "while it evaluated a model", "Evaluation code often keeps the outputs of all samples (logits, masks, images) until the metric is computed. Then the need grows with the set, not with the batch.",
		cause.Cure{Fix: "stream_dataset", Title: "Keep less of each batch", Told: "[[{option} ]]Keep what the metric needs, such as `logits.argmax(-1).cpu()`, and write the rest to a file for each batch. Without changing code: split the test set, run the parts one by one and join the results.", Cost: "some rewriting"},
	},
	{
		true, false, "reading", "loading reading", "", "while it read its data", "A file that is read whole takes more RAM than disk: text and JSON become objects of several times their size, images and archives unpack to raw numbers.",
		cause.Cure{Fix: "stream_dataset", Title: "Read the data in parts", Told: "[[{option} ]]Tables: `pd.read_csv(path, usecols=[...], chunksize=100_000)`. JSON: one object per line, read line by line. Arrays: `np.load(path, mmap_mode=\"r\")`. Images: keep the paths, and open each when it is used.", Cost: "some rewriting"},
	},
	{
		false, true, "preparing", "preprocessing processing preparing converting extracting tokenizing tokenising parsing", "preprocess preprocessing preprocessor prepro prepare convert converter conversion extract extraction tokenize", "while it prepared data", "Such scripts often keep every result until the end, and each of their processes holds its own part.",
		cause.Cure{Fix: "stream_dataset", Title: "Work through the input in parts", Told: "[[{option} ]]Run it on a tenth of the input. If that works, split the input and run the parts one by one, or change the loop so that it writes each result instead of appending it to a list. Start one process.", Cost: "time"},
	},
}

// Cards are about a kill without a word, after those that know more; ask and swap
// are the host's own cures.
func Cards(ask, askFree, swap cause.Cure) (out []cause.Card) {
	card := func(id, doing, means string, holds func(*ledger.Case) bool, cures ...cause.Cure) {
		out = append(out, cause.Card{
			ID: "linux/killed-" + id, Kinds: []fact.Kind{fact.ShellKilled}, If: holds, Figures: Figures, Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "killed the program " + doing + ", most likely because RAM ran out",
			Means:    Held + "[[{when} ]]" + means + Kill + OtherKills,
			Not:      "[[Settings of {gpu}: a full GPU raises an error instead.]]",
			Cures:    cures, Sources: []string{"linux/mm/oom_kill.c", "https://numpy.org/doc/stable/reference/generated/numpy.lib.format.open_memmap.html", "https://github.com/pytorch/pytorch/issues/61263", "https://github.com/Peterande/D-FINE/issues/258"},
		})
	}
	card("gguf", "while it converted a model to GGUF", "Converters of before May 2024 kept every converted tensor in RAM until the end: 2 GB per billion parameters in 16 bit, and read each file beside that. ", toGGUF,
		cause.Cure{Fix: "upgrade_version", Title: "Convert with a newer llama.cpp", Told: "Its `convert_hf_to_gguf.py` reads and writes one tensor at a time; leave out `--no-lazy`. If RAM is short all the same, add `--use-temp-file`.", Kind: "shell", Text: "git -C llama.cpp pull && pip install -r llama.cpp/requirements.txt", Cost: "some minutes"},
		cause.Cure{Fix: "use_lower_quant", Title: "Or download a GGUF file", Told: "Search the model's name with GGUF on huggingface.co: most models have been converted already.", Cost: "a download"}, ask, swap)
	for i := range works {
		card(works[i].id, works[i].doing, works[i].means+" ", works[i].does, works[i].cure, ask, swap)
	}
	card("serving", "after it had answered requests", "It had answered {requests} requests, so it can start and work. Then either memory grows with each request, or one input was large, or several ran at once. ", func(c *ledger.Case) bool { return requests(c) > 1 },
		cause.Cure{Fix: "detach_accumulated", Title: "See whether memory grows with the requests", Told: "If RSS rises with each request, empty what the code keeps, and let the server renew its workers: gunicorn `--max-requests 500`, uvicorn `--limit-max-requests 500`; restart others now and then. If it jumps with one, limit the size of the input and the requests at once.", Kind: "shell", Text: "watch -n 2 'ps -eo pid,rss,args --sort=-rss | head -5'", Cost: "free"}, ask, swap)
	card("after-loop", "right after a loop had finished", "", loopDone,
		ask, cause.Cure{Fix: "stream_dataset", Title: "Write results out as they come", Told: "Save a file for every 10,000 results (`np.save`, `torch.save`) instead of joining one long list at the end, or fill an array on disk. A run on a tenth of the data shows whether the amount is the reason.", Kind: "python", Text: "out = np.lib.format.open_memmap(\"all.npy\", mode=\"w+\", dtype=np.float32, shape=(n, width))   # n results of width numbers\nout[i] = result   # in the loop; on disk, not in RAM", Cost: "some rewriting"}, swap)
	card("in-loop", "in the middle of a loop", "", inLoop,
		cause.Cure{Fix: "stream_dataset", Title: "Keep less from each item, or do fewer in one run", Told: "In your own code keep file paths, not decoded images, and write results out every thousand items, or fill one array on disk. In a program of others, give it a part of the input at a time.", Kind: "python", Text: "out = np.lib.format.open_memmap(\"data.npy\", mode=\"w+\", dtype=np.uint8, shape=shape)   # shape: of the whole\nout[i] = x   # in the loop, instead of appending to a list", Cost: "some rewriting"}, askFree,
		cause.Cure{Fix: "lower_num_workers", Title: "Use fewer worker processes", Told: "[[{option} ]]Each holds what it works on, and often its own copy of the data: `num_proc=1`, `n_jobs=1`, `num_workers=0`.", Cost: "time"})
	return out
}
