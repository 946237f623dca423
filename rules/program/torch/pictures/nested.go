package pictures

// Nested are projects whose code runs inside the pages for pictures, as node
// packs, extensions and helpers, without their own scripts and options.
var Nested = []string{
	"grounding-dino", "depth-anything", "birefnet", "rembg", "marigold", "dinov2", "blip",
	"rife", "codeformer", "gfpgan", "supir", "diffbir", "stablesr", "swinir", "restormer", "iopaint", "deoldify",
	"animatediff", "open-sora", "mochi", "ltx-video", "skyreels", "dynamicrafter", "hunyuandit", "pixart", "generative-models", "deepfloyd-if", "flux",
	"liveportrait", "sadtalker", "wav2lip", "musetalk", "latentsync", "idm-vton", "ootdiffusion", "instantid",
	"trellis", "hunyuan3d", "instantmesh", "triposr", "vggt", "dust3r", "mast3r", "mmpose", "segmentation-models",
}
