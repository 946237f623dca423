package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// file is one of an archive.
type file struct {
	name    string
	mode    fs.FileMode
	content []byte
}

// payload is what every package carries beside the binary.
func payload(t target, binary, notices []byte) ([]file, error) {
	files := []file{{t.exe(), 0o755, binary}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, 0o644, content})
	}
	return append(files, file{"THIRD-PARTY.txt", 0o644, notices}), nil
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
