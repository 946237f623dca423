package local

import (
	"regexp"

	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Unsized: the message has a number of bytes below zero, or above what 63 bits hold.
func Unsized(c *ledger.Case) bool { return unsizedWords.MatchString(c.Failure.Message) }

var unsizedWords = regexp.MustCompile(`(?i)alloc.{0,40}?(?:[ (]-[1-9]\d{5,}|\b(?:1[0-8]|9[2-9])\d{17,18}) bytes`)
