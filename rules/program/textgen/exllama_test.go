package textgen

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

func TestLessOnFirst(t *testing.T) {
	for value, want := range map[string]string{"24,24": "18,22", "10,10,10": "5,8,8", "17.5,24": "11.5,22", "": "16,22", "24": "16,22", "x,y": "16,22"} {
		c := &ledger.Case{Facts: &fact.Facts{Settings: []fact.Setting{{Name: "gpu_split", Value: value}}}}
		assert.Equal(t, want, lessOnFirst(c), value)
	}
}
