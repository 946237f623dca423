package fit

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// ErrFile is returned for a file that is not what it should be.
var ErrFile = errors.New("cannot read this file")

// GGUF is the header of a GGUF file: enough to size it to the byte.
type GGUF struct {
	Version uint32
	// Values holds scalars and strings by key, and arrays of up to 4096 numbers.
	Values map[string]any
	// Lengths of arrays, the vocabulary among them.
	Lengths map[string]int
	Tensors []GGUFTensor
}

// GGUFTensor is one tensor; Shape[0] is the length of a row.
type GGUFTensor struct {
	Name  string
	Shape []int64
	Type  string
	Bytes int64
}

// ggmlTypeName names the numbers of enum ggml_type, ggml/include/ggml.h.
func ggmlTypeName(id uint32) string {
	names := [...]string{
		0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K",
		14: "Q6_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS",
		24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M", 30: "BF16", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4", 40: "NVFP4",
	}
	if int(id) < len(names) {
		return names[id]
	}
	return ""
}

// ggufFileType names general.file_type, enum llama_ftype in llama.h.
func ggufFileType(id int64) string {
	names := [...]string{
		0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L",
		14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
		23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16",
		36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4_MOE",
	}
	if id >= 0 && id < int64(len(names)) {
		return names[id]
	}
	return ""
}

// Limits keep a broken header from taking memory.
const (
	ggufMaxTensors = 1 << 20
	ggufMaxValues  = 1 << 16
	ggufMaxString  = 1 << 20
	ggufMaxArray   = 1 << 24
	ggufKeepArray  = 4096
)

// ReadGGUF reads the header of a GGUF file, versions 2 and 3, and nothing
// behind it.
func ReadGGUF(r io.Reader) (*GGUF, error) {
	d := &ggufReader{r: bufio.NewReaderSize(r, 1<<16)}
	g := &GGUF{Values: map[string]any{}, Lengths: map[string]int{}}
	if magic := d.bytes(4); string(magic) != "GGUF" {
		return nil, fmt.Errorf("%w: no GGUF", ErrFile)
	}
	g.Version = d.uint32()
	tensors, values := d.uint64(), d.uint64()
	if g.Version < 2 || g.Version > 3 || tensors > ggufMaxTensors || values > ggufMaxValues {
		return nil, fmt.Errorf("%w: GGUF version %d with %d tensors and %d values", ErrFile, g.Version, tensors, values)
	}
	for range values {
		d.value(g, d.string(), d.uint32())
		if d.err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFile, d.err)
		}
	}
	for range tensors {
		t := d.tensor()
		if d.err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFile, d.err)
		}
		g.Tensors = append(g.Tensors, t)
	}
	return g, nil
}

// ggufReader reads little-endian values and remembers the first error.
type ggufReader struct {
	r   *bufio.Reader
	buf [8]byte
	err error
}

func (d *ggufReader) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

// bytes returns up to 8 bytes, zeros after an error.
func (d *ggufReader) bytes(n int) []byte {
	b := d.buf[:n]
	clear(b)
	if d.err == nil {
		_, d.err = io.ReadFull(d.r, b)
	}
	return b
}

func (d *ggufReader) uint32() uint32 { return binary.LittleEndian.Uint32(d.bytes(4)) }
func (d *ggufReader) uint64() uint64 { return binary.LittleEndian.Uint64(d.bytes(8)) }

func (d *ggufReader) string() string {
	n := d.uint64()
	if n > ggufMaxString {
		d.fail("a string of %d bytes", n)
	}
	if d.err != nil {
		return ""
	}
	var b strings.Builder
	_, err := io.CopyN(&b, d.r, int64(n))
	if err != nil && d.err == nil {
		d.err = err
	}
	return b.String()
}

func (d *ggufReader) skip(n int64) {
	if d.err == nil {
		_, d.err = io.CopyN(io.Discard, d.r, n)
	}
}

// Value types of GGUF: 0-7 small numbers, 8 string, 9 array, 10-12 large ones.
func (d *ggufReader) value(g *GGUF, key string, kind uint32) {
	switch kind {
	case 8:
		g.Values[key] = d.string()
	case 9:
		d.array(g, key)
	default:
		g.Values[key] = d.scalar(kind)
	}
}

