package subject

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// entities: facts of a knowledge graph are scored.
var entities = says("evaluatetail", "evaluatehead", "all_entities", "ent_expand", "all_ent", "score_sp", "score_po", "score_emb(", "entity_total", "ent_embeddings", "entity_embedding", "tail-batch", "ent_tot", "num_entities", "n_entities")

// said is a number of entities that a program prints.
var said = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:#|num(?:ber of)?[ _]?|n_?)?(?:entit(?:y|ies)|ent_tot)\w{0,6}\W{1,4}(\d{3,9})\b`)
})

// counted is how many entities the log names, 0 for none.
func counted(c *ledger.Case) int64 {
	for _, x := range c.Facts.Talk {
		if m := said().FindStringSubmatch(x.Text); m != nil && x.Line <= c.Failure.Line {
			n, _ := strconv.ParseInt(m[1], 10, 64)
			return n
		}
	}
	return 0
}

// scored is the batch that is scored against all entities, where that comes to
// what was asked for.
func scored(c *ledger.Case) (batch, all int64) {
	if batch = int64(ledger.IntSetting(c, step.BatchSettings...)); batch <= 0 || !c.Asked.Has() {
		return 0, 0
	}
	all = counted(c)
	if size := 4 * all * batch; size > 0 && ledger.Near(size, c.Asked.Bytes, c.Asked.Within+size/200) {
		return batch, all
	}
	return 0, 0
}

func against(c *ledger.Case) bool { n, _ := scored(c); return n > 0 }

// differs: the model takes a difference for each number of each entity.
var differs = says(" - ", "ent_expand", "-ent_", "rotate.py", "transe.py", "transh.py", "abs_complex", "norm(")

// entityCards are about models of knowledge graphs.
var entityCards = []cause.Card{{
	ID: "pytorch/all-entities", Kinds: cures.Refused, If: of(when.All(when.Any(entities, against), when.Not(says("neg")))), Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory while scoring facts against all entities of a knowledge graph",
	Means:    "Each fact in the batch is scored against every entity: batch x entities numbers[[ ({asked} is {facts} x {all} x 4 bytes)]].[[ {width}]]",
	Not:      "Gradient checkpointing, fewer layers: this one tensor stays as large.[[ {settings}.]]",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", If: when.Not(when.Any(training, against)), Title: "Lower the batch size of the evaluation", Cost: "slower; the same ranks", Told: "Try `--test_batch_size 4`, then 1 (KnowledgeGraphEmbedding; elsewhere `--eval_batch_size`). LibKGE: `eval.batch_size` or `entity_ranking.chunk_size: 5000`."},
		{Fix: "stream_dataset", If: when.Not(when.Any(training, against, old)), Title: "Score the entities in blocks, without gradients", Cost: "none", Kind: "python", Text: "with torch.no_grad():   # model.score, h, r: yours; ent: the table of all entities\n    scores = torch.cat([model.score(h, r, part).cpu() for part in ent.split(4096)], 1)"},
		{Fix: "lower_batch_size", If: when.Any(training, against), Title: "Lower the batch size", Cost: "slower", Told: "Half of it[[ ({batch})]] halves this tensor, its gradient and its labels. LibKGE: `train.subbatch_size` does it without changing the result."},
		{Fix: "lower_parallel", If: when.Any(training, against), Title: "Or train with sampled negatives instead of all entities", Cost: "another loss, needs tuning", Told: "Use a few hundred wrong entities per fact. LibKGE: `train.type: negative_sampling`; KnowledgeGraphEmbedding: `-n 256`."},
		inputsOld, look,
		{Fix: "use_smaller_model", Title: "Or use narrower embeddings", Cost: "some accuracy", Told: "Half the width halves the embedding table, its gradient and Adam's state{too}."},
	},
	Figures: func(c *ledger.Case) map[string]string {
		out := cures.Scene(c)
		out["facts"], out["all"], out["width"], out["too"] = "", "", "", ""
		if n, all := scored(c); n > 0 {
			out["facts"], out["all"] = strconv.FormatInt(n, 10)+" facts", strings.TrimSpace(ledger.Thousands(all))+" entities"
		} else if differs(c) {
			out["width"], out["too"] = "Distance models (TransE, RotatE and similar) also store every dimension: batch x entities x width.", ", and this tensor"
		}
		return out
	},
	Sources: []string{"KnowledgeGraphEmbedding/codes/run.py", "kge/kge/config-default.yaml", "https://github.com/uma-pi1/kge/issues/250", "https://github.com/TaoMiner/joint-kg-recommender/issues/1"},
}}
