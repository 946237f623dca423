package cli

import (
	"bytes"
	"unicode/utf8"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/clean"
)

// sniffed is how much of an input is looked at before it is read as a log.
const sniffed = 8 << 10

// formats that people have at hand where they meant to give a log.
var formats = []struct{ magic, is, instead string }{
	{"\xfd7zXZ\x00", "xz-compressed", "unpack it on the way: xzcat FILE | oomdoc"},
	{"BZh", "bzip2-compressed", "unpack it on the way: bzcat FILE | oomdoc"},
	{"PK\x03\x04", "a zip archive", "unpack it on the way: unzip -p FILE | oomdoc"},
	{"GGUF", "a model (GGUF)", "give the output of the program that loads it"},
	{"\x89PNG", "an image", "copy the text out of the picture and give that"},
	{"\xff\xd8\xff", "an image", "copy the text out of the picture and give that"},
	{"%PDF", "a PDF", "copy the text out of it and give that"},
	{"\x7fELF", "a program", "run it and pipe its output in: PROGRAM 2>&1 | oomdoc"},
}

// unfit says why an input is no log, nil if it may be one.
func unfit(in input, head []byte, all bool) error {
	if all && len(bytes.TrimSpace(head)) == 0 {
		return trouble("%s is empty; %s", in.called, pipeHint)
	}
	for _, f := range formats {
		if bytes.HasPrefix(head, []byte(f.magic)) && binary(head) {
			return trouble("%s is %s, not text; %s", in.called, f.is, f.instead)
		}
	}
	if isReport(head) {
		name := "-"
		if in.name != "" {
			name = in.called
		}
		return trouble("%s is a report that oomdoc wrote, and no log; show it with: oomdoc --from-report %s", in.called, name)
	}
	if binary(head) {
		return trouble("%s is not text; give the log as a text file, or %s", in.called, pipeHint)
	}
	return nil
}

// binary reports bytes that no log is made of. A few stray ones are let pass:
// a machine that went down leaves runs of NUL in its log files.
func binary(head []byte) bool {
	if order, _ := clean.UTF16(head); order != nil {
		return false
	}
	odd := 0
	for rest := head; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && n == 1 && len(rest) >= utf8.UTFMax:
			odd++
		case r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\b' && r != '\f' && r != 0x1b:
			odd++
		}
		rest = rest[n:]
	}
	return odd*10 > len(head)*3
}

// isReport tells a saved report from a log: the schema is its first field.
func isReport(head []byte) bool {
	for _, part := range []string{"{", `"schema"`, ":", `"` + diagnose.Schema + `"`} {
		head = bytes.TrimLeft(head, " \t\r\n")
		if !bytes.HasPrefix(head, []byte(part)) {
			return false
		}
		head = head[len(part):]
	}
	return true
}
