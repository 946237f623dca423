package science

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var simplify = cause.Cure{Fix: "lower_resolution", Title: "Turn on Simplify", Kind: "ui", Text: "Render Properties, Simplify: on; under Render set Texture Limit 2048 and Max Subdivision 2", Cost: "Less detail, seldom visible"}

var direct3DCards = []cause.Card{
	{
		ID: "direct3d/shared", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{`"UMA": true`}, If: overBudget,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of the RAM that the GPU may use",
		Means: "This GPU uses the RAM of the computer, because it has next to no memory of its own. Windows grants this program {limit} now, and it uses {used}. At most about half the RAM goes to the GPU, less while other programs fill it.",
		Not:   "Reinstalling the driver, or only enlarging the page file.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Lower the graphics settings", Own: true, Cost: "Less detail"},
			{Fix: "close_other_apps", Title: "Close browsers and launchers first", Told: "Task Manager, Performance, Memory shows the free RAM. The more is free, the more the GPU gets.", Cost: "Free"},
			{Fix: "raise_memory_limit", Title: "Add RAM, or raise the GPU memory in the BIOS", Told: "BIOS setup: UMA frame buffer size, 2 GB or more.", Cost: "Money, or RAM for programs"},
		},
		Sources: []string{"D3D12MemoryAllocator/src/D3D12MemAlloc.cpp", "https://learn.microsoft.com/en-us/windows/win32/api/dxgi1_4/ns-dxgi1_4-dxgi_query_video_memory_info"}, Figures: budgetFigures,
	},
	{
		ID: "direct3d/budget", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"D3D12"}, Unsaid: []string{`"UMA": true`}, If: overBudget,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "used more GPU memory than Windows grants it",
		Means: "Windows divides GPU memory among all programs that draw. This one may have {limit} now and uses {used}. Other open programs make its part smaller.",
		Not:   "Reinstalling the driver.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Lower the graphics settings", Own: true, Cost: "Less detail"},
			{Fix: "close_other_apps", Title: "Close other programs that use the GPU", Told: "Browsers, launchers and recorders use it. Task Manager, Details: the column \"Dedicated GPU memory\" shows how much each one takes.", Cost: "Free"},
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
		ID: "blender/ram", Kinds: []fact.Kind{fact.ShellKilled, fact.KernelKill, fact.ContainerKill, fact.SlurmKill}, Said: []string{"| Scene, ViewLayer |", "Blender quit", "Blender Foundation"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was killed: system memory (RAM) ran out for this scene",
		Means: "The scene (textures, geometry after subdivision, hair, simulation caches) has to fit into RAM, also when a GPU renders. \"Mem\" in the log is what Blender held.",
		Not:   "Fewer samples or a GPU: the scene has to be in RAM either way.",
		Cures: []cause.Cure{
			simplify,
			{Fix: "add_swap", Title: "Add swap for the peak", Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "disk, and slow when used"},
			{Fix: "close_other_apps", Title: "Render without the window, and alone", Kind: "ui", Text: "Close other large programs and Blender's window, then: blender -b FILE.blend -f 1 (FILE.blend is your scene)", Cost: "Free"},
			{Fix: "lower_batch_size", Title: "Split the scene into view layers", Told: "Render them one after another, and compose them. Turn Persistent Data off.", Cost: "Some work"},
		},
		Sources: []string{"https://docs.blender.org/manual/en/latest/render/cycles/render_settings/simplify.html"},
	},
	{
		ID: "blender/card-and-ram", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"System is out of GPU and shared host memory"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory and system memory (RAM) for this scene",
		Means: "GPU memory was full. Cycles tried to put the rest into system memory (RAM), and that failed too. The scene (textures, geometry, hair) is probably far too large for the GPU, or RAM is short as well.",
		Not:   "Fewer samples: they take time, not memory.",
		Cures: []cause.Cure{
			simplify,
			{Fix: "close_other_apps", Title: "Free GPU memory and RAM", Kind: "ui", Text: "Set the viewport to Solid before you render. Close browsers and other Blender windows, or render without the window: blender -b FILE.blend -f 1 (FILE.blend is your scene)", Cost: "Free"},
			{Fix: "cpu_offload", Title: "Render on the CPU", Kind: "ui", Text: "Render Properties: Device CPU. The scene still has to fit into RAM", Cost: "Several times slower"},
		},
		Sources: []string{"blender/intern/cycles/device/device.cpp", "https://github.com/princeton-vl/infinigen/issues/68"},
	},
	{
		ID: "blender/stream", Kinds: []fact.Kind{fact.DeviceAlloc, fact.CUDAError}, Said: []string{"Out of memory in cuStreamCreate"}, Unsaid: []string{"shared host memory"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "found GPU memory full before it could start",
		Means: "The step that failed takes next to nothing, so GPU memory was full already. Usual reasons: this scene, a viewport in Rendered mode (a second copy), other programs, or on Windows a full page file. If the default cube fails too, suspect the driver, or ZLUDA.",
		Not:   "Fewer samples: they take time, not memory.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Set the viewport to Solid, close other programs", Kind: "ui", Text: "Close other Blender windows and browsers as well, restart Blender and render again. Watch \"Dedicated GPU memory\" and \"Committed\" in Task Manager, Performance", Cost: "Free"},
			simplify,
			{Fix: "cpu_offload", Title: "Render on the CPU", Kind: "ui", Text: "Render Properties: Device CPU. The scene has to fit into RAM", Cost: "Several times slower"},
		},
		Sources: []string{"blender/intern/cycles/device/cuda/queue.cpp", "https://docs.blender.org/manual/en/latest/render/cycles/gpu_rendering.html"},
	},
	{
		ID: "blender/card", Kinds: []fact.Kind{fact.DeviceAlloc, fact.CUDAError}, Said: []string{"System is out of " + "GPU memory", "Out of " + "memory in cu", "Cycles GPU rendering documentation"}, Unsaid: []string{"shared host memory"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory for this scene",
		Means: "Textures and geometry usually take most of it: an 8K texture needs 256 MiB, and every subdivision level makes four times the faces. A viewport in Rendered mode holds a second copy. Other programs may hold a part; the log does not show that.",
		Not:   "Fewer samples: they take time, not memory.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Set the viewport to Solid, close other programs", Kind: "ui", Text: "Close other Blender windows and browsers as well, restart Blender and render again", Cost: "Free"},
			simplify,
			{Fix: "lower_batch_size", Title: "Use smaller tiles, no persistent data", Kind: "ui", Text: "Render Properties, Performance: Tile Size 512; Final Render: Persistent Data off. Animations: render the frames in several runs", Cost: "A little time"},
		},
		Sources: []string{"blender/intern/cycles/device/device.cpp", "https://docs.blender.org/manual/en/latest/render/cycles/gpu_rendering.html"},
	},
}

