// Package addon knows what people add to ComfyUI and to the web UIs by folder:
// custom nodes and extensions, what in each takes memory, and which inputs of
// its own lower that. The program's options do not reach most of them.
package addon

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Pack is a folder of nodes or an extension, or a part of what it does.
type Pack struct {
	// Folder is its name, in small letters and digits only.
	Folder string
	// At are files or functions of its own, one of which must be among the
	// frames; nil: any. Of several rows for a folder the first that fits holds.
	At []string
	// Types begin the types of its nodes, which the log may name in place of
	// frames; nil where a row needs frames.
	Types []string
	// Through says that its work is done by the program's own code below its
	// frames.
	Through bool
	// Weights says that they are what is too large, not the work.
	Weights bool
	// Part is what failed, behind "ran out of graphics memory in".
	Part string
	// Means, Not: what happens there and what cannot help.
	Means, Not string
	// Knobs are its own inputs, the best first, each of another fix; one without
	// a title is the program's own way.
	Knobs []Knob
}

// Knob is an input.
type Knob struct{ Fix, Title, Told, Cost string }

// Set is what is added to one program.
type Set struct {
	// folders lie above those of the packs; inner are folders of the program's
	// own work; typed stand before the type of a node.
	folders, inner, typed []string
	repositories          []string
	packs                 []Pack
}

// How far from the failure a frame of its traceback stands: ComfyUI prints the
// message first and the frames after it, then the message again.
const nearby = 120

// Of is the pack in which it failed, nil where the log shows none.
func (s *Set) Of(c *ledger.Case) *Pack {
	folder, below, inner := s.deepest(c)
	for i := range s.packs {
		p := &s.packs[i]
		switch {
		case folder == "":
			if p.Types != nil && c.Near(s.words(p)...) {
				return p
			}
		case p.Folder == folder && (p.Through || !inner) && (p.At == nil || shows(below, p.At)):
			return p
		}
	}
	return nil
}

// deepest is the folder of the last known pack among the frames of the failure,
// its frames and those below, and whether the program's own work is among these.
func (s *Set) deepest(c *ledger.Case) (folder string, below []string, inner bool) {
	for _, x := range c.Facts.Code {
		if x.Line < c.Failure.Line-nearby || x.Line > c.Failure.EndLine+nearby || x.Function == "<module>" {
			continue
		}
		name, file, added := s.within(x.File)
		switch {
		case s.known(name):
			if name != folder {
				folder, below = name, nil
			}
			inner, below = false, append(below, file+":"+x.Function)
		case added || slices.ContainsFunc(s.inner, func(part string) bool { return strings.Contains("/"+x.File, part) }):
			inner = true
		default:
			below = append(below, x.File+":"+x.Function)
		}
	}
	return folder, below, inner
}

// within splits the path of an added file into the plain name of its folder and
// the rest.
func (s *Set) within(path string) (name, file string, added bool) {
	for _, f := range s.folders {
		if _, rest, ok := strings.Cut(path, f); ok {
			name, file, _ = strings.Cut(rest, "/")
			return plain(name), file, true
		}
	}
	return "", "", false
}

func (s *Set) known(name string) bool {
	return name != "" && slices.ContainsFunc(s.packs, func(p Pack) bool { return p.Folder == name })
}

// Words are what a log may name an addition by, for cards to look for.
func (s *Set) Words() []string {
	var out []string
	for _, f := range s.folders {
		out = append(out, f, strings.ReplaceAll(f, "/", `\`))
	}
	for i := range s.packs {
		out = append(out, s.words(&s.packs[i])...)
	}
	return out
}

// words are those that name a node by its type.
func (s *Set) words(p *Pack) []string {
	var out []string
	for _, t := range p.Types {
		for _, before := range s.typed {
			out = append(out, before+t)
		}
	}
	return out
}

// Sources are where the inputs are defined.
func (s *Set) Sources() []string {
	out := make([]string, 0, len(s.repositories))
	for _, r := range s.repositories {
		out = append(out, "https://github.com/"+r)
	}
	return out
}

func shows(frames, words []string) bool {
	return slices.ContainsFunc(frames, func(f string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(f, w) })
	})
}

var noSigns = strings.NewReplacer("-", "", "_", "", " ", "", ".", "")

// plain is a folder's name without what differs from one installation to the
// next: ComfyUI-SUPIR, comfyui_supir, comfyui-supir-main.
func plain(folder string) string {
	folder = strings.ToLower(folder)
	return noSigns.Replace(strings.TrimSuffix(strings.TrimSuffix(folder, "-main"), "-master"))
}
