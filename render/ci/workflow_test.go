package ci

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestEscapes: as GitHub's runner undoes it.
func TestEscapes(t *testing.T) {
	assert.Equal(t, "50%25 a: b, c%0D%0A::error::x", data("50% a: b, c\r\n::error::x"))
	assert.Equal(t, "50%25 a%3A b%2C c%0D%0A%3A%3Aerror", property("50% a: b, c\r\n::error"))
}