var octaneCards = []cause.Card{{
	ID: "octane/card", Said: []string{"OctaneRender", "Octane Render", "failed to alloc" + "ate device memory"}, If: ledger.OnCard,
	Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory for this scene",
	Means: "Geometry, textures, render passes and the film share GPU memory. A 4K film with ten passes takes some GB, an 8K texture of 8 bits 256 MiB. Every GPU that renders needs the whole scene. The log does not show what else is on the GPU.",
	Not:   "Fewer samples: they take time, not memory.",
	Cures: []cause.Cure{
		{Fix: "cpu_offload", Title: "Turn on out-of-core memory", Kind: "ui", Text: "Preferences, Out of core (plug-ins: Octane settings, Devices): enable it, and set the RAM usage limit to half of your RAM", Cost: "Slower for what lies in RAM"},
		{Fix: "close_other_apps", Title: "Close other programs on the GPU", Kind: "text", Text: "`nvidia-smi` lists them: browsers, other 3D programs. Under Devices switch off a GPU with little memory.", Cost: "Free"},
		{Fix: "lower_resolution", Title: "Make the scene smaller", Kind: "text", Text: "Use fewer render passes at once, textures of 4K and 8 bits, one level less of subdivision and displacement, and instances instead of copies.", Cost: "Less detail, seldom visible"},
	},
	Sources: []string{"https://docs.otoy.com/StandaloneH_STA/StandaloneSTA/TheOutofCoreSettings.htm", "https://docs.otoy.com/ModoH/Modo/Out-Of-CoreSettings.htm"},
}}

