// Command release makes everything that a release has, from one commit and
// nothing else: archives, .deb packages, wheels, a list of what is in them,
// checksums, and the recipes of Homebrew and Scoop.
//
//	go run ./release -out dist
//
// Two runs on the same commit with the same Go write the same bytes: times are
// the commit's (or SOURCE_DATE_EPOCH), and paths of the machine do not get in.
// A package whose tool is missing is left out, which it says.
package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oomdoc/oomdoc/internal/build"
)

// target is a system that binaries are made for.
type target struct{ os, arch string }

var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"}}

func (t target) String() string { return t.os + "/" + t.arch }

// exe is the binary's name there.
func (t target) exe() string {
	if t.os == "windows" {
		return "oomdoc.exe"
	}
	return "oomdoc"
}

func main() {
	out := flag.String("out", "dist", "write to this `FOLDER`, which is made anew")
	only := flag.String("only", "", "only these systems, `linux/amd64,...`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out, *only, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run works in the root of the checkout.
func run(ctx context.Context, out, only string, log io.Writer) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	when, err := epoch(ctx)
	if err != nil {
		return err
	}
	if err := fresh(out); err != nil {
		return err
	}
	r := &release{out: out, when: when, log: log}
	for _, t := range chosen {
		if err := r.add(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return r.finish()
}

func choose(only string) ([]target, error) {
	if only == "" {
		return targets, nil
	}
	var chosen []target
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no system %q; they are %v", name, targets)
		}
		chosen = append(chosen, targets[i])
	}
	return chosen, nil
}

// epoch is the time that all files of the release bear.
func epoch(ctx context.Context) (time.Time, error) {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		out, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, errors.New("git does not tell the commit's time; set SOURCE_DATE_EPOCH")
		}
		seconds = strings.TrimSpace(string(out))
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is no number of seconds: %q", seconds)
	}
	return time.Unix(n, 0).UTC(), nil
}

// fresh makes the folder anew, if it is one that a release wrote.
func fresh(out string) error {
	entries, err := os.ReadDir(out)
	if err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(out, sums)); err != nil {
			return fmt.Errorf("%s is not empty and no release; name another folder", out)
		}
		if err := os.RemoveAll(out); err != nil {
			return err
		}
	}
	return os.MkdirAll(out, 0o755)
}

// release is one in the making.
type release struct {
	out     string
	when    time.Time
	log     io.Writer
	version string
	made    []made
	infos   []*debug.BuildInfo // of every binary
}

// made is a file of the release.
type made struct {
	name   string
	target target
}

// add makes what there is for one system.
func (r *release) add(ctx context.Context, t target) error {
	binary, info, err := compile(ctx, t)
	if err != nil {
		return err
	}
	r.infos, r.version = append(r.infos, info), build.NumberOf(info)
	notices, err := thirdParties(ctx, info)
	if err != nil {
		return err
	}
	files, err := payload(ctx, t, binary, notices)
	if err != nil {
		return err
	}
	if err := r.write(t, r.archiveName(t), archive(t, files, r.when)); err != nil {
		return err
	}
	wheel, err := wheel(t, r.version, binary, files, r.when)
	if err != nil {
		return err
	}
	if err := r.write(t, wheelName(t, r.version), wheel); err != nil {
		return err
	}
	if t.os != "linux" {
		return nil
	}
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		fmt.Fprintln(r.log, "left out: the .deb, since dpkg-deb is not here")
		return nil
	}
	name := debName(t, r.version)
	r.made = append(r.made, made{name, t})
	return deb(ctx, t, r.version, files, r.when, filepath.Join(r.out, name))
}

func (r *release) archiveName(t target) string {
	end := ".tar.gz"
	if t.os == "windows" {
		end = ".zip"
	}
	return fmt.Sprintf("oomdoc_%s_%s_%s%s", r.version, t.os, t.arch, end)
}

func (r *release) write(t target, name string, content []byte) error {
	r.made = append(r.made, made{name, t})
	return os.WriteFile(filepath.Join(r.out, name), content, 0o644)
}

// finish writes what is about all of it.
func (r *release) finish() error {
	list, err := sbom(r.version, r.infos, r.when)
	if err != nil {
		return err
	}
	if err := r.write(target{}, "oomdoc_"+r.version+".spdx.json", list); err != nil {
		return err
	}
	if err := r.recipes(); err != nil {
		return err
	}
	if err := r.checksums(); err != nil {
		return err
	}
	for _, m := range r.made {
		fmt.Fprintln(r.log, filepath.Join(r.out, m.name))
	}
	return nil
}

// compile makes a binary that runs on any machine of its system: without cgo,
// and without a path of this one.
func compile(ctx context.Context, t target) ([]byte, *debug.BuildInfo, error) {
	dir, err := os.MkdirTemp("", "oomdoc-release-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, t.exe())
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "./cmd/oomdoc")
	cmd.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOFLAGS=-buildvcs=auto", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(said))
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	binary, err := os.ReadFile(path)
	return binary, info, err
}
