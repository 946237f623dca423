package scripts

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/webui"
)

// TiledDiffusion is an extension of AUTOMATIC1111's web UI and its forks. It counts
// memory after an image in a line of its own, which shows the web UI where nothing
// else does.
var TiledDiffusion = program.Program{
	Name: "tiled-diffusion", Shown: "The web UI", Work: "image-generation", Edits: "flags", Language: "python",
	Proofs: []string{"[Mem] rss:"}, Beside: map[string][]string{"[Mem] rss:": {"vms:"}},
	Sources: program.Sources{"stable-diffusion-webui/modules/cmd_args.py": "--medvram --lowvram"},
	Cards: webui.OfCard([]cause.Card{{
		ID: "tiled-diffusion/counted", Kinds: webui.OnCard, If: func(c *ledger.Case) bool {
			return !c.In("a1111", "forge", "sdnext", "comfyui") && ledger.OnCard(c) && !ledger.Roomy(c) && !ledger.Crowded(c)
		},
		Headline: "ran out of graphics memory[[ ({total})]]",
		Means:    "The line `[Mem] rss` is printed by an extension (Tiled Diffusion and others) of AUTOMATIC1111, Forge or SD.Next, so this is such a web UI.[[ {mine} of {total} is its own.]] If the same image worked before, memory was kept by the images since; if it never did, it is too large for this card.",
		Not:      "Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "If it worked before: restart the web UI", Told: "Close its window and start it again: what earlier images and models left is free then. SD.Next: leave its garbage collection on.", Cost: "Free."},
			{Fix: "lower_resolution", Title: "Make a smaller image, one at a time", Told: "Half the width and height (inpainting: Only masked), batch size 1, no hires fix; enlarge afterwards with Tiled Diffusion and Tiled VAE, smaller tiles and tile batch size 1.", Cost: "One step more."},
			{Fix: "lowvram_mode", Title: "Start it with `--medvram`", Told: "In `webui-user.bat` behind `set COMMANDLINE_ARGS=`, or at the end of the start line (SD.Next: `webui.bat --medvram`); 4 GB: `--lowvram`. Forge moves models by itself.", Cost: "Slower."},
		},
		Sources: []string{"https://github.com/pkuliyi2015/multidiffusion-upscaler-for-automatic1111/blob/main/tile_methods/abstractdiffusion.py", "stable-diffusion-webui/modules/cmd_args.py"},
	}}),
}
