package script

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// keepsGraph is the list to which a line adds the output of a network that it
// moves to RAM with its graph, "" for none: .cpu() keeps what made a tensor.
func keepsGraph(c *ledger.Case) string {
	if cures.Freed(c) {
		return ""
	}
	for _, f := range ledger.Trace(c) {
		if !f.Own || !strings.Contains(f.Source, ".cpu()") {
			continue
		}
		if m := patterns().appended.FindStringSubmatch(f.Source); m != nil && !containsAny(f.Source, "detach", ".item()", ".data.", "numpy()", ".argmax", "loss") {
			return m[1]
		}
	}
	return ""
}

var grids = strings.Fields("grid_points grid_pts query_points query_pts xyz_grid coords_grid all_points sample_points grid samples_grid all_pts grid_coords all_rays query_xyz grid_xyz points_grid")

// isGrid: the name of all points of a grid, or of a whole picture's rays.
func isGrid(input string) bool {
	return slices.Contains(grids, strings.ToLower(input[strings.LastIndexByte(input, '.')+1:]))
}

var decoding = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b((?:self\.)?\w*(?:vae|first_stage_model|autoencoder|vqgan|vqvae|vq_model|decoder)\w*)\.decode\(\s*(` + name + `)|\b(decode_first_stage|decode_latents?|vae_decode)\(\s*(` + name + `)`)
})

// decoded is what a line decodes into pictures, "" for none.
func decoded(c *ledger.Case) (call, latents string) {
	for _, f := range slices.Backward(ledger.Trace(c)) {
		if !f.Own || !strings.Contains(f.Source, "decode") {
			continue
		}
		if m := decoding().FindStringSubmatch(f.Source); m != nil {
			if m[1] != "" {
				return m[1] + ".decode", m[2]
			}
			return m[3], m[4]
		}
	}
	return "", ""
}

// spoken: recordings go through a network of the reader's own, by its names.
func spoken(c *ledger.Case) bool {
	own := 0
	for _, f := range ledger.Trace(c) {
		if !f.Own {
			continue
		}
		for word := range reader.Words(f.Source) {
			if slices.Contains([]string{"feats", "fbank", "mel", "mels", "wav", "wavs", "waveform", "speech", "audio", "spec", "utt", "utts", "xlens", "fbanks"}, word) {
				own++
			}
		}
	}
	return own > 0 && (c.Reader.Work == "audio" || own > 1)
}

// joint: an encoder's frames meet a predictor's labels, all with all.
func joint(c *ledger.Case) bool {
	for _, f := range ledger.Trace(c) {
		if f.Own && strings.Contains(f.Source, "unsqueeze(2)") && strings.Contains(f.Source, "unsqueeze(1)") && strings.Contains(f.Source, "+") || f.Own && slices.Contains([]string{"joint", "joiner", "joint_net", "joint_network", "rnnt_loss"}, f.Function) || f.Own && containsAny(f.Source, "self.joiner(", "self.joint(", "joint_network(", "rnnt_loss(") {
			return true
		}
	}
	return false
}

// negatives: rows of an embedding for every negative sample of a batch.
func negatives(c *ledger.Case) bool {
	s, ok := failing(c)
	return ok && s.itself() && s.says("neg", "Neg") && s.says("index_select", "embedding", "emb(", "emb[", "embeds", "unsqueeze", "matmul", "bmm(", " * ", " - ", " + ")
}

// loopCards are about what loops and generators of a script of one's own compute.
var loopCards = []cause.Card{
	{
		ID: "pytorch/graph-kept", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, func(c *ledger.Case) bool { return keepsGraph(c) != "" }), Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory in a loop that may keep the activations of each output",
		Means:    "Nothing in the traceback turns gradients off. If they are on, each result in `{list}` keeps all its activations on the GPU, even after `.cpu()`. Memory then grows with every iteration.",
		Not:      "`empty_cache()`, `model.eval()`: neither frees a graph.",
		Later:    "If it fails at the first iteration even with gradients off, the input is too large: use a smaller batch or image.",
		Cures: []cause.Cure{
			{Fix: "inference_mode", Title: "Turn gradients off around the loop", Cost: "none", Kind: "python", Text: "with torch.no_grad():   # around the loop, or @torch.no_grad() above its function\n    ..."},
			{Fix: "detach_accumulated", Title: "Or, if the loop needs gradients: detach what you store", Cost: "none", Kind: "python", Text: "{list}.append(out.detach().cpu())   # out: what the network gives"},
			{Fix: "lower_batch_size", Title: "Check whether memory climbs", Cost: "free", Kind: "python", Text: "print(torch.cuda.memory_allocated() // 2**20, \"MiB\")   # in the loop; if it stays flat: use a smaller batch or input"},
		},
		Figures: func(c *ledger.Case) map[string]string {
			out := cures.Scene(c)
			out["list"] = keepsGraph(c)
			return out
		},
		Sources: []string{cures.MemoryFAQ, "https://docs.pytorch.org/docs/stable/notes/autograd.html"},
	},
	{
		ID: "pytorch/whole-grid", Kinds: cures.Refused, If: ofNetwork(isGrid), Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory: all points of `{input}` go through the network in one call",
		Means:    "Every layer's output has points x width values. A grid of 512 x 512 x 512 has 134 million points: 128 GiB for one layer 256 wide.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Pass the points in chunks, without gradients", Cost: "none", Kind: "python", Text: "with torch.no_grad():\n    out = torch.cat([{net}(part.to(device)).cpu() for part in {input}.split(65536)])   # the same call as yours"},
			{Fix: "lower_resolution", Title: "Use a coarser grid", Cost: "detail", Told: "Half the resolution of a volume has an eighth of the points. Try 128 or 256 per side first."},
			{Fix: "cpu_offload", Title: "Keep the grid in system RAM", Cost: "none", Told: "Create it without `.cuda()` and move only each chunk."},
		},
		Figures: namesOf(isGrid), Sources: []string{cures.MemoryFAQ, "https://pytorch.org/docs/stable/generated/torch.split.html"},
	},
	{
		ID: "pytorch/decoding", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, when.Not((*ledger.Case).Training), func(c *ledger.Case) bool { _, z := decoded(c); return z != "" && alone(c) }), Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while decoding latents into images",
		Means:    "The decoder works at full image size, on all images or frames passed in one call. The sampling model is usually still on the GPU as well.",
		Not:      "Fewer sampling steps: decoding takes the same memory. {settings}.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Move the sampling model off the GPU first", Cost: "some seconds", Kind: "python", Text: "model.to(\"cpu\"); torch.cuda.empty_cache()   # before the decode; model: your UNet or transformer, and the text encoder"},
			{Fix: "vae_tiling", Title: "Decode one image, or a few frames, at a time", Cost: "hardly slower; video decoders may show seams", Kind: "python", Text: "with torch.no_grad():\n    out = [{call}({latents}[i:i + 1]) for i in range(len({latents}))]   # each to .cpu(), as in your line", Told: "A VAE from diffusers: call `vae.enable_tiling()` and `vae.enable_slicing()`. Any other:"},
			{Fix: "half_precision", Title: "Decode in 16 bit", Cost: "bfloat16 is safe; float16 may give black images", Told: "Call `.to(torch.bfloat16)` on the VAE and the latents: half the memory."},
			{Fix: "lower_resolution", Title: "Or use a smaller size", Cost: "detail", Told: "Half the width and height takes a quarter. Of a video, use fewer frames."},
		},
		Figures: func(c *ledger.Case) map[string]string {
			out := cures.Scene(c)
			out["call"], out["latents"] = decoded(c)
			return out
		},
		Sources: []string{"https://huggingface.co/docs/diffusers/optimization/memory", cures.MemoryFAQ},
	},
	{
		ID: "pytorch/joint", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, largePart, joint, alone), Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in a transducer's joint network",
		Means:    "The joint network combines every audio frame with every label: batch x frames x labels x width, then x vocabulary for the loss. One long recording with a long text pads the whole batch to its size.",
		Not:      "A smaller encoder alone: this tensor stays as large. {settings}.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size", Cost: "slower", Told: "Half the batch size[[ ({batch})]] takes half the memory. Better: sort by length and limit frames x labels per batch."},
			{Fix: "lower_context", Title: "Drop or cut the longest recordings", Cost: "the longest are not trained on", Told: "Drop those above 15 or 20 seconds: half the length takes a quarter of the memory. Stronger subsampling in the encoder (4 to 8 times) leaves fewer frames."},
			{Fix: "efficient_attention", Title: "Or use a pruned loss", Cost: "some rewriting", Told: "`fast_rnnt.rnnt_loss_pruned` computes the joint network only near the best path."},
		},
		Figures: cures.Scene, Sources: []string{"https://github.com/danpovey/fast_rnnt", "https://docs.pytorch.org/audio/stable/generated/torchaudio.functional.rnnt_loss.html"},
	},
	{
		ID: "pytorch/recordings", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, (*ledger.Case).Training, alone, spoken, func(c *ledger.Case) bool { return c.Signal("backward", "optimizer_step") == nil }), Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory on a batch of recordings",
		Means:    "A batch is usually padded to its longest recording, and attention grows with the square of that length. So one long file is enough, at any step.",
		Not:      "{settings}.",
		Later:    cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Drop or cut the longest recordings", Cost: "the longest are not trained on", Told: "Filter the data set's file list by duration, at 15 or 20 seconds (1,500 or 2,000 frames). TTS and vocoders: train on shorter random segments."},
			{Fix: "lower_batch_size", Title: "Lower the batch size", Cost: "slower", Told: "Halve it[[ ({batch})]] and accumulate gradients over two steps. Better: sort by length and limit the total seconds per batch."},
			{Fix: "mixed_precision", If: when.Not(when.Any(ledger.Before2020, cures.Has(fact.MixedPrecision))), Title: "Compute it in 16 bit", Cost: "hardly any quality", Told: "Put {half16} around the forward pass[[{scaler}]]: it halves most activations."},
			cures.CheaperTraining,
		},
		Figures: cures.Scene, Sources: []string{cures.MemoryFAQ, "https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_sequence.html"},
	},
	{
		ID: "pytorch/negatives", Kinds: cures.Refused, If: when.All(cures.OnOneCard, cures.OwnCard, largePart, negatives), Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory on the negative samples of a batch",
		Means:    "The line needs an embedding row for every negative sample: batch x negatives x width values. An evaluation usually takes all entities or items as negatives.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: when.Not(evaluatesAll), Title: "Use fewer negatives per sample", Cost: "usually slightly worse", Told: "Half of them take half the memory; the option may be called `--negative_sample_size` or `num_negatives`. Or share one set of negatives in the whole batch."},
			{Fix: "lower_batch_size", If: evaluatesAll, Title: "Lower the batch size of the evaluation", Cost: "slower", Told: "`--test_batch_size 4` or less, if the script has it. Also score the entities in blocks under `torch.no_grad()`:", Kind: "python", Text: "score = torch.cat([f(h, r, part).cpu() for part in entities.split(4096)], 1)   # f: your scoring function"},
			{Fix: "lower_parallel", If: when.Not(evaluatesAll), Title: "Or halve the batch size", Cost: "slower", Told: "Half the batch size[[ ({batch})]] takes half the memory."},
			{Fix: "use_smaller_model", Title: "Or halve the width of the embedding", Cost: "some accuracy", Told: "That halves this tensor, the embedding table and its optimizer state."},
		},
		Figures: cures.Scene, Sources: []string{"https://github.com/DeepGraphLearning/KnowledgeGraphEmbedding", cures.MemoryFAQ},
	},
}

// evaluatesAll: a function of the traceback evaluates.
func evaluatesAll(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		return f.Own && statement{function: f.Function}.evaluates()
	})
}
