package review

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// toldValue is an option or a key with a whole number, as advice tells it in code:
// `--batch_size 8`, `batch_size=8`, `batch_size: 8`.
var toldValue = regexp.MustCompile(`(?:^|[ (])(-{0,2}([A-Za-z][\w-]*))(=|: | )(\d+)\b`)

// sizes are parts of the names of settings that need less memory when they are
// lower, and others of those that need more.
var (
	sizes    = []string{"batch", "bs", "len", "length", "size", "width", "height", "res", "resolution", "seqs", "tokens", "ctx", "context", "workers", "frames", "points", "rays", "chunk", "samples", "crop", "parallel", "layers"}
	opposite = []string{"accum", "accumulation", "downsample", "stride", "voxel", "grid", "steps", "reduction", "min"}
)

// lowered puts half of the reader's own value where a fix that lowers a setting
// tells one that is no lower.
func (l *looking) lowered(fix, text string) string {
	if !strings.HasPrefix(fix, "lower_") && !strings.HasPrefix(fix, "fewer_") {
		return text
	}
	parts := strings.Split(text, "`")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = l.below(parts[i])
	}
	return strings.Join(parts, "`")
}

// below is code in which no size is told that the reader's own is not above.
func (l *looking) below(code string) string {
	var out strings.Builder
	last := 0
	for _, at := range toldValue.FindAllStringSubmatchIndex(code, -1) {
		name, value := code[at[4]:at[5]], code[at[8]:at[9]]
		half := l.half(name, value)
		if half == "" {
			continue
		}
		l.drop(OwnValue, code)
		out.WriteString(code[last:at[8]] + half)
		last = at[9]
	}
	return out.String() + code[last:]
}

// half is half of the reader's own value of a setting, at least 1, where a told
// one is not below it; else "".
func (l *looking) half(name, told string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	words := strings.Split(name, "_")
	has := func(of []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(of, w) })
	}
	if !has(sizes) || has(opposite) {
		return ""
	}
	was, err := strconv.Atoi(l.own(name))
	is, err2 := strconv.Atoi(told)
	if err != nil || err2 != nil || was < 2 || is < was {
		return ""
	}
	return strconv.Itoa(was / 2)
}

// own is the reader's own value of a setting that a program has a name for, or of
// an option that they typed; "" where the log shows none. A word of code of that
// name may be another function's.
func (l *looking) own(name string) string {
	if set, ok := l.Setting(name); ok && !set.Default {
		return set.Value
	}
	for _, s := range slices.Backward(l.Facts.Settings) {
		if strings.HasPrefix(s.Name, fact.Option) && strings.HasPrefix(s.Flag, "--") && strings.ReplaceAll(strings.ToLower(strings.TrimLeft(s.Flag, "-")), "-", "_") == name {
			return s.Value
		}
	}
	return ""
}
