package parsers

// serving reads SGLang, TGI, TensorRT-LLM, Triton, LMDeploy, MLC and Ray.
var serving = Parser{Name: "serving"}
