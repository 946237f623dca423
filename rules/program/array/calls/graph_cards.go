package calls

import (
	"regexp"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// ManyGraphs is about models that a loop made before, in the same graph.
var ManyGraphs = cause.Card{
	ID: "tensorflow/many-models", Kinds: []fact.Kind{fact.TFAlloc}, If: func(c *ledger.Case) bool { return c.Backend != "cpu" && turn(c) != "" }, Figures: func(c *ledger.Case) map[string]string { return map[string]string{"node": turn(c)} },
	Cause: cause.RetainedMemory, Weight: cause.Decisive, Headline: "still holds earlier models in memory",
	Means: "The number in `{node}` goes up with each model built or compiled in one graph. So a loop over models, folds or settings keeps all of them on the card, with weights and optimizer state. The next one fails, however small it is.",
	Not:   "A smaller batch, a larger card: they only put it off by some models.",
	Cures: []cause.Cure{
		{Fix: "restart_session", Title: "Clear the session before each model", Cost: "none", Told: "If you need earlier weights, load them again afterwards.", Kind: "python", Text: "from keras import backend as K   # TensorFlow 2: tf.keras.backend.clear_session()\nK.clear_session()   # at the top of the loop, before the model is built; del model, too"},
		{Fix: "lower_parallel", Title: "Or use one process for each model", Cost: "some seconds each", Told: "`multiprocessing.Process(target=train, args=(fold,))`, and `join()` before the next. The card is free when it ends."},
		{Fix: "limit_framework_preallocation", Title: "Or build the model once", Cost: "some rewriting", Told: "Save its first weights (`w = model.get_weights()`) and restore them for each turn (`model.set_weights(w)`)."},
	},
	Sources: []string{"keras/keras/backend/tensorflow_backend.py", "https://www.tensorflow.org/api_docs/python/tf/keras/backend/clear_session"},
}

// turn is the name with a count that only several models reach, "" for none.
func turn(c *ledger.Case) string {
	node, _ := c.Fact("tf_node")
	if at := numberedOp.FindStringSubmatch(node.Text); at != nil {
		if n, _ := strconv.Atoi(at[2]); n >= 1000 || at[1] == "training" && n >= 3 {
			return at[1] + "_" + at[2]
		}
	}
	return ""
}

// FirstOfKeras are the first layers of keras.applications, by their names there.
var FirstOfKeras = regexp.MustCompile(`(?i)/(?:conv1_conv|conv1_bn|block1_conv[12]|stem_conv|conv1_pad|block1_conv1_bn|conv1/conv)(?:/|$)`)

// numberedOp is the first part of an op's name, with its count.
var numberedOp = regexp.MustCompile(`^(\w+?)_(\d{1,6})(?:/|$)`)
