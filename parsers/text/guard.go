package text

import "slices"

// A Guard tells a message from others that have its words.
type Guard func(Message) bool

// Behind holds where a squeezed text follows: see [Message.Follows].
func Behind(text string, within int) Guard {
	return func(m Message) bool { return m.Follows(text, within) }
}

// Before holds where one stands before: see [Message.Precedes].
func Before(text string, within int) Guard {
	return func(m Message) bool { return m.Precedes(text, within) }
}

// Beside holds where one of some stands anywhere: see [Message.Mentions].
func Beside(texts ...string) Guard { return func(m Message) bool { return m.Mentions(texts...) } }

// When reads where one of the guards holds.
func When(read func(Message) int, guards ...Guard) func(Message) int {
	return guarded(read, true, guards)
}

// Unless reads where none does.
func Unless(read func(Message) int, guards ...Guard) func(Message) int {
	return guarded(read, false, guards)
}

func guarded(read func(Message) int, wanted bool, guards []Guard) func(Message) int {
	return func(m Message) int {
		if slices.ContainsFunc(guards, func(holds Guard) bool { return holds(m) }) != wanted {
			return m.End
		}
		return read(m)
	}
}
