package cli

// endOfInput are the keys that end what is typed into a terminal.
const endOfInput = "Ctrl-Z and Enter"
