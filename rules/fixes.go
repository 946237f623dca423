package rules

import (
	"slices"
	"sync"
)

// Fixes returns every fix by its ID.
func Fixes() map[string]Fix { return fixesByID() }

var fixesByID = sync.OnceValue(func() map[string]Fix {
	byID := map[string]Fix{}
	for _, fix := range slices.Concat(fixesModel, fixesWork, fixesTraining, fixesMemory, fixesBudget, fixesHost) {
		byID[fix.ID] = fix
	}
	return byID
})

// paste makes the steps of a fix that is the same for everybody.
func paste(kind, text string) func(*Case) []Step {
	return func(*Case) []Step { return []Step{{Kind: kind, Text: text}} }
}
