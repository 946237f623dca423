package parsers

// ollama reads Ollama.
var ollama = Parser{Name: "ollama"}
