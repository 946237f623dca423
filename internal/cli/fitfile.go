package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
)

// openModel resolves what the user calls the model: a file or folder if there
// is one, else a name. It returns what to say about the file.
func openModel(name string, r *fit.Request) ([]string, error) {
	r.Model = name
	info, err := os.Stat(name)
	if err != nil {
		if looksLikeFile(name) {
			return nil, trouble("there is no model file %q; name a GGUF file, a folder with a config.json, or a model", shortened(name))
		}
		return nil, nil
	}
	if info.IsDir() {
		return openCheckpoint(filepath.Join(name, "config.json"), r)
	}
	switch {
	case strings.HasSuffix(strings.ToLower(name), ".gguf"):
		return nil, openGGUF(name, r)
	case strings.HasSuffix(name, ".safetensors"), strings.HasSuffix(name, ".safetensors.index.json"):
		return openSafetensors(name, r)
	}
	return openCheckpoint(name, r)
}

var shardName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*)-\d{5}-of-(\d{5})(\.\w+)$`) })

// shards are the names of all files of a model that was cut into several,
// "model-00002-of-00003.gguf", the first one first; else its only one.
func shards(name string) []string {
	g := shardName().FindStringSubmatch(name)
	if g == nil {
		return []string{name}
	}
	n, err := strconv.Atoi(g[2])
	if err != nil || n < 1 || n > 1000 {
		return []string{name}
	}
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s-%05d-of-%05d%s", g[1], i+1, n, g[3]))
	}
	return all
}

// eachShard reads all files of a model.
func eachShard(name string, read func(io.Reader) error) error {
	all := shards(name)
	for _, part := range all {
		if !exists(part) {
			return trouble("%q is one of %d files of a model, and %q is not there: all of them are needed", shortened(name), len(all), shortened(filepath.Base(part)))
		}
	}
	for _, part := range all {
		f, err := os.Open(part)
		if err != nil {
			return unreadable(input{called: strconv.Quote(part)}, err)
		}
		err = read(f)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// looksLikeFile: a wrong path is better called so than an unknown model.
func looksLikeFile(name string) bool {
	for _, end := range []string{".gguf", ".safetensors", ".json"} {
		if strings.HasSuffix(strings.ToLower(name), end) && (strings.ContainsRune(name, filepath.Separator) || end == ".json") {
			return true
		}
	}
	return strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/")
}

// openGGUF reads the headers. The first file of several has what describes the
// model, each has the list of its own tensors.
func openGGUF(name string, r *fit.Request) error {
	var whole *fit.GGUF
	err := eachShard(name, func(f io.Reader) error {
		g, err := fit.ReadGGUF(f)
		switch {
		case err != nil:
			return trouble("%q is no GGUF file that can be read: %v", name, err)
		case whole == nil:
			whole = g
		default:
			whole.Tensors = append(whole.Tensors, g.Tensors...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if r.Known, err = whole.Model(); err != nil {
		return trouble("%q cannot be sized: %v", name, err)
	}
	r.Basis = "gguf"
	return nil
}

// openCheckpoint reads a config.json.
func openCheckpoint(name string, r *fit.Request) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, trouble("%q cannot be read (%v); a folder of a model has a config.json", name, err)
	}
	defer f.Close()
	if r.Known, err = fit.ReadConfig(f); err != nil {
		return nil, trouble("%q is no config.json of a model whose shape is known: %v", name, err)
	}
	r.Basis = "config"
	return nil, nil
}

// openSafetensors takes the shape from the config.json beside the weights, and
// does with the size alone where there is none.
func openSafetensors(name string, r *fit.Request) ([]string, error) {
	var bytes int64
	err := eachShard(name, func(f io.Reader) error {
		if strings.HasSuffix(name, ".json") {
			n, _, err := fit.ReadSafetensorsIndex(f)
			if err != nil {
				return trouble("%q is no index of safetensors: %v", name, err)
			}
			bytes = n
			return nil
		}
		w, err := fit.ReadSafetensors(f)
		if err != nil {
			return trouble("%q is no safetensors file: %v", name, err)
		}
		bytes += w.Total
		return nil
	})
	if err != nil {
		return nil, err
	}
	note := fmt.Sprintf("The checkpoint holds %s of weights.", units.Format(bytes))
	if config := filepath.Join(filepath.Dir(name), "config.json"); exists(config) {
		_, err := openCheckpoint(config, r)
		return []string{note}, err
	}
	// 16 bits a weight, as nearly all checkpoints that have an index.
	r.Model = fmt.Sprintf("checkpoint-%.1fB", float64(bytes)/2e9)
	return []string{note + " There is no config.json beside it, so 16 bits a weight and a usual shape are assumed."}, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// ownCard puts the largest card that nvidia-smi shows into a request.
func (s *session) ownCard(ctx context.Context, r *fit.Request) []string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=name,memory.total,memory.used", "--format=csv,noheader,nounits").Output()
	if err != nil {
		return nil
	}
	var name string
	var total, used int64
	for line := range strings.Lines(string(out)) {
		n, t, u, ok := smiLine(line)
		if ok && t > total {
			name, total, used = n, t, u
		}
	}
	if total == 0 {
		return nil
	}
	r.Card = name
	if _, known := fit.Card(name); !known {
		// nvidia-smi counts what the driver keeps, 250 to 800 MiB, too.
		r.Card, r.VRAM = "", total-512*units.MiB
	}
	notes := []string{fmt.Sprintf("The card is the one that nvidia-smi shows on this computer: %s.", name)}
	if used > 300*units.MiB {
		notes = append(notes, fmt.Sprintf("Other programs hold %s of it now; the figures take it as free.", units.Format(used)))
	}
	return notes
}

// smiLine reads "NVIDIA GeForce RTX 3060, 12288, 512": MiB.
func smiLine(line string) (name string, total, used int64, ok bool) {
	f := strings.Split(line, ",")
	if len(f) != 3 {
		return "", 0, 0, false
	}
	t, err := strconv.ParseInt(strings.TrimSpace(f[1]), 10, 64)
	if err != nil || t <= 0 || t > largestCard/units.MiB {
		return "", 0, 0, false // "[N/A]" on machines where CPU and GPU share memory
	}
	u, err := strconv.ParseInt(strings.TrimSpace(f[2]), 10, 64)
	if err != nil {
		u = 0
	}
	return strings.TrimSpace(f[0]), t * units.MiB, u * units.MiB, true
}
