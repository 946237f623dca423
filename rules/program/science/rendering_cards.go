package science

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var simplify = cause.Cure{Fix: "lower_resolution", Title: "Turn on Simplify: texture limit, subdivision", Kind: "ui", Text: "Render Properties, Simplify on: Texture Limit 2048 (Render), Max Subdivision 2", Cost: "Detail, seldom seen"}

var direct3DCards = []cause.Card{
	{
		ID: "direct3d/shared", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{`"UMA": true`}, If: overBudget,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of the RAM that the GPU may share",
		Means: "This GPU has next to no memory of its own (UMA): it uses RAM, of which Windows grants this program {limit} now. It uses {used}, so the next buffer was refused. About half the RAM is the most that a GPU may share, less while other programs fill it.",
		Not:   "Reinstalling the driver, or only enlarging the page file.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Lower the graphics settings", Own: true, Cost: "Less detail"},
			{Fix: "close_other_apps", Title: "Close browsers and launchers first", Told: "Task Manager, Performance, Memory: more free RAM means a larger share.", Cost: "Free"},
			{Fix: "raise_memory_limit", Title: "Add RAM, or raise the share in the BIOS", Told: "BIOS setup: UMA frame buffer size, 2 GB or more.", Cost: "Money, or RAM for programs"},
		},
		Sources: []string{"D3D12MemoryAllocator/src/D3D12MemAlloc.cpp", "https://learn.microsoft.com/en-us/windows/win32/api/dxgi1_4/ns-dxgi1_4-dxgi_query_video_memory_info"}, Figures: budgetFigures,
	},
	{
		ID: "direct3d/budget", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"D3D12"}, Unsaid: []string{`"UMA": true`}, If: overBudget,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "used more graphics memory than Windows grants it",
		Means: "Windows divides the card among all programs that draw: this one may have {limit} at the moment and uses {used}, so the next buffer was refused. Other programs on the card make its share smaller.",
		Not:   "Reinstalling the driver.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Lower the graphics settings", Own: true, Cost: "Less detail"},
			{Fix: "close_other_apps", Title: "Close other programs that use the card", Told: "Browsers, launchers, recorders; Task Manager, Details, column Dedicated GPU memory.", Cost: "Free"},
		},
		Sources: []string{"D3D12MemoryAllocator/src/D3D12MemAlloc.cpp", "https://learn.microsoft.com/en-us/windows/win32/api/dxgi1_4/ns-dxgi1_4-dxgi_query_video_memory_info"}, Figures: budgetFigures,
	},
}

// overBudget: the program used as much as Windows grants it.
func overBudget(c *ledger.Case) bool {
	f := c.F()
	return f.Limit != nil && f.Allocated != nil && f.Allocated.Bytes*20 >= f.Limit.Bytes*19
}

func budgetFigures(c *ledger.Case) map[string]string {
	return map[string]string{"limit": c.F().Limit.String(), "used": c.F().Allocated.String()}
}

