package array

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// NumPy reads NumPy and Python's MemoryError.
var NumPy = parser("numpy", map[fact.Kind]int{fact.PythonMemory: 1, fact.BadAlloc: 1},
	text.On("Unable to allocate", readNumpy), text.On("std::bad_alloc", readBadAlloc), text.On("memory allocation of", text.FailsIf(fact.Failure{Kind: fact.RustAlloc, Framework: "other", Backend: "cpu"}, 0, 70, text.NewPattern(`^memoryallocationof(?:(?<requested_bytes>\d{1,20})bytesfailed|(?:memoryallocationof){1,15}(?:(?<requested_bytes>\d{2,12}?)\k<requested_bytes>{1,15}bytesfailed|\d{2,40}bytesfailed))`))), text.On("MemoryError", readMemoryError),
	text.On("[Errno 12] Cannot allocate memory", text.Fails(pythonMemory)), text.On("fork: Cannot allocate memory", text.Fails(pythonMemory)),
)

var pythonMemory = fact.Failure{Kind: fact.PythonMemory, Framework: "other", Backend: "cpu"}

// numpy 1.16 and 1.17 print no size; a browser's translation changes little words.
var numpyArrayPattern = text.NewPattern(`unabletoallocate(?:(?<size>SIZE)for(?:an?|the)?)?array(?:with|of)(?:the|a)?(?:shape|form)(?<shape>\([\d,]{1,120}\))(?:anddatatype(?:(?<dtype>[<>|]?[a-z]{1,10}\d{0,3})|(?<record>\[\('[^\[\]]{3,400}\])))?`)
var cutPattern = text.NewPattern(`unabletoallocate(?<requested>SIZE)`)

// readNumpy reads "Unable to allocate 94.9 MiB for an array with shape (2160, 3840, 3) and data type float32".
func readNumpy(m text.Message) int {
	k := m.Find(numpyArrayPattern, 260)
	x := fact.Failure{Kind: fact.NumpyAlloc, Framework: "numpy", Backend: "cpu"}
	switch {
	case !k.Ok() && m.Precedes("arraymemoryerror:", 17): // what follows the size was cut off
		return m.FailWith(x, m.Find(cutPattern, 60))
	case !k.Ok():
		return m.End
	}
	x.Figures.Requested = k.Size("size")
	if bytes, ok := arrayBytes(k); ok {
		size := fact.Size{Bytes: bytes, Text: k.Text("shape"), Line: k.Line()}
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "array_shape", Text: size.Text, Size: &size, Line: size.Line})
		if x.Figures.Requested == nil {
			x.Figures.Requested = &fact.Size{Bytes: bytes, Text: k.Through("shape", "dtype"), Line: size.Line}
		}
	}
	if pictures(k.Lower("shape")) {
		signal(m, "inferring", k.Line(), k.Text("shape"))
		signal(m, "pictures", k.Line(), k.Text("shape"))
	}
	return m.Fail(x, m.Took(k))
}

// widestPicture is the longest side that an array of pixels has.
const widestPicture = 1 << 15

// pictures: height x width x 3 or 4 colour channels, one or several of them.
func pictures(shape string) bool {
	dims := strings.Split(strings.Trim(shape, "()"), ",")
	if len(dims) < 3 || dims[len(dims)-1] != "3" && dims[len(dims)-1] != "4" {
		return false
	}
	return !slices.ContainsFunc(dims[len(dims)-3:len(dims)-1], func(side string) bool {
		n, ok := text.WholeNumber(side)
		return !ok || n < 16 || n > widestPicture
	})
}

// itemSizes are bytes of one element, by how numpy and TensorFlow call them.
var itemSizes = map[string]int64{
	"float": 4, "double": 8, "half": 2, "bfloat16": 2, "float16": 2, "float32": 4, "float64": 8, "longdouble": 16, "float128": 16,
	"int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "int": 4, "qint8": 1, "quint8": 1,
	"complex64": 8, "complex128": 16, "object": 8, "resource": 8, "f4": 4, "f8": 8, "f2": 2, "i8": 8, "i4": 4, "u1": 1,
}

// tensorBytes multiplies a shape such as "(400000,768)" or "[64,2016,9,9]".
func tensorBytes(shape, dtype string) (int64, bool) {
	dtype = strings.TrimLeft(dtype, "<>|=")
	product := itemSizes[dtype]
	if n, err := strconv.ParseInt(strings.TrimPrefix(dtype, "u"), 10, 32); err == nil {
		product = 4 * n // a string of n characters
	}
	if product == 0 {
		return 0, false
	}
	for _, dim := range strings.Split(strings.Trim(shape, "()[],"), ",") {
		n, ok := text.WholeNumber(dim)
		if !ok || n > 0 && product > math.MaxInt64/4/n {
			return 0, false
		}
		product *= n
	}
	return product, product > 0
}

// arrayBytes is for elements that may be a record, "[('ptr', '<u8'), ('name', 'S16')]".
func arrayBytes(k text.Match) (int64, bool) {
	record := k.Text("record")
	if record == "" {
		return tensorBytes(k.Lower("shape"), k.Lower("dtype"))
	}
	width := int64(0)
	for _, field := range strings.Split(record, "(")[1:] {
		_, code, _ := strings.Cut(field, ",")
		code = strings.Trim(code, " ,()[]<>|=\"'\u2018\u2019")
		if len(code) < 2 || !strings.Contains("iufcbVSU", code[:1]) {
			return 0, false
		}
		n, ok := text.WholeNumber(code[1:])
		if !ok {
			return 0, false
		}
		if code[0] == 'U' {
			n *= 4
		}
		width += n
	}
	rows, ok := tensorBytes(k.Lower("shape"), "int8")
	if !ok || width == 0 || rows > math.MaxInt64/4/width {
		return 0, false
	}
	return rows * width, true
}

// readBadAlloc tells C++ on the host from libraries that throw it for GPU
// memory: there "rmm", "device" or "cuda" follow.
func readBadAlloc(m text.Message) int {
	if m.Follows("cudaerror", 260) || m.Follows("rmm", 260) || m.Follows("memory_resource", 260) || m.Precedes("thrust::system::detail::bad_alloc", 50) {
		return readDeviceBadAlloc(m)
	}
	if m.Precedes("throw", 12) && !m.Precedes("thrown:", 7) || m.Precedes("catch(", 12) || m.Precedes("const", 8) {
		return m.End // source code
	}
	return text.Fails(fact.Failure{Kind: fact.BadAlloc, Framework: map[bool]string{true: "onnxruntime", false: "other"}[m.Precedes("[onnxruntimeerror]", 120)], Backend: "cpu"})(m)
}

// readMemoryError reads Python's exception where nothing follows it: with a
// text it belongs to the program that raised it.
func readMemoryError(m text.Message) int {
	line := strings.Trim(m.Log.LineText(m.At), ": │|*`")
	// The last word of a traceback that lost its line ends, or IPython's head of a
	// trace whose end was not pasted.
	if m.End == len(m.Log.Squeezed()) && !strings.Contains(line, "OutOfMemoryError") && m.Log.MentionsBefore("traceback(mostrecentcalllast)", m.At) ||
		strings.HasPrefix(line, "MemoryError ") && strings.HasSuffix(line, "Traceback (most recent call last)") && !m.Log.MentionsFrom("memoryerror", m.End) {
		line = "MemoryError"
	}
	switch line {
	case "MemoryError", "Exception: MemoryError", "E MemoryError", "builtins.MemoryError", "com.chaquo.python.PyException: MemoryError": // the last: Python in an Android app
		return text.Fails(pythonMemory)(m)
	}
	return m.End
}
