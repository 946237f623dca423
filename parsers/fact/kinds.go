package fact

const (
	// PlainDevice is a program without a parser of its own that says in its own
	// words, or in those of its driver, that memory of the card was refused.
	PlainDevice Kind = "plain_device"
	// PlainHost is the same for the computer's own memory.
	PlainHost Kind = "plain_host"
	// PlainMemory is the same where the words do not say which memory.
	PlainMemory Kind = "plain_memory"
)

// Wrapped is a statement that only reports that something failed elsewhere.
const Wrapped Kind = "wrapped"