var wgpuCards = []cause.Card{{
	ID: "wgpu/memory", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Caught rendering error", "bevy_render", "wgpu error"},
	Cause: cause.RetainedMemory, Weight: cause.Strong, Headline: "could not get memory for a buffer or texture from the graphics driver",
	Means: "wgpu prints no size. Usually either one buffer or texture is far larger than you meant (a wrong count), or the program makes new ones in each frame. A failure after a while points to the second. Another program on the GPU is possible too.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "If it fails at once: check the sizes", Kind: "text", Text: "Print the size in each BufferDescriptor and TextureDescriptor, and compare it with `device.limits().max_buffer_size`. In Bevy look at the meshes, images and shadow maps that your systems make.", Cost: "Half an hour"},
		{Fix: "detach_accumulated", Title: "If it fails after a while: reuse resources", Kind: "text", Text: "Write into the same buffer (`queue.write_buffer`) instead of making one per frame. In Bevy change an asset through its handle; do not call `assets.add(...)` in a system that runs each frame.", Cost: "Some lines of code"},
		{Fix: "close_other_apps", Title: "Watch GPU memory while it runs", Kind: "text", Text: "Use `nvidia-smi -l 1`, or Task Manager, Performance, GPU. A steady climb means the second reason.", Cost: "Free"},
	},
	Sources: []string{"wgpu/wgpu/src/api/device.rs", "https://github.com/bevyengine/bevy/issues/24722"},
}}

// inEditor: shaders are compiled there, not in a program that was shipped.
func inEditor(c *ledger.Case) bool { return c.Near(editorWords...) }

var editorWords = []string{"UnrealEditor", "UE4Editor", "ShaderCompileWorker", "UnrealBuildTool"}

var unrealCards = []cause.Card{{
	ID: "unreal/commit", Kinds: []fact.Kind{fact.CommitLimit}, Unsaid: editorWords,
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not get system memory (RAM) from Windows",
	Means: "RAM and page file together are used up (\"Committed\" in Task Manager), even if some RAM looks free. The log does not show which program holds the most.",
	Not:   "A better graphics card: this is not GPU memory.",
	Cures: []cause.Cure{
		{Fix: "raise_pagefile", Title: "Enlarge the Windows page file", Told: "Press Win+R, run `SystemPropertiesAdvanced`. Performance: Settings, Advanced, Virtual memory: Change. Let Windows manage it on a drive with room, or set initial 32768 and maximum 98304 (MB). Restart.", Cost: "disk space, and a restart"},
		{Fix: "close_other_apps", Title: "Find the program with the largest \"Commit size\"", Told: "Task Manager, Details, right-click the header, add the column \"Commit size\". If another program is at the top, close or restart it.", Cost: "a look is free"},
		{Fix: "upgrade_version", Title: "If this program is the largest: repair or update it", Told: "Games: verify the files, and remove mods. If its memory jumps with one file or scene, report that file.", Cost: "some minutes"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--1300-1699-", "UnrealEngine/Engine/Source/Runtime/Core/Private/GenericPlatform/GenericPlatformMemory.cpp"},
}, {
	ID: "unreal/video-memory", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of video memory trying to allocate"},
	Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "could not create a texture or buffer in GPU memory",
	Means: "Usually the settings or the scene need more GPU memory than the card has. On Intel processors of the 13th and 14th generation the same message often comes from an unstable processor, with GPU memory free. The message shows no sizes.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Lower texture quality, turn off ray tracing", Kind: "ui", Text: "Texture quality one step down, ray tracing and Lumen off, upscaling (DLSS, FSR) on; your own project: r.Streaming.PoolSize 1000 in the console", Cost: "Less sharp"},
		{Fix: "upgrade_version", Title: "Intel 13th or 14th generation: update the BIOS", Kind: "text", Text: "Install a BIOS with microcode 0x12B or later, and choose Intel's default power settings. Update the graphics driver as well.", Cost: "Half an hour"},
		{Fix: "close_other_apps", Title: "Close other programs that use GPU memory", Kind: "text", Text: "Close browsers, recorders and other games. Task Manager, Performance, GPU shows \"Dedicated GPU memory\" before the start.", Cost: "Free"},
	},
	Sources: []string{"UnrealEngine/Engine/Source/Runtime/D3D12RHI/Private/D3D12Util.cpp", "https://www.radgametools.com/oodleintel.htm"},
}}

