package rules

// llamacppEngine is what is peculiar to llama.cpp, koboldcpp, lm-studio.
var llamacppEngine = Engine{Programs: []string{"llama.cpp", "koboldcpp", "lm-studio"}}