var blenderCards = []cause.Card{
	{
		ID: "blender/card-and-ram", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"System is out of GPU and shared host memory"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory and system memory for this scene",
		Means: "The card was full, Cycles tried system memory for the rest, and that was refused as well. Either the scene (textures, geometry, hair) is far larger than the card, or RAM is short, too.",
		Not:   "Fewer samples: they take time, not memory.",
		Cures: []cause.Cure{
			simplify,
			{Fix: "close_other_apps", Title: "Free the card and RAM", Kind: "ui", Text: "Viewport to Solid before rendering; close browsers and other Blender windows; then render with blender -b FILE.blend -f 1 (FILE.blend: your scene)", Cost: "Free"},
			{Fix: "cpu_offload", Title: "Render on the CPU", Kind: "ui", Text: "Render Properties: Device CPU. It needs the scene in RAM once", Cost: "Several times slower"},
		},
		Sources: []string{"blender/intern/cycles/device/device.cpp", "https://github.com/princeton-vl/infinigen/issues/68"},
	},
	{
		ID: "blender/stream", Kinds: []fact.Kind{fact.DeviceAlloc, fact.CUDAError}, Said: []string{"Out of memory in cuStreamCreate"}, Unsaid: []string{"shared host memory"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "found graphics memory full: not even a queue for the card could be made",
		Means: "A CUDA stream takes next to nothing, so memory was used up before: by this scene (textures, geometry, a viewport in Rendered mode, which holds a second copy), by other programs, or, on Windows, by the commit limit, which counts what is on the card too. If the default cube fails as well, it is not the scene but the driver or what stands in for CUDA (ZLUDA).",
		Not:   "Fewer samples: they take time, not memory.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Set the viewport to Solid, close other programs", Kind: "ui", Text: "Set the viewport to Solid, close other Blender windows and browsers, restart Blender and render again. Watch Dedicated GPU memory and Committed in Task Manager (Performance) meanwhile", Cost: "Free"},
			simplify,
			{Fix: "cpu_offload", Title: "Render on the CPU", Kind: "ui", Text: "Render Properties: Device CPU. It needs the scene in RAM once", Cost: "Several times slower"},
		},
		Sources: []string{"blender/intern/cycles/device/cuda/queue.cpp", "https://docs.blender.org/manual/en/latest/render/cycles/gpu_rendering.html"},
	},
	{
		ID: "blender/card", Kinds: []fact.Kind{fact.DeviceAlloc, fact.CUDAError}, Said: []string{"System is out of " + "GPU memory", "Out of " + "memory in cu", "Cycles GPU rendering documentation"}, Unsaid: []string{"shared host memory"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory for this scene",
		Means: "Memory that has to be on the card was refused: image buffers, the acceleration structure, kernels. Textures and geometry use it (an 8K texture takes 256 MiB, every subdivision level four times the faces), a viewport in Rendered mode holds a second copy, and other programs may hold a part; the log does not show which.",
		Not:   "Fewer samples: they take time, not memory.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Set the viewport to Solid, close other programs", Kind: "ui", Text: "Set the viewport to Solid, close other Blender windows and browsers, restart Blender and render again", Cost: "Free"},
			simplify,
			{Fix: "lower_batch_size", Title: "Use smaller tiles, no persistent data", Kind: "ui", Text: "Render Properties, Performance: Tile Size 512; Final Render: Persistent Data off. Animations: render frames in several runs", Cost: "A little time"},
		},
		Sources: []string{"blender/intern/cycles/device/device.cpp", "https://docs.blender.org/manual/en/latest/render/cycles/gpu_rendering.html"},
	},
}

var octaneCards = []cause.Card{{
	ID: "octane/card", Said: []string{"OctaneRender", "Octane Render", "failed to alloc" + "ate device memory"}, If: ledger.OnCard,
	Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory for this scene",
	Means: "The driver refused a buffer that Octane needs on the card. Geometry, textures, render passes and the film share it: a 4K film with ten passes takes some GB, an 8K texture of 8 bits 256 MiB. The log does not show which of them is large, nor what else is on the card; every card that renders needs the whole scene.",
	Not:   "Fewer samples: they take time, not memory.",
	Cures: []cause.Cure{
		{Fix: "cpu_offload", Title: "Turn on out-of-core memory", Kind: "ui", Text: "Preferences (plug-ins: Octane settings, Devices), Out of core: enable; RAM usage limit half of your RAM; leave GPU headroom as it is, or raise it a little if the driver still refuses", Cost: "Slower for what lies in RAM"},
		{Fix: "close_other_apps", Title: "Close other programs on the card", Kind: "text", Text: "`nvidia-smi` lists them: browsers, other 3D programs, the desktop. Switch off a card with little memory under Devices, since each holds the whole scene.", Cost: "Free"},
		{Fix: "lower_resolution", Title: "Make the scene smaller", Kind: "text", Text: "Fewer render passes at once, textures of 4K and 8 bits, one level less of subdivision and displacement, instances instead of copies.", Cost: "Detail, seldom seen"},
	},
	Sources: []string{"https://docs.otoy.com/StandaloneH_STA/StandaloneSTA/TheOutofCoreSettings.htm", "https://docs.otoy.com/ModoH/Modo/Out-Of-CoreSettings.htm"},
}}

