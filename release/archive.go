package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/oomdoc/oomdoc/internal/cli"
)

// file is one of an archive.
type file struct {
	name    string
	mode    fs.FileMode
	content []byte
}

// completions are the files for shells, by the names that they look for.
var completions = map[string]string{"bash": "completions/oomdoc.bash", "zsh": "completions/_oomdoc", "fish": "completions/oomdoc.fish", "powershell": "completions/oomdoc.ps1"}

// manual is the page for man.
const manual = "oomdoc.1"

// printed are the manual page and the completions, as the command prints them.
func printed(ctx context.Context) ([]file, error) {
	ask := map[string][]string{manual: {"man"}}
	for shell, name := range completions {
		ask[name] = []string{"completion", shell}
	}
	var files []file
	for _, name := range slices.Sorted(maps.Keys(ask)) {
		var out bytes.Buffer
		if err := cli.Run(ctx, ask[name], strings.NewReader(""), &out, io.Discard, func(string) string { return "" }); err != nil {
			return nil, fmt.Errorf("oomdoc %s: %w", strings.Join(ask[name], " "), err)
		}
		files = append(files, file{name, 0o644, out.Bytes()})
	}
	return files, nil
}

// payload is what every package carries beside the binary.
func payload(ctx context.Context, t target, binary, notices []byte) ([]file, error) {
	files := []file{{t.exe(), 0o755, binary}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, 0o644, content})
	}
	files = append(files, file{"THIRD-PARTY.txt", 0o644, notices})
	more, err := printed(ctx)
	return append(files, more...), err
}

// archive packs files for a system: a zip for Windows, else a tar.gz.
func archive(t target, files []file, when time.Time) []byte {
	if t.os == "windows" {
		return zipped(files, when)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: when, Format: tar.FormatUSTAR}
		must(w.WriteHeader(h))
		_, err := w.Write(f.content)
		must(err)
	}
	must(w.Close())
	must(z.Close())
	return b.Bytes()
}

func zipped(files []file, when time.Time) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: when}
		h.SetMode(f.mode)
		part, err := w.CreateHeader(h)
		must(err)
		_, err = part.Write(f.content)
		must(err)
	}
	must(w.Close())
	return b.Bytes()
}

// must: writing to memory fails only where the program is wrong.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("write an archive: %v", err))
	}
}
