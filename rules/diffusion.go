package rules

// diffusionEngine is what is peculiar to comfyui, a1111, diffusers.
var diffusionEngine = Engine{Programs: []string{"comfyui", "a1111", "diffusers"}}
