package parsers

// textgen reads text-generation-webui and ExLlama.
var textgen = Parser{Name: "textgen"}
