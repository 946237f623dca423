package rest

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/local"
)

// vulkanCards are for what draws with Vulkan and is no program that is known.
var vulkanCards = []cause.Card{{
	ID: "vulkan/drawing", Kinds: []fact.Kind{fact.PlainDevice, fact.DeviceAlloc}, Said: []string{"CreateTexture(", "TextureDescriptor", "swapchain", "Swapchain", "SwapChain", "---crashlog(", "Game Version", "texture", "Texture"},
	Unsaid: []string{"vk::", "ncnn", "ggml", "llama", "whisper", "upscayl", "waifu2x", "realesrgan", "clCreateBuffer", "tensor"},
	If: func(c *ledger.Case) bool {
		refused := c.Contains("out_of_device_memory") || c.Contains("outofdevicememory") || c.Contains("out of device memory")
		return refused && local.NoneKnown(c) && !ledger.RunsModels(c) && c.Reader.Edits != "code"
	},
	Among:    []string{cause.Unknown, cause.BatchTooLarge, cause.ModelTooLarge, cause.OversizedAllocation},
	Headline: "was refused memory on the card by the Vulkan driver",
	Means:    "A game or viewer keeps textures on the card, and render targets that grow with the pixels of its window, its internal resolution and anti-aliasing. The message has no size and does not say what was free. On a card with room to spare it is as often a fault of that release or of the driver, in a call that hardly needs memory.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Draw less: a window, 1x resolution, smaller textures", Told: "No HD texture pack, no upscaling or supersampling, anti-aliasing and shadows down. If it fails before the menu, set it in the configuration file or by its options.", Cost: "detail"},
		{Fix: "close_other_apps", Title: "Close what else draws on the card", Told: "Browsers, overlays, launchers, recorders. On a laptop see that it runs on the dedicated card.", Cost: "free"},
		{Fix: "upgrade_version", Title: "If there is room: another release, driver or renderer", Told: "The release that ran before, or the newest; the driver of the card's maker; OpenGL or Direct3D where the program has it. Report it with the line above.", Cost: "some minutes"},
	},
	Sources: []string{"https://registry.khronos.org/vulkan/specs/latest/man/html/vkAllocateMemory.html", "https://github.com/TwilitRealm/dusklight/issues/1058", "https://github.com/Try/OpenGothic/issues/53"}, Solved: 2,
}}