func (d *ggufReader) scalar(kind uint32) any {
	switch kind {
	case 0:
		return int64(d.bytes(1)[0])
	case 1:
		return int64(int8(d.bytes(1)[0]))
	case 2:
		return int64(binary.LittleEndian.Uint16(d.bytes(2)))
	case 3:
		return int64(int16(binary.LittleEndian.Uint16(d.bytes(2))))
	case 4:
		return int64(d.uint32())
	case 5:
		return int64(int32(d.uint32()))
	case 6:
		return float64(math.Float32frombits(d.uint32()))
	case 7:
		return d.bytes(1)[0] != 0
	case 10, 11:
		return int64(d.uint64())
	case 12:
		return math.Float64frombits(d.uint64())
	}
	d.fail("a value of type %d", kind)
	return nil
}

func (d *ggufReader) array(g *GGUF, key string) {
	kind, n := d.uint32(), d.uint64()
	if n > ggufMaxArray || kind == 9 {
		d.fail("an array of %d of type %d", n, kind)
		return
	}
	g.Lengths[key] = int(n)
	var keep []any
	for range n {
		switch {
		case d.err != nil:
			return
		case kind == 8:
			d.skip(int64(min(d.uint64(), ggufMaxString)))
		default:
			v := d.scalar(kind)
			if n <= ggufKeepArray {
				keep = append(keep, v)
			}
		}
	}
	if keep != nil {
		g.Values[key] = keep
	}
}

func (d *ggufReader) tensor() GGUFTensor {
	t := GGUFTensor{Name: d.string()}
	dims := d.uint32()
	if dims > 4 {
		d.fail("%s has %d dimensions", t.Name, dims)
		return t
	}
	elements := int64(1)
	for range dims {
		n := int64(d.uint64())
		if n <= 0 || n > 1<<40 || elements > (1<<50)/n {
			d.fail("%s is too large", t.Name)
			return t
		}
		elements *= n
		t.Shape = append(t.Shape, n)
	}
	id := d.uint32()
	d.uint64() // offset
	t.Type = ggmlTypeName(id)
	g, ok := ggmlTypes()[t.Type]
	if width := plainWidth(t.Type); width > 0 {
		g, ok = ggmlType{1, width}, true
	}
	if !ok || elements%g.block != 0 {
		d.fail("%s has type %d", t.Name, id)
		return t
	}
	t.Bytes = elements / g.block * g.bytes
	return t
}

// plainWidth is for number types that no mixture uses.
func plainWidth(typ string) int64 {
	switch typ {
	case "I8":
		return 1
	case "I16":
		return 2
	case "I32":
		return 4
	case "I64", "F64":
		return 8
	}
	return 0
}

// layerOf reads the number in "blk.12.attn_q.weight", -1 without one.
func layerOf(name, prefix string) int {
	i := strings.Index(name, prefix)
	if i < 0 {
		return -1
	}
	digits, _, _ := strings.Cut(name[i+len(prefix):], ".")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || n > 1<<16 {
		return -1
	}
	return n
}

// Format is what the file calls itself.
func (g *GGUF) Format() string {
	id, _ := g.Values["general.file_type"].(int64)
	if _, ok := g.Values["general.file_type"]; !ok {
		return ""
	}
	return ggufFileType(id)
}

// Number returns an integer of the architecture, "attention.head_count" for
// llama.attention.head_count; the largest of an array.
func (g *GGUF) Number(key string) int64 {
	arch, _ := g.Values["general.architecture"].(string)
	switch v := g.Values[arch+"."+key].(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	case []any:
		var most int64
		for _, x := range v {
			if n, ok := x.(int64); ok {
				most = max(most, n)
			}
		}
		return most
	}
	return 0
}

func (g *GGUF) array(key string) []any {
	arch, _ := g.Values["general.architecture"].(string)
	v, _ := g.Values[arch+"."+key].([]any)
	return v
}
