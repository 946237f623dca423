package rules

// vllmEngine is what is peculiar to vllm.
var vllmEngine = Engine{Programs: []string{"vllm"}}
