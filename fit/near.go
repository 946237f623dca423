package fit

import (
	"cmp"
	"slices"
	"strings"
)

// Near returns up to three ids of the catalogue that begin with a name or are
// spelled like it, best first, for "did you mean".
func Near(name string) []string {
	parts := nameParts(name)
	if len(parts) == 0 {
		return nil
	}
	key := strings.Join(telling(tokens(parts[0])), " ")
	type hit struct {
		id       string
		distance int
	}
	best := map[string]int{}
	for k, m := range loadNames().byKey {
		if len(key)-len(k) > max(2, len(key)/3) {
			continue // so many letters more are as many slips
		}
		d := editDistance(key, k)
		switch {
		case len(key) > 2 && strings.HasPrefix(k, key):
			d = 0
		case len(key) > 4 && len(k) > len(key)+1: // a slip in the beginning of a name
			d = min(d, 1+editDistance(key, k[:len(key)+1]))
		}
		if d > max(2, len(key)/3) {
			continue
		}
		if old, ok := best[m.ID]; !ok || d < old {
			best[m.ID] = d
		}
	}
	var hits []hit
	for id, d := range best {
		hits = append(hits, hit{id, d})
	}
	family, _, _ := strings.Cut(key, " ")
	stranger := func(id string) int { // found by another name of it
		if strings.HasPrefix(id, family) {
			return 0
		}
		return 1
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(stranger(a.id), stranger(b.id)), cmp.Compare(age(a.id), age(b.id)), cmp.Compare(a.id, b.id))
	})
	var ids []string
	for _, h := range hits[:min(3, len(hits))] {
		ids = append(ids, h.id)
	}
	return ids
}

// age is the place of a model among the current ones, behind them all for
// others.
func age(id string) int {
	if i := slices.Index(current, id); i >= 0 {
		return i
	}
	return len(current)
}

// editDistance is Levenshtein's, over bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
