package subject

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// rays: points on the rays of a picture go through a network.
var rays = says("rays_o", "rays_d", "ray_o,", "batchify_rays", "render_rays", "raw2outputs", "ray_batch", "rays_chunk", "n_rays", "ray_bundle", "render_chunk", "sigmas, rgbs", " rays,", "(rays,")

// marched: only points in parts of the scene that count as full are computed.
var marched = says("xyzs", "march_rays", "run_cuda(", "cuda_ray")

// whole: a picture is rendered, not a batch of random rays.
var whole = when.Any(used, says("render_path", "render_image", "\nrender.py"))

// rayCards are about fields that are rendered along rays.
var rayCards = []cause.Card{{
	ID: "pytorch/rays-rendered", Kinds: cures.Refused, If: of(rays, whole), Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory while rendering an image[[: {asked} at once]]",
	Means:    "An image has one ray per pixel, and each ray has often a hundred points or more. Such programs therefore render in chunks of rays. The chunk size decides how much memory it takes, more than the image size.",
	Not:      "[[{settings}.]]",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Render in smaller chunks", Cost: "slower; the same picture", Told: "nerf-pytorch and its forks: `--chunk 8192 --netchunk 16384` (defaults 32768 and 65536). nerf_pl: `--chunk 8192`. torch-ngp without `--cuda_ray`: `--max_ray_batch 1024` (default 4096). Elsewhere look for `chunk` or `ray_batch` in the config."},
		look, gradientsOpen,
		{Fix: "cpu_offload", Title: "Move each chunk's result to RAM", Cost: "none", Told: "Call `.cpu()` on each chunk before they are joined, and drop maps that you do not save (weights, points)."},
		{Fix: "lower_resolution", Title: "Or a smaller image, fewer points per ray", Cost: "detail", Told: "nerf-pytorch: `--render_factor 2` for previews, `--N_samples 32 --N_importance 64`. Others have `--downscale` or similar."},
	},
	Figures: cures.Scene, Sources: []string{"nerf-pytorch/run_nerf.py", "nerf_pl/opt.py", "torch-ngp/main_nerf.py", "torch-ngp/nerf/renderer.py", "https://github.com/PJLab-ADG/neuralsim/issues/15"}, Solved: 1,
}, {
	ID: "pytorch/rays-trained", Kinds: cures.Refused, If: of(rays, when.Not(whole)), Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory on the rays of one training step[[: {asked} at once]]",
	Means:    "A step sends rays x points per ray through the network, and keeps every layer's output for the backward pass.[[ {grid}]]",
	Not:      "A smaller chunk size: training keeps the activations of all chunks.[[ {settings}.]]",
	Later:    cures.Kept,
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use fewer rays per step", Cost: "noisier steps, so more of them", Told: "{rays}"},
		{Fix: "lower_max_batched_tokens", Title: "Or fewer points per ray", Cost: "detail", Told: "{points}"},
		look, sixteen,
		{Fix: "cpu_offload", Title: "Keep the images and rays of the data set in RAM", Cost: "slightly slower", Told: "torch-ngp: drop `--preload` (`-O` turns it on too). Elsewhere remove the data set's `.cuda()`. Only the rays of one step need to be on the GPU."},
		{Fix: "use_smaller_model", Title: "Or a narrower network", Cost: "detail", Told: "Half the layer width (nerf-pytorch: `--netwidth 128`, default 256) halves each output."},
	},
	Figures: func(c *ledger.Case) map[string]string {
		out := cures.Scene(c)
		out["grid"] = ""
		out["rays"] = "nerf-pytorch and its forks: `--N_rand 1024` (default 4096). nerf_pl: `--batch_size 512` (default 1024). torch-ngp and its forks: `--num_rays 2048` (default 4096)."
		out["points"] = "nerf-pytorch: `--N_samples 32 --N_importance 64` (usually 64 and 128). torch-ngp without `--cuda_ray`: `--num_steps 256` (default 512)."
		if marched(c) {
			out["grid"] = "With an occupancy grid, the number of points depends on how much of the scene counts as full: most of it at the start, and again if the densities diverge. So a step may suddenly take several times the memory."
			out["rays"] = "`--num_rays 2048` or 1024 (default 4096 in torch-ngp and its forks)."
			out["points"] = "`--max_steps 512` (default 1024), or a smaller `--bound`."
		}
		return out
	},
	Sources: []string{"nerf-pytorch/run_nerf.py", "nerf_pl/opt.py", "torch-ngp/main_nerf.py", "torch-ngp/nerf/renderer.py"},
}}
