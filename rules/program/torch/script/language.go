package script

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

var numberOf = sync.OnceValue(func() map[string]*regexp.Regexp {
	out := map[string]*regexp.Regexp{}
	for _, option := range []string{"batch_size", "num_beams", "num_return_sequences"} {
		out[option] = regexp.MustCompile(`\b` + option + `\s*=\s*(\d{1,5})\b`)
	}
	return out
})

// passed is the number that a line of the reader's own passes for an option, 0
// for none.
func passed(c *ledger.Case, option string) int {
	for _, f := range ledger.Trace(c) {
		if !f.Own || !strings.Contains(f.Source, option) {
			continue
		}
		if m := numberOf()[option].FindStringSubmatch(f.Source); m != nil {
			n, _ := strconv.Atoi(m[1])
			return n
		}
	}
	return ledger.IntSetting(c, option)
}

// passedFigures are the numbers of a call, and less of each.
func passedFigures(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	out["texts"], out["fewer"], out["beams"], out["half"], out["line"] = "", "8", "", "2", ""
	if n := passed(c, "batch_size"); n > 1 {
		out["texts"], out["fewer"] = strconv.Itoa(n), strconv.Itoa(max(n/8, 1))
	}
	if n := passed(c, "num_beams"); n > 1 {
		out["beams"], out["half"] = strconv.Itoa(n), strconv.Itoa(max(n/2, 1))
	}
	if s, ok := failing(c); ok {
		out["line"] = s.source
	}
	return out
}

// ofTexts: what a pipeline reads are texts.
func ofTexts(c *ledger.Case) bool {
	return !through(c, "image_classification", "object_detection", "image_segmentation", "depth_estimation", "mask_generation", "automatic_speech", "audio_classification", "image_to_text", "text_to_audio")
}

// fewTexts are cures of a batch of texts that is too large.
var fewTexts = []cause.Cure{
	{Fix: "lower_batch_size", Title: "Pass a few texts at a time, without gradients", Cost: "hardly slower", Told: "Start with 8 at a time, then 1 (texts, tokenizer: yours). Sort them by length to avoid padding:", Kind: "python", Text: "out = []\nwith torch.no_grad():\n    for i in range(0, len(texts), 8):\n        batch = tokenizer(texts[i:i + 8], padding=True, truncation=True, max_length=512, return_tensors=\"pt\")\n        out.append(model(**batch.to(model.device))[0].cpu())"},
	{Fix: "lower_context", Title: "Cut the longest texts", Cost: "what is cut off is not read", Told: "Pass `truncation=True, max_length=512` to the tokenizer. Half the length takes up to a quarter of the memory. Proteins: split or skip sequences above 1,000 residues."},
	{Fix: "half_precision", Title: "Load the model in 16 bit", Cost: "hardly any quality", Told: "`model.half()` halves weights and activations on a GPU; on a CPU and for T5 use `model.to(torch.bfloat16)`."},
}

