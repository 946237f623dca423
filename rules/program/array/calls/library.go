package calls

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// plainLibraries make the array that they were asked for: there the reader's own
// line decides.
var plainLibraries = []string{"numpy", "scipy", "pandas", "torch", "IPython", "ipykernel"}

// libraryOf is the package whose code made the array, by the last frame of the
// traceback, and the reader's own line that called it.
func libraryOf(c *ledger.Case) (name, own string) {
	for _, x := range ledger.Trace(c) {
		if x.Own {
			name, own = "", x.Source
			continue
		}
		if of := packageOf(x); of != "" {
			name = of
		}
	}
	for _, plain := range plainLibraries {
		if name == plain {
			return "", ""
		}
	}
	return name, own
}

// packageOf is the folder behind site-packages, "" outside of it.
func packageOf(x fact.Code) string {
	for _, folder := range [...]string{"site-packages/", "dist-packages/"} {
		if _, rest, found := strings.Cut(x.File, folder); found {
			name, _, _ := strings.Cut(rest, "/")
			name = strings.TrimSuffix(name, ".py")
			if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
				return name
			}
		}
	}
	return ""
}

func inLibrary(c *ledger.Case) bool { name, _ := libraryOf(c); return name != "" }

// hints are options of libraries that leave such an array out.
var hints = map[string]string{
	"swan_vis": "swan_vis: `SwanGraph(sc=True, edge_adata=False, end_adata=False)` makes no tables of edges and ends (newest commits: `pip install git+https://github.com/mortazavilab/swan_vis`).", // swan_vis/swangraph.py
}

func libraryFigures(c *ledger.Case) map[string]string {
	out := numpyFigures(c)
	name, own := libraryOf(c)
	shape, _ := c.Fact("array_shape")
	out["library"], out["package"], out["own"], out["hint"], out["shape"] = name, name, "", hints[name], strings.ReplaceAll(strings.Trim(shape.Text, "()[] "), ", ", " x ")
	if !strings.ContainsAny(own, "`{}[]") && len(own) <= 80 {
		out["own"] = quote.Told(strings.TrimSpace(own))
	}
	return out
}
