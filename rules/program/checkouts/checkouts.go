// Package checkouts knows public repositories that people check out and run: how
// each of them spells what makes a run smaller, as its own files have it, and
// what its authors say that it needs. Programs with more than that have a literal
// of their own in the rooms beside it.
package checkouts

import (
	"bytes"
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// listed is the list of repositories; its head says how it is written.
//
//go:embed checkouts.txt
var listed string

// Checkout is what is known of one repository.
type Checkout struct {
	// Repository is OWNER/NAME on GitHub.
	Repository string
	// Work is the kind of work, as in [ledger.Reader].
	Work string
	// tops are the folders and scripts at its root that have Python in them.
	tops  []string
	knobs []knob
	// needs is what its authors name.
	needs []need
}

// knob is one setting of a repository that changes the memory of a run.
type knob struct {
	kind string
	// forWork is "train" or "use" where it is for one of them, "" where its files
	// tell, or for both.
	forWork string
	// spelling is an option, a key that is typed ("=" or "~" behind it tells how),
	// or a key or constant of a file.
	spelling string
	// has is the value that the files have, advice the one to take: both "" where
	// they are not known, "on" and "off" for switches.
	has, advice string
	// files take the option, or hold the key.
	files []string
	note  string
}

// need is an amount of memory of one card in GB that the authors name, for
// training or use: what a run takes, or what their own cards had.
type need struct {
	gb    int
	train bool
	cards bool
	note  string
}

// Of returns the repository of a case, nil where the log shows none that is known.
func Of(c *ledger.Case) *Checkout { return byRepository(c.Reader.Repository) }

// Name is how people call it.
func (x *Checkout) Name() string { return path.Base(x.Repository) }

// index has the blocks of the list by the folded name of their repository, all
// those of one name together.
var index = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for rest := listed[strings.Index(listed, "\n\n")+2:]; rest != ""; {
		end := strings.Index(rest, "\n\n")
		block := rest[:end+1]
		rest = rest[end+2:]
		repository, _, _ := strings.Cut(block, " ")
		name := folded(path.Base(repository))
		out[name] = append(out[name], block)
	}
	return out
})

// byRepository returns the repository of that name, nil for one that is not in
// the list.
func byRepository(repository string) *Checkout {
	if repository == "" {
		return nil
	}
	for _, block := range index()[folded(path.Base(repository))] {
		if strings.HasPrefix(block, repository+" ") {
			return read(block)
		}
	}
	return nil
}

// folded is a name without what a download adds to it, and without what file
// systems tell apart and people do not.
func folded(name string) string { return string(fold(nil, name)) }

// fold appends a folded name.
func fold(out []byte, name string) []byte {
	for i := range len(name) {
		b := name[i]
		switch {
		case b == '-':
			b = '_'
		case 'A' <= b && b <= 'Z':
			b |= 0x20
		}
		out = append(out, b)
	}
	for _, branch := range []string{"_main", "_master"} {
		out = bytes.TrimSuffix(out, []byte(branch))
	}
	return out
}

// Find returns the repository in whose folder the reader's own code lies, as the
// log shows it: the frames of the failure first, then what was typed. Folders are
// called as people like, so what lies in it has to be the repository's as well.
func Find(c *ledger.Case) *Checkout {
	for _, files := range [][]fact.Code{ledger.Trace(c), c.Facts.Code} {
		for _, f := range slices.Backward(files) {
			if f.Own {
				if x := at(f.File); x != nil {
					return x
				}
			}
		}
	}
	return nil
}

// at is the repository in whose folder a file lies, nil for none that is known.
// It looks at each folder of the path, the innermost first.
func at(file string) *Checkout {
	var buffer [64]byte
	below := ""
	for end := len(file); end > 0; {
		start := strings.LastIndexAny(file[:end], `/\`) + 1
		name := file[start:end]
		if below != "" && len(name) < len(buffer) {
			for _, block := range index()[string(fold(buffer[:0], name))] {
				if x := read(block); slices.Contains(x.tops, below) {
					return x
				}
			}
		}
		if name != "" {
			below = name
		}
		end = start - 1
	}
	return nil
}

func slash(r rune) bool { return r == '/' || r == '\\' }

// inside is a file's path from the root of the repository, "" where it lies
// elsewhere; a path without folders is one from the root.
func (x *Checkout) inside(file string) string {
	parts := strings.FieldsFunc(file, slash)
	for i := len(parts) - 2; i >= 0; i-- {
		if folded(parts[i]) == folded(x.Name()) && slices.Contains(x.tops, parts[i+1]) {
			return strings.Join(parts[i+1:], "/")
		}
	}
	if rel := strings.Join(parts, "/"); len(parts) > 0 && !strings.HasPrefix(file, "/") && !strings.Contains(parts[0], ":") {
		return strings.TrimPrefix(rel, "./")
	}
	return ""
}

// read makes a repository out of its block.
func read(block string) *Checkout {
	head, lines, _ := strings.Cut(block, "\n")
	repository, work, _ := strings.Cut(head, " ")
	x := &Checkout{Repository: repository, Work: work}
	for line := range strings.Lines(lines) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest, note, _ := strings.Cut(rest, " | ")
		words := strings.Fields(rest)
		switch {
		case kind == "in":
			x.tops = words
		case kind == "needs" || kind == "authors":
			x.needs = append(x.needs, need{number(words[0]), words[1] == "train", kind == "authors", note})
		default:
			has, advice, _ := strings.Cut(words[1], ">")
			kind, forWork, _ := strings.Cut(kind, "/")
			x.knobs = append(x.knobs, knob{kind, forWork, words[0], has, advice, strings.Split(words[2][1:], ","), note})
		}
	}
	return x
}
