package parsers

// vllm reads vLLM.
var vllm = Parser{Name: "vllm"}
