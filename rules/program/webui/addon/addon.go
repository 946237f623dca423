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
	// Part is what failed, behind "ran out of GPU memory in".
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
	// titled is a message below the type of a node.
	titled       string
	repositories []string
	packs        []Pack
}

// How far from the failure a frame of its traceback stands: ComfyUI prints the
// message first and the frames after it, then the message again.
const nearby = 120

// Of is the pack in which it failed, nil where the log shows none: the innermost
// of which something is known, for hooks of one run below another.
func (s *Set) Of(c *ledger.Case) *Pack {
	visits := s.visits(c)
	for _, v := range slices.Backward(visits) {
		if p := s.at(v); p != nil {
			return p
		}
	}
	for i := range s.packs {
		if p := &s.packs[i]; visits == nil && p.Types != nil && c.Near(s.words(p)...) {
			return p
		}
	}
	return nil
}

// at is the row for a stay in a pack, nil if there is none.
func (s *Set) at(v visit) *Pack {
	for i := range s.packs {
		if p := &s.packs[i]; p.Folder == v.folder && (p.Through || !v.inner) && (p.At == nil || shows(v.frames, p.At)) {
			return p
		}
	}
	return nil
}

// visit is a stay of a traceback in a pack: its frames with those of libraries
// below, and whether other work comes below them.
type visit struct {
	folder string
	frames []string
	inner  bool
}

// visits are those of the failure's traceback, the innermost last.
func (s *Set) visits(c *ledger.Case) (out []visit) {
	for _, x := range c.Facts.Code {
		if x.Line < c.Failure.Line-nearby || x.Line > c.Failure.EndLine+nearby || x.Function == "<module>" {
			continue
		}
		name, file, added := s.within(x.File)
		last := len(out) - 1
		switch {
		case s.known(name) && last >= 0 && out[last].folder == name:
			out[last].frames, out[last].inner = append(out[last].frames, file+":"+x.Function), false
		case s.known(name):
			for i := range out {
				out[i].inner = true
			}
			out = append(out, visit{folder: name, frames: []string{file + ":" + x.Function}})
		case last < 0:
		case added || slices.ContainsFunc(s.inner, func(part string) bool { return strings.Contains("/"+x.File, part) }):
			out[last].inner = true
		default:
			out[last].frames = append(out[last].frames, x.File+":"+x.Function)
		}
	}
	return out
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
	out := slices.Clone(s.typed)
	for _, f := range s.folders {
		out = append(out, f, strings.ReplaceAll(f, "/", `\`))
	}
	for i := range s.packs {
		out = append(out, s.words(&s.packs[i])...)
	}
	return out
}

// words are those that name a node by its type. The dialog of an error, which is
// pasted too, has the type as its title, and the message below.
func (s *Set) words(p *Pack) []string {
	var out []string
	for _, t := range p.Types {
		if s.titled != "" {
			out = append(out, t+" "+s.titled)
		}
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
