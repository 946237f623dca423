package rest

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/local"
)

// own are the causes of those cards that say of one program what usually fills its
// card, where nothing shows that others do.
var own = []string{cause.Unknown, cause.BatchTooLarge, cause.ModelTooLarge, cause.OversizedAllocation, cause.TrainingStateTooLarge, cause.RetainedMemory, cause.LeakedProcess}

// vulkanCards are for what draws with Vulkan and is no program that is known.
var vulkanCards = []cause.Card{{
	ID: "vulkan/drawing", Kinds: []fact.Kind{fact.PlainDevice, fact.DeviceAlloc}, Said: []string{"CreateTexture(", "TextureDescriptor", "swapchain", "Swapchain", "SwapChain", "---crashlog(", "Game Version", "texture", "Texture"},
	Unsaid: []string{"vk::", "ncnn", "ggml", "llama", "whisper", "upscayl", "waifu2x", "realesrgan", "clCreateBuffer", "tensor"},
	If: func(c *ledger.Case) bool {
		refused := c.Contains("out_of_device_memory") || c.Contains("outofdevicememory") || c.Contains("out of device memory")
		return refused && local.NoneKnown(c) && !ledger.RunsModels(c) && c.Reader.Edits != "code"
	},
	Among:    own[:4],
	Headline: "was refused GPU memory by the Vulkan driver",
	Means:    "The message does not say how much was asked for, nor how much was free. Games keep textures in GPU memory, and buffers that grow with the window size, the internal resolution and anti-aliasing. If the card has room to spare, the fault is often in this release or in the driver.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Lower the resolution and texture quality", Told: "Use a window, 1x internal resolution, and no HD texture pack, upscaling or supersampling. If it fails before the menu, set this in its configuration file.", Cost: "detail"},
		{Fix: "close_other_apps", Title: "Close other programs that use the GPU", Told: "Browsers, overlays, launchers, recorders. On a laptop make sure that it runs on the dedicated GPU.", Cost: "free"},
		{Fix: "upgrade_version", Title: "If the card has room, change the release, driver or renderer", Told: "Try the release that worked before, or the newest; the newest driver from the card's maker; or OpenGL or Direct3D, where the program offers it.", Cost: "some minutes"},
	},
	Sources: []string{"https://registry.khronos.org/vulkan/specs/latest/man/html/vkAllocateMemory.html", "https://github.com/TwilitRealm/dusklight/issues/1058", "https://github.com/Try/OpenGothic/issues/53"}, Solved: 2,
}}
