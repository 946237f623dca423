package apps

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// lone is a program for one purpose: what it is proved by, what of it takes
// memory, and its own settings, the best first.
type lone struct {
	name, shown, work, language string
	proofs                      []string
	means, not                  string
	sources                     program.Sources
	upstream                    string
	settings                    []cause.Cure
}

// program makes the program, with one card.
func (l lone) program() program.Program {
	fixes, own := []string{}, steps{}
	for _, s := range l.settings {
		fixes = append(fixes, s.Fix)
		if s.Text != "" {
			own[s.Fix] = step.Paste(s.Kind, s.Text)
		}
	}
	order := cause.InOrder(append(fixes, "close_other_apps")...)
	return program.Program{
		Name: l.name, Shown: l.shown, Work: l.work, Edits: "flags", Language: l.language, Proofs: l.proofs, Sources: l.sources, Steps: own,
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: order, cause.OversizedAllocation: order, cause.ModelTooLarge: order, cause.RetainedMemory: order, cause.Unknown: order},
		Cards: cards(cause.Card{
			ID: l.name + "/card", Kinds: onCard, If: func(c *ledger.Case) bool { return c.In(l.name) && !training(c) && !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of graphics memory[[ ({total})]]",
			Means:    l.means + "[[ {mine} of {total} is its own.]]", Not: l.not, Cures: append(l.settings, lookAtCard),
			Sources: []string{l.upstream},
		}),
	}
}

// Programs that people start for one purpose.
var (
	SadTalker = lone{
		name: "sadtalker", shown: "SadTalker", work: "video-generation", language: "python",
		proofs: []string{"SadTalker/", "src/facerender/animate.py", "Face Renderer::"},
		means:  "SadTalker renders faces in small batches, and an enhancer (GFPGAN, Real-ESRGAN for the background) then works on every frame, with its own model beside it.",
		not:    "Shorter audio for the card's sake: frames go through a batch at a time.",
		settings: []cause.Cure{
			cure("lower_batch_size", "Batch 1 at 256 pixels", "config", "--batch_size 1 --size 256", "Slower; a smaller face."),
			cure("use_smaller_model", "Without the enhancers", "text", "Leave `--enhancer` and `--background_enhancer` out (in the page: GFPGAN as Face enhancer off); enhance the finished video separately.", "A softer face."),
			cure("lower_resolution", "A smaller picture", "text", "`--preprocess crop` with a portrait of about 512 pixels; `full` and large pictures are pasted back at full size.", "Only the head moves."),
		},
		sources: program.Sources{"SadTalker/inference.py": "--batch_size --size --enhancer --background_enhancer --preprocess"}, upstream: "https://github.com/OpenTalker/SadTalker/blob/main/inference.py",
	}.program()
	SUPIR = lone{
		name: "supir", shown: "SUPIR", work: "image-generation", language: "python",
		proofs: []string{"SUPIR/gradio_demo.py", "SUPIR/test.py", "options/SUPIR_v0.yaml"},
		means:  "SUPIR runs SDXL plus a control network of its own at 32 bit, and LLaVA (13B) for captions beside it; its VAE works at the size of the result, in one piece unless tiles are on.",
		not:    "Fewer steps: each needs the same.",
		settings: []cause.Cure{
			cure("half_precision", "Half the weights, a tiled VAE, no LLaVA", "config", "--loading_half_params --use_tile_vae --no_llava", "Write the caption yourself."),
			cure("vae_tiling", "Smaller tiles of the VAE", "config", "--use_tile_vae --encoder_tile_size 256 --decoder_tile_size 32", "Slower."),
			cure("lower_resolution", "Enlarge less", "text", "Upscale 1 or 2, so that the longer side of the result stays below 2048.", "A second pass."),
		},
		sources: program.Sources{"SUPIR/gradio_demo.py": "--loading_half_params --use_tile_vae --no_llava --encoder_tile_size --decoder_tile_size"}, upstream: "https://github.com/Fanghua-Yu/SUPIR/blob/master/gradio_demo.py",
	}.program()
	Hunyuan3D = lone{
		name: "hunyuan3d", shown: "Hunyuan3D", work: "image-generation", language: "python",
		proofs: []string{"Hunyuan3D-2/", "Hunyuan3D-2.1/", "-packages/hy3dgen/"},
		means:  "Shape, texture and their models share the card. The shape's volume is read at the octree resolution in each direction (512 has 8 times the points of 256), a number of chunks at once; painting the texture takes most, about 16 GB by default.",
		not:    "Fewer steps: each needs the same.",
		settings: []cause.Cure{
			cure("lowvram_mode", "Its low-memory mode, with the small model", "shell", "python gradio_app.py --model_path tencent/Hunyuan3D-2mini --subfolder hunyuan3d-dit-v2-mini-turbo --low_vram_mode --enable_flashvdm", "Slower; coarser shapes."),
			cure("lower_resolution", "A coarser volume, smaller chunks", "text", "In the page: Octree Resolution 256, Number of Chunks 4000; in code: `octree_resolution=256, num_chunks=4000`.", "Less detail."),
			cure("use_smaller_model", "The shape alone", "text", "Start with `--disable_tex`; paint the texture in a run of its own.", "One step more."),
		},
		sources: program.Sources{"Hunyuan3D-2/gradio_app.py": "--model_path --subfolder --low_vram_mode --enable_flashvdm --disable_tex"}, upstream: "https://github.com/Tencent-Hunyuan/Hunyuan3D-2/blob/main/gradio_app.py",
	}.program()
	ChaiNNer = lone{
		name: "chainner", shown: "chaiNNer", work: "vision", language: "python",
		proofs: []string{"An error occurred in a PyTorch ", "An error occurred in a NCNN ", "chaiNNer", "nodes/impl/pytorch/auto_split.py"},
		means:  "An upscale node works in tiles, whose size it estimates from what is free on the card unless one is chosen; with No Tiling the picture goes through in one piece.",
		not:    "Another model of the same kind: the picture, or its tile, fills the card.",
		settings: []cause.Cure{
			cure("vae_tiling", "A fixed, smaller tile", "ui", "Upscale Image node: Tile Size 256, then 128, in place of Auto or No Tiling", "Slower."),
			cure("half_precision", "16 bit", "ui", "Settings, PyTorch: Use FP16 Mode on; Memory Budget Limit below what is free", "None that can be seen."),
			cure("lower_resolution", "A smaller picture into it", "text", "A Resize node before the upscaler, or a 2x model.", "Detail."),
		},
		upstream: "https://github.com/chaiNNer-org/chaiNNer/blob/main/backend/src/packages/chaiNNer_pytorch/pytorch/processing/upscale_image.py",
	}.program()
)
