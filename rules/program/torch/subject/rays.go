package subject

import (
	"strings"

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
func whole(c *ledger.Case) bool {
	return used(c) || strings.Contains(names(c), "render_path") || strings.Contains(names(c), "render_image") || strings.Contains(names(c), "\nrender.py")
}

// rayCards are about fields that are rendered along rays.
var rayCards = []cause.Card{{
	ID: "pytorch/rays-rendered", Kinds: cures.Refused, If: of(rays, whole), Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory while rendering a picture[[: {asked} in one piece]]",
	Means:    "A picture has a ray for each pixel, and each ray some hundred points; each layer's output is points x width. Such programs therefore render in chunks of rays, and the chunk decides, not the picture.",
	Not:      "[[{settings}.]]",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Render in smaller chunks", Cost: "slower; the same picture", Told: "A quarter of what it is now. nerf-pytorch and what is made of it: `--chunk 8192 --netchunk 16384` (32768 and 65536); nerf_pl: `--chunk 8192`; torch-ngp's kin, without `--cuda_ray`: `--max_ray_batch 1024` (4096). Elsewhere look for `chunk` or `ray_batch` in the config."},
		look, gradientsOpen,
		{Fix: "cpu_offload", Title: "Move each chunk's result to RAM", Cost: "none", Told: "Where chunks are collected, `.cpu()` before they are joined; leave out maps that you do not save (weights, points)."},
		{Fix: "lower_resolution", Title: "Or a smaller picture, fewer points on each ray", Cost: "detail", Told: "nerf-pytorch: `--render_factor 2` for previews, `--N_samples 32 --N_importance 64`; most have `--downscale` or a number of samples."},
	},
	Figures: cures.Scene, Sources: []string{"nerf-pytorch/run_nerf.py", "nerf_pl/opt.py", "torch-ngp/main_nerf.py", "torch-ngp/nerf/renderer.py", "https://github.com/PJLab-ADG/neuralsim/issues/15"}, Solved: 1,
}, {
	ID: "pytorch/rays-trained", Kinds: cures.Refused, If: of(rays, when.Not(whole)), Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory on the rays of a step[[: {asked} in one piece]]",
	Means:    "A step sends rays x points of each ray through the network and keeps every layer of all of them until the backward pass.[[ {grid}]]",
	Not:      "A smaller chunk in training: the graph of all chunks stays.[[ {settings}.]]",
	Later:    cures.Kept,
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use fewer rays in a step", Cost: "noisier steps, so more of them", Told: "{rays}"},
		{Fix: "lower_max_batched_tokens", Title: "Or fewer points on each ray", Cost: "detail", Told: "{points}"},
		look, sixteen,
		{Fix: "cpu_offload", Title: "Keep the pictures and rays of the data set in RAM", Cost: "slightly slower", Told: "Without `--preload` (torch-ngp; `-O` turns it on), or the data set's `.cuda()`: only the rays of a step need to be on the card."},
		{Fix: "use_smaller_model", Title: "Or a narrower network", Cost: "detail", Told: "Half the width of the layers (nerf-pytorch `--netwidth 128`, now 256) halves each output."},
	},
	Figures: func(c *ledger.Case) map[string]string {
		out := cures.Scene(c)
		out["grid"] = ""
		out["rays"] = "Half of what it is: nerf-pytorch and its kin `--N_rand 1024` (4096), nerf_pl `--batch_size 512` (1024), torch-ngp and its kin `--num_rays 2048` (4096). Twice the steps then see as many rays."
		out["points"] = "nerf-pytorch `--N_samples 32 --N_importance 64` (64 and 128 as a rule); without an occupancy grid torch-ngp's `--num_steps 256` (512)."
		if marched(c) {
			out["grid"] = "With an occupancy grid the number of points follows from how much of the scene counts as full: most of it at the start, and again if the densities run away, so a step may suddenly take several times as much."
			out["rays"] = "`--num_rays 2048` or 1024 (4096 in torch-ngp and what is made of it)."
			out["points"] = "`--max_steps 512` (1024), a smaller `--bound`; or start without the term that was added last (depth, normals), if it fails only with that."
		}
		return out
	},
	Sources: []string{"nerf-pytorch/run_nerf.py", "nerf_pl/opt.py", "torch-ngp/main_nerf.py", "torch-ngp/nerf/renderer.py"},
}}
