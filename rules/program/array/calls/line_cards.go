package calls

import (
	"regexp"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// habit is what a line of plain Python does with memory: what it was doing, why
// that takes so much, and what to write instead. "NAME" stands for what the
// pattern's group found.
type habit struct {
	line, doing, why, title, instead, write string
}

// name is a name of Python with its attributes.
const name = `([A-Za-z_][A-Za-z0-9_.]{0,40})`

// habits are the commonest such lines, the more special ones first; sizes are those
// of CPython (sys.getsizeof).
var habits = []habit{
	{`^for\s+\w+\s+in\s+[\w.]+:$|\.readline\(\)`, "while it read one line", "A loop over a file holds one line at a time. So either a line is huge (a file without line ends), or the loop keeps what it reads.", "Look for a huge line, and for what is kept", "This prints the longest line in bytes. If it is nearly the whole file, read blocks instead (`f.read(1 << 20)`). If not, look for a list or dict that grows in the loop.", "with open(path, \"rb\") as f:   # path: your file\n    print(max(len(line) for line in f))"},
	{`\b(?:product|permutations|combinations)\(`, "while it listed all combinations", "The number of combinations is a product: one more value on each axis multiplies them, and each takes 100 bytes or more.", "Go through them without a list", "Loop over the iterator itself, and keep only the results that you need.", "for combination in itertools.product(*axes):   # no list(...) around it\n    ..."},
	{`[\[({].*\bfor\b.*\bfor\b.*[\])}]`, "while it built a list of all pairs", "Two loops in one list make one object for every pair: twice the items are four times the memory.", "Handle one pair at a time", "Write two nested loops that use each pair at once. For the nearest ones use `scipy.spatial.cKDTree`, for equal keys a dict or `pd.merge`.", ""},
	{`\b(?:np|numpy)\.(?:tile|repeat|meshgrid|kron)\(`, "while NumPy repeated an array", "The result holds every repetition: its size is that of the array times their number.", "Let broadcasting repeat it", "An axis of length 1 works with any other length in `+`, `*` or a comparison, and takes no memory: `x[None, :, :]` instead of `np.tile`, `np.meshgrid(..., sparse=True)`. Where the shape is needed:", "view = np.broadcast_to(x, (n,) + x.shape)   # a view: read it only"},
	{`json\.dumps\(|yaml\.dump\(`, "while it wrote its data as text", "The whole text is built in one string, on top of the objects.", "Write one object per line", "Then the next program can read it line by line, too.", "with open(\"out.jsonl\", \"w\") as f:\n    for row in rows:   # your own list\n        f.write(json.dumps(row) + \"\\n\")"},
	{`\.(?:decode|encode|split|splitlines|replace|lower|strip)\(|\bre\.(?:sub|split|findall)\(`, "while it worked on a whole text", "Each such call makes another copy of the text. `split` makes an object of 50 bytes or more for each word.", "Work line by line", "Then one line is in memory instead of the file.", "with open(path, encoding=\"utf-8\") as f:\n    for line in f:\n        ...   # what is done with the whole text now"},
	{`['"]\.join\(`, "while it joined strings", "All parts and the whole text are in memory at once.", "Write the parts to a file", "What reads the text then goes through it line by line.", "with open(\"out.txt\", \"w\", encoding=\"utf-8\") as f:\n    f.writelines(parts)   # your own list, or a generator"},
	{`^` + name + `\.(?:append|extend|insert|add|update)\(`, "while a list or set grew", "`NAME` keeps every item until the end. A number takes about 36 bytes there, a string 50 and more, a small object some hundred. A list that grows is also copied now and then.", "Keep less in `NAME`", "Write each item to a file or a SQLite table instead, or empty `NAME` after some thousand items. Plain numbers fit into 8 bytes:", "from array import array\nNAME = array(\"q\")   # whole numbers; \"d\": with decimals. append() stays"},
	{`^` + name + `(?:\[[^\]=]{1,60}\]){1,3}\s*\+?=[^=]`, "while it filled a dict or list", "`NAME` keeps every entry. In a dict each takes 100 to 200 bytes with its key and value, more if these are lists.", "Keep it on disk, or as numbers", "If the keys count from 0, use a NumPy array. Otherwise:", "import shelve\nNAME = shelve.open(\"table.db\", \"n\")   # a dict on disk; keys have to be str"},
	{`\bCounter\(|\bdefaultdict\(|\bset\(|\bdict\(`, "while it filled a dict or set", "Every distinct key takes 100 bytes or more.", "Count or collect in parts", "Cut the input, and merge the parts after you dropped rare keys. Or let SQLite or DuckDB count: `SELECT key, count(*) ... GROUP BY key` works on disk.", ""},
	{`deepcopy\(`, "while it copied an object", "`deepcopy` doubles everything that the object holds.", "Copy only what changes", "Assign the fields that stay the same, and copy the others. Inside a loop `del` the last copy first.", ""},
	{`\.tolist\(\)|\blist\(|\bsorted\(|\[.*\bfor\b.*\bin\b.*\]`, "while it built a list", "The list holds all results at once. A number takes about 36 bytes there, against 4 or 8 in an array, and a loaded image all its pixels.", "Use the items one by one", "Put round brackets around the loop: a generator gives one item at a time. What needs all of them gets a NumPy array with a small type, filled in the loop.", "for x in (load(p) for p in paths):   # your own names: one at a time\n    ..."},
	{`^` + name + `\s*(?:\+=|=\s*\S+\s*\+\s*\S+$)`, "while it added to a value", "`NAME` is built anew each time, so for a moment it is there twice.", "Collect parts, and join them once", "Append the parts to a list and join at the end (`\"\".join(parts)`, `np.concatenate(parts)`), or write each part to a file.", ""},
}

var habitLines = sync.OnceValue(func() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, h := range habits {
		out = append(out, regexp.MustCompile(h.line))
	}
	return out
})

