package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var whole = flag.Bool("whole", false, "make a release from a clone, compare it with another build, install and remove it")

var (
	linux   = target{"linux", "amd64"}
	windows = target{"windows", "amd64"}
	when    = time.Unix(1_700_000_000, 0).UTC()
)

// inRoot runs a test in the root of the checkout, as the command does.
func inRoot(t *testing.T) {
	t.Helper()
	t.Chdir("..")
}

func stub(t *testing.T, on target) []file {
	t.Helper()
	files, err := payload(t.Context(), on, []byte("\x7fELF stub"), []byte("licences"))
	require.NoError(t, err)
	return files
}

func TestArchives(t *testing.T) {
	inRoot(t)
	packed := archive(linux, stub(t, linux), when)
	assert.Equal(t, packed, archive(linux, stub(t, linux), when), "the same bytes each time")
	z, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	modes := map[string]int64{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		modes[h.Name] = h.Mode
		assert.Equal(t, when, h.ModTime.UTC())
		assert.Zero(t, h.Uid)
	}
	assert.Equal(t, map[string]int64{
		"oomdoc": 0o755, "LICENSE": 0o644, "README.md": 0o644, "CHANGELOG.md": 0o644, "THIRD-PARTY.txt": 0o644, "oomdoc.1": 0o644,
		"completions/oomdoc.bash": 0o644, "completions/_oomdoc": 0o644, "completions/oomdoc.fish": 0o644, "completions/oomdoc.ps1": 0o644,
	}, modes)

	packed = archive(windows, stub(t, windows), when)
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	require.NoError(t, err)
	assert.Equal(t, "oomdoc.exe", r.File[0].Name)
}

// TestWheels: the record names every file with its sum, as pip checks it.
func TestWheels(t *testing.T) {
	inRoot(t)
	for _, on := range targets {
		packed, err := wheel(on, "1.2.3-dev", []byte("binary"), stub(t, on), when)
		require.NoError(t, err)
		r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
		require.NoError(t, err)
		record, err := r.Open("oomdoc-1.2.3.dev0.dist-info/RECORD")
		require.NoError(t, err)
		text, err := io.ReadAll(record)
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		require.Len(t, lines, len(r.File))
		for _, f := range r.File {
			if strings.HasSuffix(f.Name, "/RECORD") {
				continue
			}
			part, err := f.Open()
			require.NoError(t, err)
			content, err := io.ReadAll(part)
			require.NoError(t, err)
			hash := sha256.Sum256(content)
			assert.Contains(t, lines, fmt.Sprintf("%s,sha256=%s,%d", f.Name, base64.RawURLEncoding.EncodeToString(hash[:]), len(content)))
		}
		assert.Contains(t, string(text), "oomdoc-1.2.3.dev0.data/scripts/"+on.exe())
		assert.Contains(t, string(text), "oomdoc/__init__.py")
		assert.NotContains(t, string(text), "test")
		assert.Regexp(t, `^oomdoc-1\.2\.3\.dev0-py3-none-[a-z0-9_.]+\.whl$`, wheelName(on, "1.2.3-dev"))
	}
}

// TestDeb: the package is the same each time, and owned by root.
func TestDeb(t *testing.T) {
	inRoot(t)
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb is not here")
	}
	dir := t.TempDir()
	var made [2][]byte
	for i := range made {
		path := filepath.Join(dir, fmt.Sprintf("%d.deb", i))
		require.NoError(t, deb(t.Context(), linux, "1.2.3-dev", stub(t, linux), when, path))
		var err error
		made[i], err = os.ReadFile(path)
		require.NoError(t, err)
	}
	assert.Equal(t, made[0], made[1])
	assert.Contains(t, sh(t, dir, "dpkg-deb", "--info", "0.deb"), "Version: 1.2.3~dev\n")
	list := sh(t, dir, "dpkg-deb", "--contents", "0.deb")
	assert.Regexp(t, `-rwxr-xr-x root/root +\d+ 2023-11-14 22:13 \./usr/bin/oomdoc\n`, list)
	for _, name := range []string{"doc/oomdoc/copyright", "man/man1/oomdoc.1.gz", "bash-completion/completions/oomdoc", "zsh/vendor-completions/_oomdoc", "fish/vendor_completions.d/oomdoc.fish"} {
		assert.Contains(t, list, "./usr/share/"+name+"\n")
	}
}

