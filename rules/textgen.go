package rules

// textgenEngine is what is peculiar to text-generation-webui, exllama.
var textgenEngine = Engine{Programs: []string{"text-generation-webui", "exllama"}}
