package screen

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// question asks for the background (OSC 11), then for what the terminal is
// (DA1). All terminals answer the second, in order: when that answer is there
// and none before it, there will be none to the first.
const question = "\x1b]11;?\x1b\\" + "\x1b[c"

// How long to wait for an answer that does not come. An answer that comes later
// would be typed into the shell; over SSH it is longer on its way.
const (
	patience       = 200 * time.Millisecond
	patienceRemote = time.Second
)

// Ask asks the terminal for its background and waits a fifth of a second at
// most, a second over SSH. It is asked only where an answer can be expected and
// nothing is disturbed: in and out are this process's terminal, it has the
// foreground, nothing that was typed waits to be read. Nobody else may read in
// meanwhile. Anywhere else the answer is Unknown.
func Ask(in, out *os.File, getenv func(string) string) Background {
	if !answers(getenv) {
		return Unknown
	}
	wait := patience
	if getenv("SSH_CONNECTION") != "" || getenv("SSH_TTY") != "" {
		wait = patienceRemote
	}
	return backgroundOf(ask(in, out, wait).color)
}

// answers reports a terminal of a kind that answers, or leaves a question alone.
func answers(getenv func(string) string) bool {
	switch name := getenv("TERM"); {
	case name == "", name == "dumb", name == "unknown", name == "linux", name == "emacs", strings.HasPrefix(name, "vt"):
		return false
	case strings.HasPrefix(name, "screen") && getenv("TMUX") == "": // GNU screen asks nobody
		return false
	}
	return getenv("CI") == "" && getenv("STY") == ""
}

// heard is what came from a terminal after the question.
type heard struct {
	color string // "rgb:ffff/ffff/ffff", "" if it was not told
	done  bool   // the second answer is there
	typed []byte // what the user typed meanwhile, without keys that send an escape sequence
}

// hear takes what came apart.
func hear(b []byte) heard {
	var h heard
	for i := 0; i < len(b); {
		n, body := sequence(b[i:])
		switch {
		case n == 0:
			h.typed = append(h.typed, b[i])
			n = 1
		case strings.HasPrefix(body, "]11;"):
			h.color = body[len("]11;"):]
		case strings.HasPrefix(body, "[?") && strings.HasSuffix(body, "c"):
			h.done = true
		}
		i += n
	}
	return h
}

// sequence is the length of an escape sequence at the front, 0 if none is there,
// and what stands between its escape character and its end (of a CSI with its
// last letter). One without an end goes on to the end of b.
func sequence(b []byte) (n int, body string) {
	if b[0] != 0x1b {
		return 0, ""
	}
	s := string(b)
	switch {
	case len(s) < 2:
		return len(s), ""
	case s[1] == '[':
		end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= '@' && r <= '~' })
		if end < 0 {
			return len(s), ""
		}
		return end + 3, s[1 : end+3]
	case strings.IndexByte("]P_^X", s[1]) >= 0:
		end, length := strings.IndexByte(s, '\a'), 1
		if st := strings.Index(s[1:], "\x1b\\"); st >= 0 && (end < 0 || st+1 < end) {
			end, length = st+1, 2
		}
		if end < 0 {
			return len(s), ""
		}
		return end + length, s[1:end]
	}
	return 2, ""
}

// backgroundOf reads a colour as X11 writes it: "rgb:1e1e/1e1e/1e1e", with one to
// four digits each, or "rgba:" with a fourth part.
func backgroundOf(color string) Background {
	_, parts, ok := strings.Cut(color, ":")
	list := strings.Split(parts, "/")
	if !ok || len(list) < 3 {
		return Unknown
	}
	var of [3]float64
	for i := range of {
		n, err := strconv.ParseUint(list[i], 16, 16)
		if err != nil {
			return Unknown
		}
		of[i] = float64(n) / float64(uint64(1)<<(4*len(list[i]))-1)
	}
	if luminance(of) > middle {
		return Light
	}
	return Dark
}
