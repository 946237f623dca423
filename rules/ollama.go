package rules

// ollamaEngine is what is peculiar to ollama.
var ollamaEngine = Engine{Programs: []string{"ollama"}}
