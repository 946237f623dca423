// Package matlab reads the sides of an array that MATLAB refused.
package matlab

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

var requested = regexp.MustCompile(`Requested (\d{1,20}(?:x\d{1,20}){1,5})`)

// sides are those of the array that was asked for, longer than any array may be
// where they do not fit into 63 bits.
func sides(c *ledger.Case) (out []int64) {
	m := requested.FindStringSubmatch(c.Failure.Message)
	if m == nil {
		return nil
	}
	for side := range strings.SplitSeq(m[1], "x") {
		n, _ := strconv.ParseInt(side, 10, 64) // the largest number where it is too long
		out = append(out, n)
	}
	return out
}

// noSize: a side that no data has: 32 bits were read as 64.
func noSize(c *ledger.Case) bool {
	return slices.ContainsFunc(sides(c), func(n int64) bool { return n > 1<<36 })
}

// stacked: images or matrices behind each other, or unlike sides.
func stacked(c *ledger.Case) bool {
	s := sides(c)
	return len(s) > 2 || len(s) == 2 && s[0] != s[1]
}

func figures(c *ledger.Case) map[string]string {
	s := sides(c)
	out := map[string]string{"shape": "", "half": "", "quarter": "", "eighth": ""}
	for i, n := range s {
		out["shape"] += map[bool]string{true: " x "}[i > 0] + ledger.Thousands(n)
	}
	if asked := ledger.Requested(c); asked > 0 {
		out["half"], out["quarter"], out["eighth"] = units.Amount(asked/2), units.Amount(asked/4), units.Amount(asked/8)
	}
	return out
}

// double: eight bytes for each element, MATLAB's default.
func double(c *ledger.Case) bool {
	n := int64(8)
	for _, side := range sides(c) {
		n *= max(side, 1)
	}
	return ledger.Near(n, ledger.Requested(c), ledger.Requested(c)/50)
}

const source = "https://www.mathworks.com/help/matlab/matlab_prog/resolving-out-of-memory-errors.html"

var tooLarge = []string{"exceeds maximum array size preference", "array exceeded the preset maximum array size"}

var refused = []fact.Kind{fact.NativeAlloc}

// ArrayCards are about one array above MATLAB's limit.
var ArrayCards = []cause.Card{
	{
		ID: "matlab/no-size", Kinds: refused, Said: tooLarge, If: noSize, Figures: figures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "was asked for an array whose sides are no sizes: memory is not the problem",
		Means: "No data has sides like {shape}. A MEX function usually passes its sizes as `int` (32 bit), and 64-bit MATLAB reads two of them as one number.",
		Not:   "More RAM, or another array limit: the size is wrong.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Compile the MEX file for 32-bit sizes", Told: "The first line of the error names the function. Compile its C or C++ file anew: `mex -compatibleArrayDims FILE.cpp`.", Cost: "free"},
			{Fix: "upgrade_version", Title: "Or correct the sizes in its source", Told: "Declare what goes into `mxCreateNumericArray` or comes from `mxGetDimensions` as `mwSize` instead of `int`, and compile again. A newer version of the toolbox may have done it.", Cost: "some lines"},
			{Fix: "restart_session", Title: "Then unload the old file", Told: "`clear mex`. `which NAME -all` (the function's name) shows whether another copy comes first on the path.", Cost: "free"},
		},
		Sources: []string{"https://www.mathworks.com/help/matlab/ref/mex.html", "https://github.com/yuxng/MDP_Tracking/issues/12"}, Solved: 1,
	},
	{
		ID: "matlab/stack", Kinds: refused, Said: tooLarge, If: when.All(stacked, double), Figures: figures,
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "refused one array of {asked}: it is above the limit for a single array",
		Means: "It is {shape} numbers of 8 bytes: `double`, MATLAB's default. The sides usually count rows, columns and frames or samples of your data. The limit is by default the machine's RAM.",
		Not:   "Raising the limit: an array larger than the RAM makes the machine swap until it hangs.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Create it in the type of the data", Told: "In the line that makes it: `zeros(..., \"uint16\")` takes {quarter}, `\"uint8\"` {eighth}, `\"single\"` {half}.", Cost: "less precision"},
			{Fix: "stream_dataset", Title: "Go through it in parts", Told: "Loop over some hundred frames or rows at a time, and keep the results: `m = matfile(\"data.mat\"); part = m.x(:, :, 1:500);` reads only that part (files saved with `-v7.3`). TIFF: `imread(file, k)`.", Cost: "some rewriting"},
			{Fix: "fix_shape", Title: "If you expected less: check the sizes", Told: "`size(a), size(b)` before that line. `zeros(n)` makes n x n, and `a - b'` a whole matrix.", Cost: "free"},
		},
		Sources: []string{source, "https://www.mathworks.com/help/matlab/ref/matlab.io.matfile.html"},
	},
	{
		ID: "matlab/array-size", Kinds: refused, Said: tooLarge, Figures: figures,
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "refused one array of {asked}: it is above the limit for a single array",
		Means: "The limit is set in MATLAB's preferences; by default it is all RAM of the machine.[[ The sides are {shape}.]] Two equal long sides mean every row with every row: often a column minus a row (`a - b'`) made a whole matrix.",
		Not:   "Raising the limit: an array larger than the RAM makes the machine swap until it hangs.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Check the sizes of both operands", Told: "Run `size(a), size(b)` before the line that failed. If a column meets a row, transpose one. `zeros(n)` makes n x n; `zeros(n, 1)` is a column.", Cost: "Free"},
			{Fix: "stream_dataset", Title: "If you want it that large: use `sparse` or `tall`", Told: "`sparse` helps where most values are zero. `pdist2(x, y, \"euclidean\", \"Smallest\", 10)` replaces all distances. Otherwise loop over blocks of rows, or read from disk with `tall` or `matfile`.", Cost: "Some rewriting"},
			{Fix: "half_precision", Title: "Use a smaller type", Kind: "text", Text: "`zeros(n, m, \"single\")` needs half the memory, `\"uint8\"` an eighth.", Cost: "Less precision"},
		},
		Sources: []string{source},
	},
}