var wgpuCards = []cause.Card{{
	ID: "wgpu/memory", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Caught rendering error", "bevy_render", "wgpu error"},
	Cause: cause.RetainedMemory, Weight: cause.Strong, Headline: "was refused a buffer or texture by the graphics driver",
	Means: "wgpu reports no size. Two reasons are usual: one resource far larger than meant (a buffer sized by a wrong count), or resources made again in each frame, which are freed only when the device is polled and nothing refers to them. A failure after a while points to the second; another program on the card is possible too.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "If it fails at once: check the sizes", Kind: "text", Text: "Print the size in each BufferDescriptor and TextureDescriptor, and compare with `device.limits().max_buffer_size`; in Bevy look at meshes, images and shadow maps that a system makes.", Cost: "Half an hour"},
		{Fix: "detach_accumulated", Title: "If it fails after a while: reuse resources", Kind: "text", Text: "Write into the same buffer (`queue.write_buffer`) instead of creating one a frame; in Bevy change an asset through its handle instead of `assets.add(...)` in a system that runs each frame.", Cost: "Some lines of code"},
		{Fix: "close_other_apps", Title: "Watch the card", Kind: "text", Text: "`nvidia-smi -l 1`, or Task Manager, Performance, GPU, while it runs: a steady climb is the second reason.", Cost: "Free"},
	},
	Sources: []string{"wgpu/wgpu/src/api/device.rs", "https://github.com/bevyengine/bevy/issues/24722"},
}}

// inEditor: shaders are compiled there, not in a program that was shipped.
func inEditor(c *ledger.Case) bool { return c.Near(editorWords...) }

var editorWords = []string{"UnrealEditor", "UE4Editor", "ShaderCompileWorker", "UnrealBuildTool"}

var unrealCards = []cause.Card{{
	ID: "unreal/commit", Kinds: []fact.Kind{fact.CommitLimit}, Unsaid: editorWords,
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was refused system memory by Windows[[: {asked} in one piece]]",
	Means: "All programs together have committed as much as RAM and page file can hold, even if RAM looks free.[[ This one asked for {asked} next;]] the log does not show who holds the most.",
	Not:   "A larger card: it is not the card's memory.",
	Cures: []cause.Cure{
		{Fix: "raise_pagefile", Title: "Enlarge the Windows page file", Cost: "disk space, and a restart", Told: "Win+R, `SystemPropertiesAdvanced`, Performance: Settings, Advanced, Virtual memory: Change. Let Windows manage it on a drive with room, or set initial 32768, maximum 98304 (MB); restart."},
		{Fix: "close_other_apps", Title: "Watch \"Commit size\", close what is large", Cost: "a look is free", Told: "Task Manager, Details, right-click the header: column \"Commit size\". If it is another program, close or restart that one."},
		{Fix: "upgrade_version", Title: "If only this program's jumps: its newest version", Cost: "some minutes", Told: "A jump with one file or one scene points to that file, or to a fault in how the program reads it: try another file, and report the number with it. Games: verify the files, take mods out."},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--1300-1699-", "UnrealEngine/Engine/Source/Runtime/Core/Private/GenericPlatform/GenericPlatformMemory.cpp"},
}, {
	ID: "unreal/video-memory", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of video memory trying to allocate"},
	Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "could not create a texture or buffer in video memory",
	Means: "The message has no sizes. Usually the settings or the scene need more than the card has. On 13th and 14th generation Intel processors the same message often comes from an unstable processor while shaders are compiled, with VRAM free.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Lower texture quality, turn off ray tracing", Kind: "ui", Text: "Texture quality one step down, ray tracing and Lumen off, upscaling (DLSS, FSR) on; your own project: r.Streaming.PoolSize 1000 in the console", Cost: "Sharpness"},
		{Fix: "upgrade_version", Title: "Intel 13th/14th gen: BIOS with 0x12B or later", Kind: "text", Text: "Update the BIOS (microcode 0x12B or later) and choose Intel's default power settings; update the graphics driver as well.", Cost: "Half an hour"},
		{Fix: "close_other_apps", Title: "Close other programs that use VRAM", Kind: "text", Text: "Task Manager, Performance, GPU: Dedicated GPU memory before the start. Close browsers, recorders and other games.", Cost: "Free"},
	},
	Sources: []string{"UnrealEngine/Engine/Source/Runtime/D3D12RHI/Private/D3D12Util.cpp", "https://www.radgametools.com/oodleintel.htm"},
}}

