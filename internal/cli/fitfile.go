package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

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
	return weightsBeside(filepath.Dir(name), r.Known), nil
}

// weightsBeside counts the safetensors of a checkpoint's folder, whose sizes are
// better than any reckoning.
func weightsBeside(folder string, m *fit.Model) []string {
	var bytes int64
	if f, err := os.Open(filepath.Join(folder, "model.safetensors.index.json")); err == nil {
		bytes, _, _ = fit.ReadSafetensorsIndex(f)
		f.Close()
	} else if f, err := os.Open(filepath.Join(folder, "model.safetensors")); err == nil {
		if w, err := fit.ReadSafetensors(f); err == nil {
			bytes = w.Total
		}
		f.Close()
	}
	switch {
	case bytes == 0:
		return nil
	case m.SetCheckpoint(bytes):
		return []string{fmt.Sprintf("The safetensors beside the config.json hold %s of weights, which counts for its own format.", units.Format(bytes))}
	}
	return []string{fmt.Sprintf("The safetensors beside the config.json hold %s, which does not agree with the shape: something else is in them, or the shape is not understood.", units.Format(bytes))}
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