func TestVersions(t *testing.T) {
	assert.Equal(t, "1.2.3~dev", debVersion("1.2.3-dev"))
	assert.Equal(t, "1.2.3", debVersion("1.2.3"))
	assert.Equal(t, "1.2.3", wheelVersion("1.2.3"))
	assert.Equal(t, "oomdoc_1.2.3_amd64.deb", debName(linux, "1.2.3"))
}

func TestRecipes(t *testing.T) {
	sums := map[string]string{}
	for i, x := range targets {
		sums[x.String()] = strings.Repeat(fmt.Sprint(i), 64)
	}
	made, err := recipe(formula, "1.2.3", sums)
	require.NoError(t, err)
	for _, x := range targets {
		if x.os != "windows" {
			assert.Contains(t, string(made), fmt.Sprintf("oomdoc_#{version}_%s_%s.tar.gz\"\n      sha256 %q", x.os, x.arch, sums[x.String()]))
		}
	}
	made, err = recipe(manifest, "1.2.3", sums)
	require.NoError(t, err)
	var scoop struct {
		Version      string
		Architecture map[string]struct{ URL, Hash string }
	}
	require.NoError(t, json.Unmarshal(made, &scoop))
	assert.Equal(t, "1.2.3", scoop.Version)
	assert.True(t, strings.HasSuffix(scoop.Architecture["64bit"].URL, "/v1.2.3/oomdoc_1.2.3_windows_amd64.zip"))
	assert.Equal(t, sums["windows/arm64"], scoop.Architecture["arm64"].Hash)

	_, err = recipe(formula, "1.2.3", nil)
	assert.ErrorContains(t, err, "there is no archive for darwin/arm64")
}

// TestRecipesNameArchives: their checksums are those of the archives, not of
// the other packages for the same system.
func TestRecipesNameArchives(t *testing.T) {
	r := &release{out: t.TempDir(), version: "1.2.3", log: io.Discard}
	for _, x := range targets {
		require.NoError(t, r.write(x, r.archiveName(x), []byte("archive of "+x.String())))
		require.NoError(t, r.write(x, "oomdoc_1.2.3_"+x.arch+".deb", []byte("package")))
	}
	require.NoError(t, r.recipes())
	made, err := os.ReadFile(filepath.Join(r.out, "oomdoc.rb"))
	require.NoError(t, err)
	assert.Contains(t, string(made), fmt.Sprintf("linux_amd64.tar.gz\"\n      sha256 \"%x\"", sha256.Sum256([]byte("archive of linux/amd64"))))
}

var spdxID = regexp.MustCompile(`^SPDXRef-[a-zA-Z0-9.-]+$`)

// TestSBOM holds the list to what SPDX 2.3 asks of it.
func TestSBOM(t *testing.T) {
	infos := []*debug.BuildInfo{
		{GoVersion: "go1.26.8", Deps: []*debug.Module{{Path: "example.com/b", Version: "v1.0.0"}}},
		{GoVersion: "go1.26.8", Deps: []*debug.Module{{Path: "example.com/a", Version: "v2.0.0"}, {Path: "example.com/b", Version: "v1.0.0"}}},
	}
	out, err := sbom("1.2.3", infos, when)
	require.NoError(t, err)
	var doc spdx
	require.NoError(t, json.Unmarshal(out, &doc))
	assert.Equal(t, "SPDX-2.3", doc.Version)
	assert.Equal(t, "2023-11-14T22:13:20Z", doc.Creation.Created)
	names := []string{}
	for _, p := range doc.Packages {
		assert.Regexp(t, spdxID, p.ID)
		names = append(names, p.Name+"@"+p.Version)
	}
	assert.Equal(t, []string{"oomdoc@1.2.3", "example.com/a@v2.0.0", "example.com/b@v1.0.0", "std@1.26.8"}, names)
	assert.Len(t, doc.Relationships, 4)
}

func TestOnly(t *testing.T) {
	all, err := choose("")
	require.NoError(t, err)
	assert.Len(t, all, 6)
	one, err := choose("linux/amd64")
	require.NoError(t, err)
	assert.Equal(t, []target{linux}, one)
	_, err = choose("linux/mips")
	assert.ErrorContains(t, err, `there is no system "linux/mips"`)
}

