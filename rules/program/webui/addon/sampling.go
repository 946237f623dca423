package addon

import "strings"

// Sampling are words of a step of ComfyUI's samplers: theirs, and the files of
// models that nothing else runs, which are all that a cut traceback has.
var Sampling = append([]string{"common_ksampler", "KSampler", "sample_custom", "comfy/samplers.py", `comfy\samplers.py`, `comfy\\samplers.py`},
	either("ldm/aura/", "ldm/chroma/", "ldm/flux/model", "ldm/flux/layers", "ldm/hidream/", "ldm/hydit/", "ldm/lumina/", "ldm/omnigen/", "ldm/pixart/", "ldm/qwen_image/")...)

// either are paths with both separators.
func either(paths ...string) []string {
	out := make([]string, 0, 2*len(paths))
	for _, p := range paths {
		out = append(out, p, strings.ReplaceAll(p, "/", `\`))
	}
	return out
}
