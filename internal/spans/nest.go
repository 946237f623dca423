package spans

import "strings"

// nest are the brackets that are open at an offset.
type nest struct {
	at    int
	opens []int
	// block is where the lines begin that belong to the one that starts at line.
	line, block int
}

// around returns the innermost bracket that is open at an offset; -1 if none is.
// It reads on from where it was asked last.
func (f *finder) around(at int) int {
	start := f.blockStart(at)
	if f.nest.at < start || f.nest.at > at {
		f.nest.at, f.nest.opens = start, nil
	}
	n := &f.nest
	for n.at < at {
		switch f.s[n.at] {
		case '(', '[', '{':
			n.opens = append(n.opens, n.at)
		case ')', ']', '}':
			if len(n.opens) > 0 {
				n.opens = n.opens[:len(n.opens)-1]
			}
		case '"', '\'', '\\', '&':
			m, ok := f.markAt(n.at)
			if !ok || !opens(f.s, n.at) {
				break
			}
			if end := f.closing(m, n.at+len(m.text), at); end >= 0 {
				n.at = f.behind(m, end)
				continue
			}
			// It ends behind the offset: what is asked for is a key in quotes, or
			// it stands in this string, and its own brackets count.
		}
		n.at++
	}
	if len(n.opens) == 0 {
		return -1
	}
	return n.opens[len(n.opens)-1]
}

// blockStart is where the lines begin that belong to the one at an offset: JSON
// is also printed over many, indented.
func (f *finder) blockStart(at int) int {
	start, _ := f.line(at)
	if n := &f.nest; start == 0 || n.line != start {
		n.line, n.block = start, start
		for range maxLines {
			if n.block == 0 || start-n.block > maxReach/4 || n.block <= n.at || strings.IndexByte(" \t{}[]\"'", f.s[n.block]) < 0 {
				break
			}
			n.block = strings.LastIndexByte(f.s[max(0, n.block-1-maxReach/4):n.block-1], '\n') + 1 + max(0, n.block-1-maxReach/4)
		}
	}
	return max(f.nest.block, at-maxReach/4)
}
