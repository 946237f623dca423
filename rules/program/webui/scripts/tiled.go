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
		Headline: "ran out of GPU memory[[ ({total})]]",
		Means:    "The line `[Mem] rss` comes from an extension (such as Tiled Diffusion) of AUTOMATIC1111, Forge or SD.Next. If the same image worked before, memory was probably kept from images in between. If it never worked, it is probably too large for this card.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "If it worked before: restart the web UI", Told: "Close its window and start it again. That frees what earlier images and models left on the card.", Cost: "Free."},
			{Fix: "lower_resolution", Title: "Make a smaller image, one at a time", Told: "At most 512 x 512 for SD 1.5, 1024 x 1024 for SDXL; batch size 1, no Hires. fix; inpainting: Only masked. Enlarge afterwards with Tiled Diffusion and Tiled VAE.", Cost: "One more step."},
			{Fix: "lowvram_mode", Title: "Start it with `--medvram`", Told: "AUTOMATIC1111: in `webui-user.bat` after `set COMMANDLINE_ARGS=`. SD.Next: `webui.bat --medvram`. With 4 GB use `--lowvram`. Forge ignores both.", Cost: "Slower."},
		},
		Sources: []string{"https://github.com/pkuliyi2015/multidiffusion-upscaler-for-automatic1111/blob/main/tile_methods/abstractdiffusion.py", "stable-diffusion-webui/modules/cmd_args.py"},
	}}),
}