// habitOf is the habit of the reader's own line at the end of the traceback, nil
// if it has none, or if a library below makes arrays of its own.
func habitOf(c *ledger.Case) (h *habit, name string) {
	line := strings.TrimSpace(OwnLine(c))
	for _, f := range ledger.Trace(c) {
		if strings.Contains(f.File, "-packages/") && strings.Contains(f.Source, "(") {
			return nil, ""
		}
	}
	for i, pattern := range habitLines() {
		if m := pattern.FindStringSubmatch(line); m != nil {
			return &habits[i], m[len(m)-1]
		}
	}
	return nil, ""
}

func habitFigures(c *ledger.Case) map[string]string {
	h, name := habitOf(c)
	named := func(s string) string { return strings.ReplaceAll(s, "NAME", name) }
	out := map[string]string{"doing": h.doing, "why": named(h.why), "title": named(h.title), "instead": named(h.instead), "own": ""}
	if line := strings.TrimSpace(OwnLine(c)); len(line) <= 80 && !strings.Contains(line, "`") {
		out["own"] = line
	}
	return out
}

// writes: the habit has code to write instead.
func writes(c *ledger.Case) bool { h, _ := habitOf(c); return h != nil && h.write != "" }

// lineCard is about a MemoryError in a line of the reader's own, by what it does.
var lineCard = cause.Card{
	ID: "other/memory-in-line", Kinds: []fact.Kind{fact.PythonMemory}, Unsaid: []string{"pandas/core"}, If: func(c *ledger.Case) bool { h, _ := habitOf(c); return h != nil }, Figures: habitFigures,
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM {doing} (MemoryError)",
	Means: "[[The error is in `{own}`. ]]{why} The message has no size, and what the program held before counts too.",
	Cures: []cause.Cure{
		{Fix: "stream_dataset", If: writes, Title: "{title}", Told: "{instead}", Cost: "some rewriting", Steps: func(c *ledger.Case) []step.Step {
			h, name := habitOf(c)
			return []step.Step{{Kind: "python", Text: strings.ReplaceAll(h.write, "NAME", name)}}
		}},
		{Fix: "stream_dataset", If: when.Not(writes), Title: "{title}", Told: "{instead}", Cost: "some rewriting"},
		SixtyFour, PageFile, LookWhy, SwapBridge,
	},
	Sources: []string{"https://docs.python.org/3/library/sys.html", "https://docs.python.org/3/library/array.html", "https://docs.python.org/3/library/shelve.html", "https://numpy.org/doc/stable/reference/generated/numpy.broadcast_to.html"},
}
