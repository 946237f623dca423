package fit

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// ReadSafetensors reads the header of one safetensors file: 8 bytes of length,
// then JSON. The layers are by number as in "model.layers.12."; sizes are those
// of the file, which is what loads unless a dtype is asked for.
func ReadSafetensors(r io.Reader) (Weights, error) {
	var n [8]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return Weights{}, fmt.Errorf("%w: %w", ErrFile, err)
	}
	length := binary.LittleEndian.Uint64(n[:])
	if length < 2 || length > 100<<20 { // the format's own limit
		return Weights{}, fmt.Errorf("%w: a safetensors header of %d bytes", ErrFile, length)
	}
	var header map[string]json.RawMessage
	if err := json.NewDecoder(io.LimitReader(r, int64(length))).Decode(&header); err != nil {
		return Weights{}, fmt.Errorf("%w: safetensors header: %w", ErrFile, err)
	}
	w := Weights{Format: "safetensors", Basis: "exact"}
	for name, raw := range header {
		if name == "__metadata__" {
			continue
		}
		var t struct {
			DType   string   `json:"dtype"`
			Offsets [2]int64 `json:"data_offsets"`
		}
		if err := json.Unmarshal(raw, &t); err != nil || t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] {
			return Weights{}, fmt.Errorf("%w: tensor %q", ErrFile, name)
		}
		w.addTensor(name, t.Offsets[1]-t.Offsets[0])
	}
	w.GPU = w.Total
	return w, nil
}

func (w *Weights) addTensor(name string, bytes int64) {
	w.Total += bytes
	layer := layerOf(name, "layers.")
	if layer < 0 {
		w.Output += bytes
		return
	}
	for len(w.Layers) <= layer {
		w.Layers = append(w.Layers, 0)
	}
	w.Layers[layer] += bytes
}

// ReadSafetensorsIndex reads model.safetensors.index.json: the bytes of all
// shards. Tied heads that are stored twice count twice.
func ReadSafetensorsIndex(r io.Reader) (total int64, shards int, err error) {
	var index struct {
		Metadata struct {
			TotalSize json.Number `json:"total_size"`
		} `json:"metadata"`
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.NewDecoder(io.LimitReader(r, 100<<20)).Decode(&index); err != nil {
		return 0, 0, fmt.Errorf("%w: safetensors index: %w", ErrFile, err)
	}
	size, err := index.Metadata.TotalSize.Float64() // some writers print 1.6e+10
	if err != nil || size <= 0 {
		return 0, 0, fmt.Errorf("%w: a safetensors index without total_size", ErrFile)
	}
	files := map[string]bool{}
	for _, f := range index.WeightMap {
		files[f] = true
	}
	return int64(size), len(files), nil
}
