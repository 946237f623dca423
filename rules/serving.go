package rules

// servingEngine is what is peculiar to sglang, tgi, tensorrt-llm, triton-server, ray.
var servingEngine = Engine{Programs: []string{"sglang", "tgi", "tensorrt-llm", "triton-server", "ray"}}
