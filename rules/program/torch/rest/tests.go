package rest

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// pytest-xdist writes a worker's name before its tests and its tracebacks
// (src/xdist/dsession.py); pytest alone writes the summary.
var (
	workerWords = []string{"[gw0]", "[gw1]", "[gw2]", "[gw3]", "[gw4]", "[gw5]", "[gw6]", "[gw7]", "xdist/", "pytest-xdist", "pytest -n"}
	testWords   = []string{"short test summary info", "::test_", "_pytest/"}
)

// shareTests: the workers of one run of tests have the card together.
func shareTests(c *ledger.Case) bool {
	return c.Others.Bytes > units.GiB && (c.Near(workerWords...) || startedTogether(c))
}

// Tests are about runs of tests.
var Tests = []cause.Card{{
	ID: "pytorch/test-workers", Kinds: cures.Allocators, Said: slices.Concat(workerWords, testWords), If: when.All(cures.OnOneCard, shareTests, when.Not(when.Any(ledger.Roomy, cures.Ranked))),
	Cause: cause.LeakedProcess, Weight: cause.Strong, Figures: testers,
	Headline: "ran out of memory in a test: several test processes share the GPU",
	Means:    "{who} Each has its own CUDA context and keeps memory that its earlier tests freed. So a test that fits alone fails beside the others.",
	Not:      "Changing the failing test alone: which one fails depends on what the others hold at that moment.",
	Cures: []cause.Cure{
		{Fix: "lower_parallel", Title: "Run fewer test processes at once", Cost: "slower", Told: "Use this instead of `-n auto` or a larger number; `-n 0` shows whether the test fits alone:", Kind: "shell", Text: "python -m pytest -n 2   # and your own arguments"},
		{Fix: "empty_cache", Title: "Free the card after each test, in every worker", Cost: "hardly slower", Told: "Each worker then returns unused memory to the others:", Kind: "python", Text: "# conftest.py\nimport gc\nimport pytest, torch\n\n@pytest.fixture(autouse=True)\ndef free_card():\n    yield\n    gc.collect()\n    torch.cuda.empty_cache()"},
		{Fix: "select_gpu", Title: "With several GPUs: give each worker its own", Cost: "needs them", Told: "Before anything imports torch:", Kind: "python", Text: "# top of conftest.py; 4: how many GPUs there are\nimport os\nos.environ[\"CUDA_VISIBLE_DEVICES\"] = str(int(os.environ.get(\"PYTEST_XDIST_WORKER\", \"gw0\")[2:]) % 4)"},
		{Fix: "kill_stale_process", Title: "If one of them is an earlier run: end it", Cost: "what it does is lost"},
	},
	Sources: []string{"pytest-xdist/src/xdist/dsession.py", "pytest-xdist/docs/distribution.rst", cures.AllocatorSource},
}}

// testers say who has the card beside the test that failed.
func testers(c *ledger.Case) map[string]string {
	who := "The names in brackets ([gw0], [gw1]) are the workers of pytest-xdist."
	if !c.Near(workerWords...) {
		who = together(c)["listed"] + ": most likely the processes of one run of tests."
	}
	return map[string]string{"who": who}
}
