package science

import (
	"slices"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// scene is what renderers have in common: the scene has to be on the card,
// whatever the samples.
var scene = program.Program{
	Titles: map[string]string{"lower_resolution": "Use smaller textures, less subdivision", "close_other_apps": "Close other programs on the GPU", "bigger_gpu": "Use a GPU with more memory"},
	Costs:  map[string]string{"lower_resolution": "Detail, seldom seen from a distance.", "cpu_offload": "Several times slower.", "lower_batch_size": "Composing the parts afterwards."},
}

var sceneHost = cause.InOrder("lower_resolution", "close_other_apps", "add_swap", "raise_pagefile")

// Blender is Blender with Cycles.
var Blender = program.Program{
	Name: "blender", Shown: "Blender", Work: "rendering", Edits: "flags", Language: "cpp", Like: []*program.Program{&scene},
	Sources:  program.Sources{"blender/intern/cycles/blender/addon/engine.py": "--cycles-device"},
	Proofs:   []string{"intern/cycles/", "System is out of GPU memory", "System is out of GPU and shared host memory", "Refer to the Cycles GPU rendering documentation", "| Scene, ViewLayer |", "Blender Foundation", "Blender quit", "blender.app/"},
	Titles:   map[string]string{"cpu_offload": "Render on the CPU", "lower_batch_size": "Render in fewer or smaller parts"},
	Remedies: cures(cause.InOrder("lower_resolution", "close_other_apps", "lower_batch_size", "cpu_offload", "bigger_gpu"), sceneHost),
	Steps: steps{
		"lower_resolution": step.Paste("ui", "Render Properties, Simplify: on; Texture Limit 2048 (Render), Max Subdivision 2. Then look for 8K textures and for hair or subdivision modifiers with high render levels."),
		"lower_batch_size": step.Paste("ui", "Output Properties: Resolution 50 %; Render Properties, Performance: Tile Size 512 and Persistent Data off; large scenes as view layers that are composed afterwards"),
		"cpu_offload":      step.Paste("ui", "Render Properties: Device CPU. On a command line: -- --cycles-device CPU at its end"),
		"close_other_apps": step.Paste("ui", "Set the 3D viewport to Solid before you render (a viewport in Rendered mode holds the scene a second time), close other Blender windows and browsers, or render with blender -b FILE.blend -f 1 (FILE.blend: your scene)"),
	},
	Cards: blenderCards,
}

// Redshift and Octane render out of core, within bounds.
var Redshift = program.Program{
	Name: "redshift", Shown: "Redshift", Work: "rendering", Edits: "flags", Language: "cpp", Like: []*program.Program{&scene},
	Proofs:   []string{"[Redshift]", "Redshift for", "redshiftCmdLine", "Redshift Debug"},
	Titles:   map[string]string{"limit_framework_preallocation": "Give Redshift less of the GPU memory"},
	Remedies: cures(cause.InOrder("close_other_apps", "limit_framework_preallocation", "lower_resolution", "bigger_gpu"), sceneHost),
	Steps: steps{
		"limit_framework_preallocation": step.Paste("ui", "Render Settings, Redshift, Memory (System): lower Percentage of GPU Memory to Use from 90 to 80, so that the desktop and plug-ins have room"),
		"lower_resolution":              step.Paste("ui", "Lower tessellation and displacement of objects, and the size of textures; geometry goes out of core last and slowly"),
		"close_other_apps":              step.Paste("text", "Close the viewport's own renderer, browsers and other 3D programs on that card, or render from the command line."),
	},
}

// Octane is OctaneRender.
var Octane = program.Program{
	Name: "octane", Shown: "OctaneRender", Work: "rendering", Edits: "flags", Language: "cpp", Like: []*program.Program{&scene},
	Proofs:   []string{"OctaneRender", "Octane Render", "octane.exe"},
	Titles:   map[string]string{"cpu_offload": "Turn out-of-core memory on"},
	Costs:    map[string]string{"cpu_offload": "Slower; system memory for the textures."},
	Remedies: cures(cause.InOrder("cpu_offload", "lower_resolution", "close_other_apps", "bigger_gpu"), sceneHost),
	Steps: steps{
		"cpu_offload":      step.Paste("ui", "Preferences, Out of core: enable, and give it half of the system memory; raise GPU headroom a little if the driver still refuses"),
		"close_other_apps": step.Paste("text", "Browsers, other 3D programs and a viewport with its own renderer: close them, or drive the desktop with another card."),
		"lower_resolution": step.Paste("ui", "Compress or shrink textures (8-bit instead of 16 or 32), lower subdivision and displacement levels, and use instances for copies"),
	},
	Cards: octaneCards,
}

// Unreal is Unreal Engine, its editor and the games made with it.
var Unreal = program.Program{
	Name: "unreal", Shown: "Unreal Engine", Work: "rendering", Edits: "flags", Language: "cpp", Like: []*program.Program{&scene},
	Proofs:   []string{"Out of video memory trying to allocate a rendering resource", "LogD3D12RHI", "LogVulkanRHI", "Unreal Engine is exiting", "UnrealEditor", "UE4Editor", "LogRHI:", "Win64-Shipping"},
	Titles:   map[string]string{"lower_resolution": "Lower the graphics settings", "lower_num_workers": "Fewer compile processes"},
	Costs:    map[string]string{"lower_resolution": "Sharper textures and shadows far away.", "lower_num_workers": "Slower shader compilation."},
	Remedies: cures(cause.InOrder("lower_resolution", "close_other_apps", "upgrade_version", "bigger_gpu"), slices.Concat(cause.InOrder("raise_pagefile", "close_other_apps", "upgrade_version"), []cause.Remedy{{Fix: "lower_num_workers", Fit: cause.Helps, If: inEditor}})),
	Steps: steps{
		"lower_resolution":  step.Paste("ui", "A game: texture quality one step down first, then resolution or upscaling (DLSS, FSR). Your own project: console r.Streaming.PoolSize 1000 (MB), Scalability Medium, and Nanite, Lumen or ray tracing off if the GPU has 8 GB or less"),
		"lower_num_workers": step.Paste("text", "In the project's Config/DefaultEngine.ini, section [DevOptions.Shaders], set `NumUnusedShaderCompilingThreads` higher, so that fewer ShaderCompileWorker processes run at once."),
		"upgrade_version":   step.Paste("text", "Update the graphics driver. On 13th and 14th generation Intel processors this message also comes from an unstable processor: update the BIOS (microcode 0x12B or later) and use Intel's default settings."),
	},
	Cards: unrealCards,
}

// Direct3D is a game or renderer on Direct3D 12 that names no engine.
var Direct3D = program.Program{
	Name: "direct3d", Shown: "Direct3D 12", Work: "rendering", Edits: "flags", Language: "cpp", Systems: []string{"windows"}, Like: []*program.Program{&scene},
	Proofs:   []string{"ID3D12Device", "ID3D12Resource", `"API": "Direct3D 12"`},
	Titles:   map[string]string{"lower_resolution": "Lower the graphics settings"},
	Remedies: cures(cause.InOrder("lower_resolution", "close_other_apps", "raise_pagefile", "bigger_gpu"), cause.InOrder("raise_pagefile", "close_other_apps")),
	Steps: steps{
		"lower_resolution": step.Paste("ui", "In its settings: textures one step down first, then the resolution or upscaling (FSR, DLSS), shadows, view distance; fewer or smaller mods and levels"),
	},
	Cards: direct3DCards,
}

// Unity is the Unity engine.
var Unity = program.Program{
	Name: "unity", Shown: "Unity", Work: "rendering", Edits: "flags", Language: "csharp", Like: []*program.Program{&scene},
	Proofs:   []string{"UnityEngine.", "UnityEditor.", "DynamicHeapAllocator", "MemoryLabel:", "UnityPlayer", "d3d11: failed to create"},
	Titles:   map[string]string{"lower_resolution": "Use smaller textures"},
	Remedies: cures(cause.InOrder("lower_resolution", "close_other_apps", "bigger_gpu"), cause.InOrder("close_other_apps", "raise_pagefile", "lower_resolution")),
	Steps: steps{
		"lower_resolution": step.Paste("ui", "Edit, Project Settings, Quality: mipmap limit Half Resolution; texture importers: Max Size 1024 and a compressed format. A player lowers texture quality and resolution in the game"),
		"close_other_apps": step.Paste("ui", "Close other programs, and in a player's game other mods; 32-bit builds end at 2 to 4 GB whatever the machine has"),
	},
}

// WGPU is wgpu and bevy.
var WGPU = program.Program{
	Name: "wgpu", Shown: "wgpu", Work: "rendering", Edits: "code", Language: "rust", Like: []*program.Program{&scene},
	Proofs:   []string{"wgpu-core", "wgpu_core", "wgpu-hal", "bevy_render", "bevy_ecs", "wgpu error"},
	Titles:   map[string]string{"lower_resolution": "Use smaller textures or buffers", "fix_shape": "Check the size before you create it"},
	Remedies: cures(cause.InOrder("fix_shape", "lower_resolution", "detach_accumulated", "close_other_apps"), cause.InOrder("fix_shape", "detach_accumulated")),
	Steps: steps{
		"fix_shape":          step.Paste("text", "Print the size in the BufferDescriptor or TextureDescriptor just before the call, and compare it with `device.limits().max_buffer_size`: one request above that fails whatever is free."),
		"lower_resolution":   step.Paste("text", "Lower the window's size, MSAA samples (each multiplies the targets) and texture sizes; compress textures (BC7, ASTC)."),
		"detach_accumulated": step.Paste("text", "Create buffers and textures once and write into them (`queue.write_buffer`). What is made again in each frame is freed only after `device.poll`."),
	},
	Cards: wgpuCards,
}

// Ryujinx is the emulator; others of its kind have the same settings.
var Ryujinx = program.Program{
	Name: "ryujinx", Shown: "Ryujinx", Work: "rendering", Edits: "flags", Language: "csharp", Like: []*program.Program{&scene},
	Proofs:   []string{"Ryujinx.Graphics", "Ryujinx.HLE", "Ryujinx_", "Ryujinx."},
	Titles:   map[string]string{"lower_resolution": "Use native resolution, no texture mods", "lowvram_mode": "Turn texture recompression on"},
	Costs:    map[string]string{"lower_resolution": "Sharpness.", "lowvram_mode": "Slightly softer textures."},
	Remedies: cures(cause.InOrder("lower_resolution", "lowvram_mode", "restart_session", "close_other_apps", "bigger_gpu"), cause.InOrder("close_other_apps", "raise_pagefile")),
	Steps: steps{
		"lower_resolution": step.Paste("ui", "Options, Settings, Graphics: Resolution Scale Native (1x), Anisotropic Filtering Auto, and remove resolution or texture mods of the game"),
		"lowvram_mode":     step.Paste("ui", "Options, Settings, Graphics: Enable Texture Recompression (it helps cards with 4 GB or less)"),
		"restart_session":  step.Paste("text", "Restart the emulator every hour or so: textures of scenes that you left stay in GPU memory until a game drops them."),
	},
	Cards: ryujinxCards,
}

// FFmpeg is FFmpeg with NVENC.
var FFmpeg = program.Program{
	Name: "ffmpeg", Shown: "FFmpeg", Work: "rendering", Edits: "flags", Language: "cpp",
	Proofs:   []string{"_nvenc @", "OpenEncodeSessionEx failed", "_cuvid @"},
	Titles:   map[string]string{"lower_parallel": "Run fewer encodes at a time", "lower_resolution": "Scale the video down", "cpu_offload": "Encode on the CPU"},
	Costs:    map[string]string{"lower_parallel": "They wait for each other.", "cpu_offload": "Processor time."},
	Remedies: cures(cause.InOrder("lower_parallel", "cpu_offload", "lower_resolution", "upgrade_version"), cause.InOrder("lower_parallel", "add_swap")),
	Steps: steps{
		"lower_parallel":   step.Paste("text", "End other encodes (OBS, Plex, a stream, an ffmpeg that hangs), or let jobs wait for each other. GeForce drivers allow a fixed number of NVENC sessions per machine: 3 for years, more in newer drivers."),
		"cpu_offload":      step.Paste("text", "Use `-c:v libx264` instead of `-c:v h264_nvenc` for one of the jobs."),
		"lower_resolution": step.Paste("text", "Scale down before the encoder (`-vf scale=-2:1080`), and lower `-surfaces` and `-bf` if you set them."),
		"upgrade_version":  step.Paste("text", "Update the NVIDIA driver: newer ones allow more sessions."),
	},
	Cards: ffmpegCards,
}