var ryujinxCards = []cause.Card{{
	ID: "ryujinx/vram", Said: []string{"MemoryAllocatorBlockList"}, Kinds: []fact.Kind{fact.GGMLAlloc, fact.PlainDevice},
	Cause: cause.RetainedMemory, Weight: cause.Strong, Headline: "ran out of video memory on a texture",
	Means: "The emulator asked Vulkan for memory and the card was full. Some games decode ASTC textures to several times their size; resolution scale and texture mods multiply them. Memory can also grow from scene to scene.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Use scale 1x, no texture mods", Kind: "text", Text: "Options, Settings, Graphics: Resolution Scale Native (1x); take mods of the game out", Cost: "Sharpness"},
		{Fix: "lowvram_mode", Title: "Turn on texture recompression", Kind: "ui", Text: "Options, Settings, Graphics: Enable Texture Recompression", Cost: "Slightly softer textures"},
		{Fix: "restart_session", Title: "Save and restart now and then", Kind: "text", Text: "Save before a change of scene and restart the emulator.", Cost: "Your place in the game"},
	},
	Sources: []string{"https://github.com/Ryujinx/Ryujinx/issues/4677", "https://github.com/Ryujinx/Ryujinx/issues/6464", "https://github.com/Ryujinx/Ryujinx/issues/3523"},
}}

// nvencDriver and nvencNot are what lets more encodes run, and what does without.
var (
	nvencDriver = cause.Cure{Fix: "upgrade_version", Title: "Update the NVIDIA driver", Kind: "text", Text: "Newer drivers allow more sessions on GeForce; NVIDIA's encode matrix lists the number for each card.", Cost: "A restart"}
	nvencNot    = cause.Cure{Fix: "cpu_offload", Title: "Encode on the CPU", Kind: "text", Text: "In place of `h264_nvenc`: `libx264`; of `hevc_nvenc`: `libx265`.", Cost: "Processor time"}
)

const nvencMeans = "NVENC says \"out of memory\" when too many encoding sessions are open. GeForce drivers allow a fixed number for the whole machine (2 or 3 for years, more in newer drivers), however much VRAM is free. A full card is the other, rarer reason."

var ffmpegCards = []cause.Card{{
	ID: "ffmpeg/nvenc-recorder", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"viseron.components", "frigate.record", "frigate.video"}, If: func(c *ledger.Case) bool { return c.Near("OpenEncodeSessionEx failed") },
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "could not open another NVENC session for a camera",
	Means: nvencMeans,
	Cures: []cause.Cure{
		{Fix: "lower_parallel", Title: "Store the cameras' own streams, or encode fewer at once", Told: "In the recorder's settings each camera with an `_nvenc` codec is a session of its own. Codec `copy` (Viseron: `recorder:`, `codec: copy`) needs none: it stores what the camera sends.", Cost: "The camera's own codec and size"},
		nvencDriver, nvencNot,
	},
	Sources: []string{"ffmpeg/libavcodec/nvenc.c", "viseron/components/ffmpeg/const.py"},
}, {
	ID: "ffmpeg/nvenc-sessions", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"OpenEncodeSessionEx failed"},
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "could not open another NVENC session",
	Means: nvencMeans,
	Cures: []cause.Cure{
		{Fix: "lower_parallel", Title: "Encode fewer videos at once", Told: "Each output with an `_nvenc` codec is a session, also those of other programs on this machine. This lists what runs on the card; end what hangs:", Kind: "shell", Text: "nvidia-smi", Cost: "Free"},
		nvencDriver, nvencNot,
	},
	Sources: []string{"https://github.com/valkjsaaa/auto-bilibili-recorder/issues/9", "https://github.com/m1k1o/go-transcode/issues/42", "https://github.com/gazebosim/gz-common/pull/125", "ffmpeg/libavcodec/nvenc.c"}, Solved: 2,
}}
