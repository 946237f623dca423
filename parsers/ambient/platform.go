package ambient

import (
	"regexp"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Platform reads what a log was made on: Windows paths in tracebacks, and
// notebooks. Fixes differ there: a page file instead of swap, no
// expandable_segments, a kernel to restart.
var Platform = text.Parser{Name: "platform", Context: platformWords, Parse: parsePlatform}

var platformWords = []string{
	`.py", line`, `.py:`, `\lib\site-packages`, `:\users\`, `\c10\core`, `data. DefaultCPUAllocator: not enough memory`,
	".gguf", `blobs\sha256-`, `\llama.cpp\`, `\ollama\`, "0xc0000409", "TerminateProcess:",
	"Press any key to continue", "ipython-input", "cell line:", ".ipynb", "Cell In[",
}

// drive finds a path with a drive letter. It looks at single lines of text as
// written, which no pattern can: squeezing joins words.
var drive = regexp.MustCompile(`(?:^|[\s"'(\[])[A-Za-z]:\\{1,2}[^\s\\]`)

func parsePlatform(l *text.Log, hits []text.Hit, f *fact.Facts) {
	seen := map[string]bool{}
	for _, h := range hits {
		id := ""
		switch word := platformWords[h.Word]; word {
		case "ipython-input", "cell line:", ".ipynb", "Cell In[":
			id = "notebook"
		case `\c10\core`, `data. DefaultCPUAllocator: not enough memory`, "Press any key to continue",
			`blobs\sha256-`, `\llama.cpp\`, `\ollama\`, "0xc0000409", "TerminateProcess:":
			id = "windows_path"
		default:
			if text := l.LineText(h.At); strings.Contains(text, `:\`) && drive.MatchString(text) {
				id = "windows_path"
			}
		}
		if id == "" || seen[id] {
			continue
		}
		seen[id] = true
		f.Signals = append(f.Signals, fact.Signal{ID: id, Line: l.Line(h.At), Text: l.LineText(h.At)})
	}
}
