package spans

import (
	"strings"
	"testing"
)

// FuzzFind: spans stand in their order, inside of the text and apart from each
// other, nothing of what is blanked stays, and line ends do.
func FuzzFind(f *testing.F) {
	for _, text := range marked {
		f.Add(strings.NewReplacer("«", "", "»", "").Replace(text))
	}
	for _, r := range rows() {
		f.Add(r.word + `": {"a": ["` + r.word + "='x\n")
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, part := range []bool{false, true} {
			last := 0
			for _, x := range find(s, part) {
				if x.From < last || x.To <= x.From || x.To > len(s) || x.Kind == 0 {
					t.Fatalf("span %v after %d in %q", x, last, s)
				}
				last = x.To
			}
		}
		if got := Blank(s); strings.Count(got, "\n") != strings.Count(s, "\n") || len(got) > len(s) {
			t.Fatalf("%q became %q", s, got)
		}
		for i := 0; i < len(s); i += 1 + len(s)/8 {
			if from, to, ok := String(s, i); ok && (from <= i || to < from || to > len(s)) {
				t.Fatalf("string at %d of %q: %d to %d", i, s, from, to)
			}
		}
	})
}
