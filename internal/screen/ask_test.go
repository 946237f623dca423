package screen

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHear(t *testing.T) {
	for in, want := range map[string]heard{
		"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\\x1b[?64;1;2c": {color: "rgb:1e1e/1e1e/1e1e", done: true},
		"\x1b]11;rgb:ff/ff/ff\a\x1b[?6c":                {color: "rgb:ff/ff/ff", done: true},
		"\x1b[?1;2c":                                    {done: true},
		"l\x1b]11;rgb:0/0/0\x1b\\s\x1b[?6c\r":           {color: "rgb:0/0/0", done: true, typed: []byte("ls\r")},
		"\x1b[A\x1bOPx":                                 {typed: []byte("Px")}, // keys that send sequences are no text
		"\x1b]11;rgb:1e1e/1e":                           {},
		"\x1b[?6":                                       {},
		"\x1b":                                          {},
		"\x1b]4;1;rgb:ff/00/00\x1b\\":                   {},
		"":                                              {},
	} {
		assert.Equal(t, want, hear([]byte(in)), "%q", in)
	}
}

func TestBackgroundOf(t *testing.T) {
	for in, want := range map[string]Background{
		"rgb:0000/0000/0000": Dark, "rgb:ffff/ffff/ffff": Light, "rgb:fd/f6/e3": Light, "rgb:1/1/1": Dark, "rgba:ffff/ffff/ffff/8000": Light,
		"rgb:0000/2b2b/3636": Dark, "rgb:8080/8080/8080": Light, "rgb:7000/7000/7000": Dark,
		"": Unknown, "rgb:": Unknown, "rgb:12/34": Unknown, "rgb:xx/yy/zz": Unknown, "rgb:12345/0/0": Unknown, "rgb://": Unknown, "#ffffff": Unknown,
	} {
		assert.Equal(t, want, backgroundOf(in), "%q", in)
	}
}

// TestAnswers: where nobody would answer, or what is asked would be shown,
// nothing is asked.
func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"TERM": "xterm-256color"}, true},
		{map[string]string{"TERM": "tmux-256color", "TMUX": "/tmp/tmux"}, true},
		{map[string]string{"TERM": "screen-256color", "TMUX": "/tmp/tmux"}, true},
		{map[string]string{"TERM": "screen-256color"}, false},
		{map[string]string{"TERM": "xterm-256color", "STY": "1.pts"}, false},
		{map[string]string{"TERM": "xterm-256color", "CI": "true"}, false},
		{map[string]string{"TERM": "dumb"}, false},
		{map[string]string{"TERM": "linux"}, false},
		{map[string]string{"TERM": "vt100"}, false},
		{nil, false},
	} {
		assert.Equal(t, test.want, answers(func(name string) string { return test.env[name] }), "%v", test.env)
	}
}

func FuzzHear(f *testing.F) {
	f.Add([]byte("l\x1b]11;rgb:0/0/0\x1b\\s\x1b[?6c\r"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := hear(b)
		assert.LessOrEqual(t, len(h.typed), len(b))
		assert.NotContains(t, string(h.typed), "\x1b", "what a terminal sends is never typed into the shell")
		backgroundOf(h.color)
	})
}