var ryujinxCards = []cause.Card{{
	ID: "ryujinx/vram", Said: []string{"MemoryAllocatorBlockList"}, Kinds: []fact.Kind{fact.GGMLAlloc, fact.PlainDevice},
	Cause: cause.RetainedMemory, Weight: cause.Strong, Headline: "ran out of GPU memory",
	Means: "The emulator asked Vulkan for memory, and the GPU had no more. Some games decode ASTC textures to several times their size; resolution scale and texture mods multiply that. GPU memory can also grow from scene to scene.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Use scale 1x, no texture mods", Kind: "text", Text: "Options, Settings, Graphics: Resolution Scale Native (1x). Remove the mods of the game.", Cost: "Less sharp"},
		{Fix: "lowvram_mode", Title: "Turn on texture recompression", Kind: "ui", Text: "Options, Settings, Graphics: Enable Texture Recompression", Cost: "Slightly softer textures"},
		{Fix: "restart_session", Title: "Save and restart from time to time", Kind: "text", Text: "Save before a change of scene, and restart the emulator.", Cost: "Your place in the game"},
	},
	Sources: []string{"https://github.com/Ryujinx/Ryujinx/issues/4677", "https://github.com/Ryujinx/Ryujinx/issues/6464", "https://github.com/Ryujinx/Ryujinx/issues/3523"},
}}

// nvencDriver and nvencNot are what lets more encodes run, and what does without.
var (
	nvencDriver = cause.Cure{Fix: "upgrade_version", Title: "Update the NVIDIA driver", Kind: "text", Text: "Newer drivers allow more sessions on GeForce cards. NVIDIA's video encode support matrix lists the number for each card.", Cost: "A restart"}
	nvencNot    = cause.Cure{Fix: "cpu_offload", Title: "Encode on the CPU", Kind: "text", Text: "Use `libx264` instead of `h264_nvenc`, and `libx265` instead of `hevc_nvenc`.", Cost: "Processor time"}
)

const nvencMeans = "NVENC says \"out of memory\" when too many encoding sessions are open. GeForce drivers allow only a few for the whole machine (2 or 3 for years, more in newer drivers), however much GPU memory is free. More rarely GPU memory really is full."

var ffmpegCards = []cause.Card{{
	ID: "ffmpeg/nvenc-recorder", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"viseron.components", "frigate.record", "frigate.video"}, If: func(c *ledger.Case) bool { return c.Near("OpenEncodeSessionEx failed") },
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "could not open another NVENC encoding session for a camera",
	Means: nvencMeans,
	Cures: []cause.Cure{
		{Fix: "lower_parallel", Title: "Store the cameras' own streams, or encode fewer", Told: "In the recorder's settings each camera with an `_nvenc` codec needs a session. Codec `copy` needs none: it stores what the camera sends (Viseron: `recorder:`, `codec: copy`).", Cost: "The camera's own codec and size"},
		nvencDriver, nvencNot,
	},
	Sources: []string{"ffmpeg/libavcodec/nvenc.c", "viseron/components/ffmpeg/const.py"},
}, {
	ID: "ffmpeg/nvenc-sessions", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"OpenEncodeSessionEx failed"},
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "could not open another NVENC encoding session",
	Means: nvencMeans,
	Cures: []cause.Cure{
		{Fix: "lower_parallel", Title: "Encode fewer videos at once", Told: "Each output with an `_nvenc` codec is a session, also those of other programs. This lists what runs on the GPU; end what hangs:", Kind: "shell", Text: "nvidia-smi", Cost: "Free"},
		nvencDriver, nvencNot,
	},
	Sources: []string{"https://github.com/valkjsaaa/auto-bilibili-recorder/issues/9", "https://github.com/m1k1o/go-transcode/issues/42", "https://github.com/gazebosim/gz-common/pull/125", "ffmpeg/libavcodec/nvenc.c"}, Solved: 2,
}}
