package parsers

// llamacpp reads llama.cpp, ggml and the programs built on it (koboldcpp, LM Studio, whisper.cpp, stable-diffusion.cpp).
var llamacpp = Parser{Name: "llamacpp"}
