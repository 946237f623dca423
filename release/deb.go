package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// debVersion sorts before the release that it becomes.
func debVersion(version string) string { return strings.ReplaceAll(version, "-", "~") }

func debName(t target, version string) string {
	return fmt.Sprintf("oomdoc_%s_%s.deb", debVersion(version), t.arch)
}

const control = `Package: oomdoc
Version: %s
Section: utils
Priority: optional
Architecture: %s
Installed-Size: %d
Maintainer: The oomdoc authors <oomdoc@users.noreply.github.com>
Homepage: https://github.com/oomdoc/oomdoc
Description: explains out-of-memory crashes of AI programs
 Reads the log of a program that ran out of memory (PyTorch, vLLM, llama.cpp,
 Ollama, ComfyUI, JAX, TensorFlow and what runs around them) and says what
 happened in figures, why, and what to do about it. Works offline.
`

// deb writes a Debian package. The binary is static: it depends on nothing.
func deb(ctx context.Context, t target, version string, files []file, when time.Time, path string) error {
	root, err := os.MkdirTemp("", "oomdoc-deb-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	const doc = "usr/share/doc/oomdoc/"
	tree := []file{}
	size := 0
	for _, f := range files {
		size += len(f.content)
		switch f.name {
		case "oomdoc":
			f.name = "usr/bin/oomdoc"
		case "LICENSE":
			f.name = doc + "copyright"
		case manual:
			f.name, f.content = "usr/share/man/man1/oomdoc.1.gz", gzipped(f.content)
		case completions["bash"]:
			f.name = "usr/share/bash-completion/completions/oomdoc"
		case completions["zsh"]:
			f.name = "usr/share/zsh/vendor-completions/_oomdoc"
		case completions["fish"]:
			f.name = "usr/share/fish/vendor_completions.d/oomdoc.fish"
		case completions["powershell"]:
			continue
		default:
			f.name = doc + f.name
		}
		tree = append(tree, f)
	}
	tree = append(tree, file{"DEBIAN/control", 0o644, fmt.Appendf(nil, control, debVersion(version), t.arch, (size+1023)/1024)})
	for _, f := range tree {
		if err := place(root, f); err != nil {
			return err
		}
	}
	// Without these, a strange umask of the builder would be the package's.
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(p, 0o755)
		}
		return err
	})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, path)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", when.Unix()))
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("dpkg-deb: %w: %s", err, bytes.TrimSpace(said))
	}
	return nil
}

func place(root string, f file) error {
	path := filepath.Join(root, filepath.FromSlash(f.name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, f.content, f.mode); err != nil {
		return err
	}
	return os.Chmod(path, f.mode)
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	must(err)
	_, err = z.Write(b)
	must(err)
	must(z.Close())
	return out.Bytes()
}
