package script

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// scoreLines are how transformers' models write the scores of attention where no
// fused kernel makes them (eager_attention_forward, before that each model's own).
var scoreLines = []string{"attn_weights = torch.matmul(q", "attn_weights = torch.bmm(q", "attn_weights = nn.functional.softmax(attn_weights", "attention_scores = torch.matmul(q", "attn_weights = attn_weights + "}

// scoreLine is the one of them that failed, in a model of transformers; "" for
// another line.
func scoreLine(c *ledger.Case) string {
	frames := ledger.Trace(c)
	for _, f := range frames[max(0, len(frames)-3):] {
		ofModel := strings.Contains(f.File, "transformers/models/") || strings.Contains(f.File, "modeling_")
		if ofModel && slices.ContainsFunc(scoreLines, func(line string) bool { return strings.Contains(f.Source, line) }) {
			return f.Source
		}
	}
	return ""
}

// ofPictures: the model that failed reads pictures, by its file's name.
func ofPictures(c *ledger.Case) bool {
	frames := ledger.Trace(c)
	return slices.ContainsFunc(frames[max(0, len(frames)-3):], func(f fact.Code) bool {
		return strings.Contains(f.File, "_vl") || strings.Contains(f.File, "vision") || strings.Contains(f.File, "siglip") || strings.Contains(f.File, "modeling_clip")
	})
}

func eagerly(c *ledger.Case) bool { return scoreLine(c) != "" }

// eagerFigures has an example of what was refused: samples of a length that is a
// power of two, with 32 heads, exact to the rounding of the message.
func eagerFigures(c *ledger.Case) map[string]string {
	out := passedFigures(c)
	out["example"], out["slackwords"] = "", ""
	bytes := int64(2)
	if strings.Contains(scoreLine(c), "torch.float32") {
		bytes = 4 // softmax in 32 bit
	}
	asked := ledger.Requested(c)
	for length := int64(512); length <= 131072; length *= 2 {
		one := 32 * length * length * bytes
		if n := (asked + one/2) / one; n >= 1 && n <= 64 && max(asked-n*one, n*one-asked) <= asked/500 {
			out["example"] = strconv.FormatInt(n, 10) + " x 32 heads x " + grouped(length) + " x " + grouped(length) + " tokens x " + strconv.FormatInt(bytes, 10) + " bytes"
		}
	}
	if c.Slack.Bytes >= asked && asked > 0 {
		out["slackwords"] = units.Amount(c.Slack.Bytes) + " of its reserved memory is unused: expandable segments may get it past this, but not past a longer text."
	}
	return out
}

func grouped(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	rest := strconv.FormatInt(n%1000, 10)
	return strconv.FormatInt(n/1000, 10) + "," + strings.Repeat("0", 3-len(rest)) + rest
}

// EagerScores is about attention whose scores are stored.
var EagerScores = cause.Card{
	ID: "transformers/eager-scores", Kinds: cures.Refused, If: when.All(cures.OnOneCard, eagerly, func(c *ledger.Case) bool { return c.Reader.Writes("python") && !ledger.Crowded(c) && !ledger.Roomy(c) }), Figures: eagerFigures,
	Among: []string{cause.ContextTooLong, cause.BatchTooLarge, cause.OversizedAllocation, cause.ModelTooLarge, cause.TrainingStateTooLarge, cause.Unknown}, Headline: "ran out of memory on attention scores, which fused attention would not store[[: {asked}]]",
	Means: "The model uses transformers' \"eager\" attention, which stores every score: batch x heads x length x length, in each layer.[[ {asked} would be {example}, for instance.]] Old releases have no other; newer ones use it for some models and for `output_attentions=True`.[[ {slackwords}]]",
	Cures: []cause.Cure{
		{Fix: "efficient_attention", Title: "Use fused attention", Told: "Add it to your `from_pretrained(...)` call, and drop `output_attentions=True`. Needs transformers 4.36 and PyTorch 2.1.1 or later.", Kind: "python", Text: "attn_implementation=\"sdpa\"   # or \"flash_attention_2\" with the flash-attn package, RTX 30 and newer", Cost: "none; usually faster"},
		{Fix: "lower_resolution", If: ofPictures, Title: "Use smaller images", Told: "Half the width and height takes a sixteenth of these scores, as each patch is a token. Qwen-VL: `AutoProcessor.from_pretrained(name, max_pixels=1280 * 28 * 28)`. Of a video, use fewer frames.", Cost: "detail"},
		{Fix: "lower_context", If: when.Not(ofPictures), Title: "Shorten the texts", Told: "Half the length takes a quarter of these scores: `truncation=True, max_length=...` in the tokenizer, or your program's own option.", Cost: "what is cut off is not read"},
		{Fix: "lower_batch_size", Title: "Lower the batch size", Told: "Half the batch size takes half the memory for scores. In training, double the gradient accumulation steps.", Cost: "slower"},
	},
	Sources: []string{"transformers/src/transformers/modeling_utils.py", "transformers/src/transformers/models/llama/modeling_llama.py", "transformers/docs/source/en/attention_interface.md"},
}

// CopiedModels are the same where a repository has its own copy of a model of
// transformers.
var CopiedModels = func() []cause.Card {
	k := EagerScores
	k.ID = "pytorch/eager-scores"
	return []cause.Card{k}
}()
