package cli

import (
	"fmt"
	"strings"
)

// meant asks whether the nearest of the known words was meant: " (did you mean
// ...?)", or nothing where none is near.
func meant(word string, known []string) string {
	best, least := "", max(len(word)/3, 1)+1
	for _, k := range known {
		if d := distance(word, k); d < least && d < len(k) {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// distance counts the letters that differ: changed, missing, too many, or two
// changed about.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = min(last[j+1]+1, row[j]+1)
			if a[i] == b[j] {
				row[j+1] = min(row[j+1], last[j])
				continue
			}
			row[j+1] = min(row[j+1], last[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// meantCommand asks whether a file that is not there was meant for a command.
func meantCommand(name string) string {
	return strings.Replace(meant(name, commandNames()), "mean ", "mean the command ", 1)
}
