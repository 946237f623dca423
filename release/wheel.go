package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// platforms are the tags of wheels. The binaries for Linux are static, so any C
// library will do.
var platforms = map[target]string{
	{"linux", "amd64"}:   "manylinux2014_x86_64.musllinux_1_1_x86_64",
	{"linux", "arm64"}:   "manylinux2014_aarch64.musllinux_1_1_aarch64",
	{"darwin", "amd64"}:  "macosx_12_0_x86_64",
	{"darwin", "arm64"}:  "macosx_12_0_arm64",
	{"windows", "amd64"}: "win_amd64",
	{"windows", "arm64"}: "win_arm64",
}

// wheelVersion is the version as Python writes it (PEP 440).
func wheelVersion(version string) string { return strings.Replace(version, "-dev", ".dev0", 1) }

func wheelName(t target, version string) string {
	return fmt.Sprintf("oomdoc-%s-py3-none-%s.whl", wheelVersion(version), platforms[t])
}

const metadata = `Metadata-Version: 2.1
Name: oomdoc
Version: %s
Summary: Explains out-of-memory crashes: what happened in figures, why, and what to do about it
Home-page: https://github.com/oomdoc/oomdoc
License: MIT
Requires-Python: >=3.8
Description-Content-Type: text/markdown

%s`

// wheel packs python/oomdoc with the binary, which pip puts beside python.
func wheel(t target, version string, binary []byte, files []file, when time.Time) ([]byte, error) {
	v := wheelVersion(version)
	info := "oomdoc-" + v + ".dist-info/"
	var all []file
	modules, err := filepath.Glob("python/oomdoc/*.py")
	if err != nil || len(modules) == 0 {
		return nil, fmt.Errorf("no Python in python/oomdoc: %w", err)
	}
	slices.Sort(modules)
	for _, path := range modules {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		all = append(all, file{"oomdoc/" + filepath.Base(path), 0o644, content})
	}
	readme, err := os.ReadFile("python/README.md")
	if err != nil {
		return nil, err
	}
	all = append(all, file{"oomdoc-" + v + ".data/scripts/" + t.exe(), 0o755, binary})
	for _, f := range files {
		if f.name == "LICENSE" || f.name == "THIRD-PARTY.txt" {
			all = append(all, file{info + f.name, 0o644, f.content})
		}
	}
	var tags strings.Builder
	for platform := range strings.SplitSeq(platforms[t], ".") {
		fmt.Fprintf(&tags, "Tag: py3-none-%s\n", platform)
	}
	all = append(all,
		file{info + "METADATA", 0o644, fmt.Appendf(nil, metadata, v, readme)},
		file{info + "WHEEL", 0o644, fmt.Appendf(nil, "Wheel-Version: 1.0\nGenerator: oomdoc\nRoot-Is-Purelib: false\n%s", tags.String())})
	var record strings.Builder
	for _, f := range all {
		hash := sha256.Sum256(f.content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(hash[:]), len(f.content))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	return zipped(append(all, file{info + "RECORD", 0o644, []byte(record.String())}), when), nil
}
