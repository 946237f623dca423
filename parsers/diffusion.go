package parsers

// diffusion reads ComfyUI, AUTOMATIC1111, Forge, diffusers, InvokeAI and kohya.
var diffusion = Parser{Name: "diffusion"}
