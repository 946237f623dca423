package ambient

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Notebooks are shown by their cells: a kernel is to be restarted there.
var Notebooks = text.Parser{Name: "notebooks", Context: notebookWords, Parse: parseNotebooks}

var notebookWords = []string{"ipython-input", "cell line:", ".ipynb", "Cell In["}

func parseNotebooks(l *text.Log, hits []text.Hit, f *fact.Facts) {
	l.Signal(f, "notebook", hits[0].At)
}