// TransformersCards are about calls of transformers in a script.
var TransformersCards = []cause.Card{
	{
		ID: "transformers/pipeline-batch", Kinds: cures.Refused, Said: []string{"transformers/pipelines/"}, Unsaid: []string{"pipelines/text_generation", "in generate"},
		If: when.All(cures.OnOneCard, cures.OwnCard, when.Not((*ledger.Case).Training), func(c *ledger.Case) bool { return passed(c, "batch_size") > 1 }), Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: passedFigures,
		Headline: "ran out of memory in a pipeline with `batch_size={texts}`",
		Means:    "The pipeline processes {texts} inputs at once and pads each batch to its longest one. The length of your whole list does not matter.",
		Not:      "Splitting your list: each batch stays as large. {settings}.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower batch_size from {texts} to {fewer}", Cost: "hardly slower: short batches have less padding", Told: "In your call of the pipeline; the results are the same."},
			{Fix: "lower_context", If: ofTexts, Title: "Cut long texts", Cost: "what is cut off is not read", Told: "Add `truncation=True, max_length=512` to the same call, and sort the texts by length."},
			{Fix: "half_precision", Title: "Load the model in 16 bit", Cost: "hardly any quality", Told: "In your `pipeline(...)` call:", Kind: "python", Text: "torch_dtype=torch.float16"},
		},
		Sources: []string{"transformers/src/transformers/pipelines/base.py", "transformers/docs/source/en/main_classes/pipelines.md"},
	},
	{
		ID: "transformers/long-audio", Kinds: cures.Refused, If: when.All(cures.OnOneCard, encodes, largePart, func(c *ledger.Case) bool { return through(c, heard...) }), Cause: cause.OversizedAllocation, Weight: cause.Strong, Figures: passedFigures,
		Headline: "ran out of memory on a long recording",
		Means:    "The model reads the whole recording at once, and its attention compares every frame with every other. Twice the length takes up to four times the memory.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Read it in chunks of 20 seconds", Cost: "hardly any accuracy: chunks overlap", Told: "For speech recognition with a CTC model (path: your file):", Kind: "python", Text: "asr = pipeline(\"automatic-speech-recognition\", model=name, device=0)   # name: as in your call\ntext = asr(path, chunk_length_s=20, stride_length_s=(4, 2))[\"text\"]"},
			{Fix: "lower_batch_size", Title: "For embeddings: loop over chunks", Cost: "no context between chunks", Kind: "python", Text: "with torch.no_grad():\n    out = [model(part).last_hidden_state.cpu() for part in x.split(20 * 16000, dim=1)]   # x: batch x samples at 16 kHz"},
			{Fix: "inference_mode", Title: "Turn gradients off, use 16 bit", Cost: "hardly any quality", Told: "Put `with torch.no_grad():` around the call. `model.half()` and `x.half()` halve the rest."},
		},
		Sources: []string{"transformers/src/transformers/pipelines/automatic_speech_recognition.py", "transformers/src/transformers/models/wav2vec2/modeling_wav2vec2.py"},
	},
	{
		ID: "transformers/encode", Kinds: cures.Refused, Unsaid: []string{"logits.float()"}, If: when.All(cures.OnOneCard, encodes, largePart, func(c *ledger.Case) bool { _, ok := failing(c); return ok && textual(c) }), Cause: cause.OversizedAllocation, Weight: cause.Strong, Figures: passedFigures,
		Headline: "ran out of memory on a batch of texts",
		Means:    "One call computes all the texts passed to it, usually each padded to the longest. So the number of texts and the longest one decide how much memory it takes.",
		Not:      "{settings}.",
		Cures:    fewTexts,
		Sources:  []string{"transformers/src/transformers/models/bert/modeling_bert.py", "transformers/docs/source/en/pad_truncation.md"},
	},
	{
		ID: "transformers/encode-in-ram", Kinds: []fact.Kind{fact.CPUAlloc}, Unsaid: []string{"logits.float()"}, If: when.All(encodes, func(c *ledger.Case) bool {
			_, ok := failing(c)
			return ok && c.Asked.Bytes > 256*units.MiB && textual(c)
		}), Cause: cause.HostMemory, Weight: cause.Strong, Figures: passedFigures,
		Headline: "ran out of system memory (RAM) on a batch of texts",
		Means:    "One call computes all the texts passed to it, usually each padded to the longest. So the number of texts and the longest one decide how much memory it takes.",
		Not:      "GPU settings: the model runs on the CPU.",
		Cures:    fewTexts,
		Sources:  []string{"transformers/src/transformers/models/bert/modeling_bert.py", "transformers/docs/source/en/pad_truncation.md"},
	},
	{
		ID: "transformers/beams", Kinds: cures.Refused, Said: []string{"in beam_search", "in _beam_search", "in beam_sample", "_reorder_cache", "_temporary_reorder_cache"},
		If: when.All(cures.OnOneCard, cures.OwnCard, when.Not((*ledger.Case).Training)), Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: passedFigures,
		Headline: "ran out of memory in beam search",
		Means:    "Each beam of each text has its own KV cache[[ ({beams} beams here)]], and beam search copies the caches between steps. Besides the weights, memory grows with texts x beams x tokens.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "lower_parallel", Title: "Use fewer beams (num_beams)", Cost: "slightly different texts", Told: "`num_beams={half}` in your `generate` call[[ instead of {beams}]]; 1 is greedy search. `num_return_sequences` must not be larger."},
			{Fix: "lower_batch_size", Title: "Pass fewer texts per call", Cost: "slower", Told: "Loop over 1 to 4 texts at a time, and store results with `out.append(ids.cpu())`."},
			{Fix: "lower_context", Title: "Shorten prompt and answer", Cost: "what is cut off is missing", Told: "Set `max_new_tokens` to what you need, and `truncation=True, max_length=512` in the tokenizer."},
			{Fix: "half_precision", Title: "Load the model in 16 bit", Cost: "hardly any quality", Told: "`model.half()` halves weights and KV cache (T5: `model.to(torch.bfloat16)`)."},
		},
		Sources: []string{"transformers/src/transformers/generation/utils.py", "transformers/src/transformers/models/bart/modeling_bart.py"},
	},
	EagerScores,
}

// encodes: a model of transformers reads a batch that a line of the reader's own
// hands it, and nothing is generated or trained.
func encodes(c *ledger.Case) bool {
	return (cures.OnOneCard(c) && cures.OwnCard(c) || c.Root(fact.CPUAlloc)) && !c.Training() && c.Phase != "load" && through(c, "-packages/transformers/models/") && !through(c, "transformers/generation", "transformers/trainer.py", "/diffusers/", "/sentence_transformers/", "/pipelines/")
}

var heard = []string{"modeling_wav2vec2", "modeling_hubert", "modeling_wavlm", "modeling_unispeech", "modeling_data2vec_audio", "modeling_sew"}

// seen are models of pictures, for which lengths say nothing.
var seen = []string{"modeling_vit", "modeling_clip", "modeling_swin", "modeling_detr", "modeling_sam", "modeling_dinov2", "modeling_segformer", "modeling_mask2former", "modeling_siglip", "modeling_owl", "modeling_dpt", "modeling_videomae", "modeling_llava", "_vl.py", "_vl/", "modeling_idefics", "modeling_blip", "modeling_whisper"}

// textual: the model of the traceback reads texts.
func textual(c *ledger.Case) bool { return !through(c, heard...) && !through(c, seen...) }

// inner: the second derivative of an inner loop of meta-learning.
func inner(c *ledger.Case) bool {
	for _, f := range ledger.Trace(c) {
		low := strings.ToLower(f.Source + " " + f.Function + " " + f.File)
		if f.Own && (strings.Contains(low, "inner_loop") || strings.Contains(low, "maml") || strings.Contains(low, "fast_weight") || strings.Contains(low, "adapt(") || strings.Contains(low, "inner_update")) || strings.Contains(f.File, "learn2learn") || strings.Contains(f.File, "/higher/") {
			return true
		}
	}
	return false
}

var loader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(AutoModel\w{0,40}|[A-Z]\w{1,40}(?:For\w{3,40}|Model))\.from_pretrained\(`)
})

// AutoClass is the class that the reader's own line loads, as far as it shows.
func AutoClass(c *ledger.Case) string {
	for _, f := range ledger.Trace(c) {
		if !f.Own || !strings.Contains(f.Source, ".from_pretrained(") {
			continue
		}
		if m := loader().FindStringSubmatch(f.Source); m != nil {
			return m[1]
		}
	}
	return "AutoModelForCausalLM"
}
