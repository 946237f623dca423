package fact

// ForgeLoad is Forge's memory manager, whose line of figures the error text
// follows (backend/memory_management.py, 2024-09 and later).
const ForgeLoad Kind = "forge_load"

// What ComfyUI says about memory; the allocator's own messages are PyTorch's.
const (
	// ComfyUnload is ComfyUI after an OOM, dropping its models (execution.py,
	// 2024-08 and later).
	ComfyUnload Kind = "comfy_unload"
	// ComfyTips is the text of the pop-up (2025 and later); it has no figures.
	ComfyTips Kind = "comfy_tips"
	// ComfyVAE is a VAE that did not fit and is tried again in tiles (comfy/sd.py).
	ComfyVAE Kind = "comfy_vae"
	// ComfySlices is split attention out of memory, tried again in smaller slices
	// (comfy/ldm/modules/attention.py, Forge's backend/attention.py).
	ComfySlices Kind = "comfy_slices"
	// HostBuffer is ComfyUI's dynamic VRAM out of pinned system memory (2026).
	HostBuffer Kind = "host_buffer"
)

// InvokeRefused is InvokeAI's model cache giving up before it asks for memory
// (invokeai/backend/model_manager/load/model_cache).
const InvokeRefused Kind = "invoke_refused"

// ExLlamaSplit is the loader of ExLlamaV2 and V3 saying that weights and cache
// together do not fit the cards, without figures (exllamav2/model.py
// load_autosplit, exllamav3/model/model.py).
const ExLlamaSplit Kind = "exllama_split"

// What text-generation-webui (oobabooga) says itself; what its loaders say is
// in the files of those programs.
const (
	// SilentDeath is the Windows start script saying that the server ended,
	// right after a model began to load and without any message: the page file
	// was too small in nearly every case (start_windows.bat, 2023).
	SilentDeath Kind = "silent_death"
	// ServerKilled is llama-server under the webui ended by signal 9
	// (modules/llama_cpp_server.py, 2025-04 and later).
	ServerKilled Kind = "server_killed"
	// ServerExit is llama-server ended otherwise: the reason is in its own
	// lines above.
	ServerExit Kind = "server_exit"
)
