package calls

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// typeSizes are bytes of one element, by how NumPy's types are written in code.
var typeSizes = map[string]int64{"": 8, "float": 8, "float64": 8, "double": 8, "int": 8, "int64": 8, "float32": 4, "int32": 4, "uint32": 4, "single": 4, "float16": 2, "half": 2, "int16": 2, "uint16": 2, "uint8": 1, "int8": 1, "bool": 1, "complex64": 8, "complex128": 16}

var writtenType = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bd?type\s*[=:]\s*['"]?(?:np\.|numpy\.)?(\w+)`) })

// SizeOfPrinted is what an array of a shape that a script printed takes, by the
// last shape in its line ("x_test shape = (461851, 5, 5, 244), type = float64"),
// with numbers of 8 bytes where the line names no type; 0 for another line.
func SizeOfPrinted(line string) (shape string, bytes int64, typed bool) {
	_, rest, found := strings.Cut(line, "shape")
	at := strings.IndexByte(rest, '(')
	if !found || at < 0 {
		return "", 0, false
	}
	dtype := ""
	if m := writtenType().FindStringSubmatch(rest); m != nil {
		dtype = m[1]
	}
	sides := sidesOf(rest[at:])
	bytes = typeSizes[dtype]
	for _, side := range sides {
		n, err := strconv.ParseInt(side, 10, 64)
		if err != nil || n <= 0 || bytes > math.MaxInt64/n {
			return "", 0, false
		}
		bytes *= n
	}
	return strings.Join(sides, " x "), bytes, dtype != "" && bytes > 0
}

// plainName is an expression that can stand in a sentence.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w.()]{1,40}$`) })

// sizeOfShape says what the shape that a call is given comes to, from what stands
// behind its bracket: "(n, 196, 512), dtype=np.float32)". A side that is a name
// counts as one; with several of them nothing is said.
func sizeOfShape(arguments string) string {
	dtype := ""
	if m := writtenType().FindStringSubmatch(arguments); m != nil {
		dtype = m[1]
	}
	product, known := typeSizes[dtype]
	sides := sidesOf(arguments)
	if !known || len(sides) < 2 {
		return ""
	}
	factors, names := []string{}, []string{}
	for _, side := range sides {
		n, err := strconv.ParseInt(side, 10, 64)
		switch {
		case err != nil:
			names = append(names, side)
		case n <= 0 || product > math.MaxInt64/100_000/n:
			return ""
		default:
			product *= n
			factors = append(factors, side)
		}
	}
	factors = append(factors, strconv.FormatInt(typeSizes[dtype], 10)+" bytes")
	switch {
	case len(names) == 0:
		return fmt.Sprintf("Here that is %s: %s.", strings.Join(factors, " x "), units.Amount(product))
	case len(names) == 1 && len(factors) > 1 && plainName().MatchString(names[0]):
		return fmt.Sprintf("Each of `%s` takes %s here (%s), 100,000 of them %s.", names[0], units.Amount(product), strings.Join(factors, " x "), units.Amount(100_000*product))
	}
	return ""
}

// sidesOf are the items of the tuple or list that comes first.
func sidesOf(arguments string) []string {
	if arguments = strings.TrimSpace(arguments); arguments == "" || arguments[0] != '(' && arguments[0] != '[' {
		return nil
	}
	var out []string
	depth, from := 0, 1
	for i, r := range arguments {
		switch r {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		}
		if depth == 0 || depth == 1 && r == ',' {
			if side := strings.TrimSpace(arguments[from:i]); side != "" {
				out = append(out, side)
			}
			from = i + 1
		}
		if depth == 0 {
			return out
		}
	}
	return nil // cut off
}

// PictureOf says that the array which NumPy was refused is a picture, or several,
// where the card that speaks is not NumPy's own, which says so itself.
func PictureOf(c *ledger.Case, card string) []string {
	s := Sides(c)
	if n := len(s); !c.Root(fact.NumpyAlloc) || n < 3 || n > 4 || s[n-1] != 3 && s[n-1] != 4 || min(s[n-2], s[n-3]) < 64 || max(s[n-2], s[n-3]) > 1<<15 || strings.HasPrefix(card, "numpy/") {
		return nil
	}
	if len(s) == 3 {
		return []string{fmt.Sprintf("That is one picture of %d x %d pixels.", s[1], s[0])}
	}
	return []string{fmt.Sprintf("That is %s pictures of %d x %d pixels.", ledger.Thousands(s[0]), s[2], s[1])}
}

// LargePicture: one side of it has more pixels than a screen.
func LargePicture(c *ledger.Case) bool {
	s := Sides(c)
	return len(s) >= 3 && PictureOf(c, "") != nil && max(s[len(s)-2], s[len(s)-3]) > 2160
}