// TestFreshKeepsStrangersFiles: only what a release wrote is removed.
func TestFreshKeepsStrangersFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644))
	assert.Error(t, fresh(dir))
	assert.FileExists(t, filepath.Join(dir, "mine"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, sums), nil, 0o644))
	require.NoError(t, fresh(dir))
	assert.NoFileExists(t, filepath.Join(dir, "mine"))
}

// TestWhole makes the release of this commit for one system, checks it, installs
// and removes it, and builds the binary once more in another folder.
func TestWhole(t *testing.T) {
	if !*whole {
		t.Skip("go test ./release -whole")
	}
	if runtime.GOOS != "linux" {
		t.Skip("installs packages for Linux")
	}
	on := target{"linux", runtime.GOARCH}
	first, second := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "another", "place")
	for _, dir := range []string{first, second} {
		sh(t, "..", "git", "clone", "--quiet", "--local", ".", dir)
	}
	sh(t, first, "go", "run", "./release", "-only", on.String())
	sh(t, filepath.Join(first, "dist"), "sha256sum", "--check", "--quiet", sums)
	installDeb(t, glob(t, first, "*.deb"))
	installWheel(t, glob(t, first, "*.whl"))

	unpacked := t.TempDir()
	sh(t, ".", "tar", "-xzf", glob(t, first, "*.tar.gz"), "-C", unpacked)
	want, err := os.ReadFile(filepath.Join(unpacked, "oomdoc"))
	require.NoError(t, err)
	commit := strings.TrimSpace(sh(t, first, "git", "rev-parse", "--short=12", "HEAD"))
	assert.Contains(t, sh(t, ".", filepath.Join(unpacked, "oomdoc"), "--version"), "(commit "+commit+", go", "of no commit, or with changes")
	t.Chdir(second)
	got, _, err := compile(t.Context(), on)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want, got), "two builds of one commit differ")
}

const crash = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)\n"

// installDeb installs and removes the package in an empty system, and runs it
// there where this user may change the root.
func installDeb(t *testing.T, path string) {
	t.Helper()
	if path == "" {
		t.Log("no .deb: dpkg-deb is not here")
		return
	}
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644))
	dpkg := []string{"dpkg", "--root=" + root, "--force-not-root", "--force-architecture", "--log=/dev/null"}
	sh(t, ".", append(dpkg, "--install", path)...)
	if os.Geteuid() == 0 {
		run := exec.Command("chroot", root, "/usr/bin/oomdoc", "--brief")
		run.Stdin = strings.NewReader(crash)
		out, err := run.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "2.00 GiB did not fit")
	}
	assert.FileExists(t, filepath.Join(root, "usr/share/doc/oomdoc/copyright"))
	sh(t, ".", append(dpkg, "--purge", "oomdoc")...)
	assert.NoFileExists(t, filepath.Join(root, "usr/bin/oomdoc"))
	assert.NoDirExists(t, filepath.Join(root, "usr/share/doc/oomdoc"))
}

// installWheel installs the wheel in a fresh environment, without an index.
func installWheel(t *testing.T, path string) {
	t.Helper()
	const python = "python3"
	if err := exec.Command(python, "-c", "import ensurepip, venv").Run(); err != nil {
		t.Log("no wheel tried: python3 with venv is not here")
		return
	}
	env := filepath.Join(t.TempDir(), "env")
	sh(t, ".", python, "-m", "venv", env)
	sh(t, ".", filepath.Join(env, "bin", "pip"), "install", "--quiet", "--no-index", "--disable-pip-version-check", path)
	run := exec.Command(filepath.Join(env, "bin", "python"), "-c", "import oomdoc; oomdoc.install(); raise MemoryError("+fmt.Sprintf("%q", crash)+")")
	run.Env = []string{"PATH=/nowhere"}
	out, err := run.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "2.00 GiB did not fit")
	assert.Contains(t, sh(t, ".", filepath.Join(env, "bin", "oomdoc"), "--version"), "oomdoc ")
}

func sh(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", args, out)
	return string(out)
}

func glob(t *testing.T, dir, pattern string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "dist", pattern))
	require.NoError(t, err)
	if len(paths) == 0 {
		return ""
	}
	return paths[0]
}
