package clean

import (
	"strconv"
	"strings"
	"time"
)

// How far from a line a date counts for it: servers stamp most of their lines,
// tracebacks of them none.
const datedWithin = 40

// dateReach is how far into a line its stamp begins, behind a host or a unit.
const dateReach = 72

// DateOf is the day on which a line was written, 20240725 for 25 July 2024, as
// its stamp says; 0 where it has none with a year. It covers ISO stamps of
// loggers ("2024-07-25 ", "[2024-07-25 ", "time=2024-07-25T", "[GIN] 2024/07/25")
// and the seconds of llama.cpp's server of 2024 ("timestamp":1711936612).
func DateOf(line string) int {
	head := line[:min(len(line), dateReach)]
	for i := strings.Index(head, "20"); i >= 0 && i+10 <= len(head); {
		if isDate(head[i:]) && (i == 0 || !within(head[i-1])) {
			return day(head[i : i+10])
		}
		next := strings.Index(head[i+1:], "20")
		if next < 0 {
			break
		}
		i += 1 + next
	}
	if i := strings.Index(line, "timestamp"); i >= 0 {
		return seconds(strings.TrimLeft(line[i+len("timestamp"):], `":=`))
	}
	return 0
}

// within reports a byte that cannot stand before a stamp.
func within(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' && b != 't' || b == '-' || b == '/' || b == '.' || b == '_'
}

// day is "2024-07-25" as a number, 0 for what is no day of these programs.
func day(s string) int {
	n, _ := strconv.Atoi(s[:4] + s[5:7] + s[8:10])
	if n < 20150101 || n > 20991231 || n/100%100 > 12 || n/100%100 == 0 || n%100 > 31 || n%100 == 0 {
		return 0
	}
	return n
}

// seconds is the day of seconds since 1970.
func seconds(s string) int {
	if len(s) < 10 || !digits(s[:10]) || len(s) > 10 && s[10] >= '0' && s[10] <= '9' {
		return 0
	}
	n, _ := strconv.ParseInt(s[:10], 10, 64)
	return day(time.Unix(n, 0).UTC().Format("2006-01-02"))
}

// DateNear is the day of a line, or of the nearest one that has a date, the
// earlier of two.
func DateNear(lines []Line, at int) int {
	for off := range datedWithin {
		for _, i := range [...]int{at - off, at + off} {
			if i >= 0 && i < len(lines) && lines[i].Date != 0 {
				return lines[i].Date
			}
		}
	}
	return 0
}
