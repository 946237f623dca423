package fact

// Proof is text that only one program prints, or a path that only its files
// have. Those of all programs are handed to the parsers.
type Proof struct {
	Word    string
	Program string
	// Hint marks a word that other programs may have too.
	Hint bool
	// Beside lists what must follow closely for the word to count; nil: nothing.
	Beside []string
}
