package fix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// ofWork make what is computed at a time smaller.
var ofWork = []Fix{
	{
		ID:       "quantize_kv_cache",
		Title:    "Store the KV cache in 8 bit",
		Tradeoff: "Hardly any quality in 8 bit, some in 4 bit; a little speed.",
		Cost:     cheap,
		Check:    "The log shows a smaller KV cache, and the same prompt runs through.",
		Next:     "Shorten the context.",
		Needs:    Needs{works: []string{"text-inference"}},
		Told:     "Store the KV cache in 8 bit, if your program has a setting for it.",
	},
	{
		ID:       "efficient_attention",
		Title:    "Use memory-efficient attention",
		Tradeoff: "None; usually faster.",
		Cost:     cheap,
		Check:    "If it fails again, it asks for far less memory at once.",
		Next:     "Lower the resolution or the length.",
		Needs:    Needs{notFor: []string{"rendering", "build", "data", "graph"}},
		Told:     "Choose a memory-efficient attention (SDPA, flash or xformers) in your program's settings.",
	},
	{
		ID:       "vae_tiling",
		Title:    "Decode the image in tiles",
		Tradeoff: "A little time; faint seams are possible.",
		Cost:     cheap,
		Check:    "The image is finished; the peak after the last sampling step is lower.",
		Next:     "A smaller tile, the VAE in 16 bit, or the VAE on the CPU.",
		Needs:    Needs{works: []string{"image-generation", "video-generation"}, branch: "Images or video", told: "decode the latent in tiles."},
		Told:     "Decode the image in tiles, if your program has a setting for it.",
	},
	{
		ID:       "lower_ubatch",
		Title:    "Lower the physical batch (-ub)",
		Tradeoff: "Long prompts are processed more slowly; answers come as fast.",
		Cost:     cheap,
		Check:    "The log's `compute buffer size` is smaller.",
		Next:     "Flash attention, then a shorter context.",
		Needs:    Needs{works: []string{"text-inference"}, own: true},
		Told:     "Lower the batch size for prompts in your program's settings: try 128, then more.",
	},
	{
		ID:       "lower_parallel",
		Title:    "Serve fewer requests at once",
		Tradeoff: "Requests wait for each other.",
		Cost:     moderate,
		Check:    "The log's KV cache is smaller by the same factor.",
		Next:     "Shorten the context.",
		Needs:    Needs{works: []string{"text-inference"}, own: true},
		Told:     "Serve one request at a time.",
	},
	{
		ID:       "lower_max_num_seqs",
		Title:    "Lower the number of concurrent sequences",
		Tradeoff: "Fewer parallel requests; a single one is as fast.",
		Cost:     cheap,
		Check:    "It starts: warm-up and profiling run through.",
		Next:     "Fewer batched tokens, or less GPU memory for the server.",
		Needs:    Needs{works: []string{"text-inference"}, own: true},
		Told:     "Allow fewer requests at the same time in your program's settings.",
	},
	{
		ID:       "lower_max_batched_tokens",
		Title:    "Lower the number of batched tokens",
		Tradeoff: "Long prompts take longer to their first token.",
		Cost:     cheap,
		Check:    "The startup log shows a smaller activation peak, and a larger KV cache.",
		Next:     "Fewer sequences, a shorter context.",
		Needs:    Needs{works: []string{"text-inference", "embedding"}, own: true},
		Told:     "Allow fewer tokens in one batch in your program's settings.",
	},
	{
		ID:       "chunked_prefill",
		Title:    "Turn on chunked prefill",
		Tradeoff: "Little: long prompts take slightly longer.",
		Cost:     cheap,
		Check:    "The startup log says that chunked prefill is enabled.",
		Next:     "Fewer batched tokens.",
		Needs:    Needs{works: []string{"text-inference"}, own: true},
		Told:     "Process long prompts in chunks, if your program has a setting for it.",
	},
	{
		ID:       "enforce_eager",
		Title:    "Run without CUDA graphs",
		Tradeoff: "10 to 30 % slower on small models, less on large ones.",
		Cost:     moderate,
		Check:    "The startup log no longer prints `Capturing CUDA graphs`.",
		Next:     "Less GPU memory for the server.",
		Needs:    Needs{own: true},
		Told:     "Run without CUDA graphs, if your program has a setting for it.",
	},
	{
		ID:       "fix_shape",
		Title:    "Print the tensor shapes",
		Tradeoff: "Some time.",
		Cost:     moderate,
		Check:    "The printed shapes are as you expect.",
		Next:     "If every shape is as intended, the algorithm needs the square of the input: use one that works in blocks.",
		Told:     "Print the shapes just before the failing line and look for the size that is wrong.",
		Steps: step.Paste("python", `for name, value in list(locals().items()):
    if hasattr(value, "shape"):
        print(name, tuple(value.shape), value.dtype)`),
	},
	{
		ID:       "enable_flash_attention",
		Title:    "Turn flash attention on",
		Tradeoff: "None; usually faster.",
		Cost:     free,
		Check:    "The log says `flash_attn = 1` (llama.cpp), or the same input needs less: `torch.cuda.max_memory_allocated()`.",
		Next:     "Shorten the context or lower the batch.",
		Needs:    Needs{works: generated},
		Told:     "Turn it on in your program's settings, if it has flash attention.",
		Useless: func(c *ledger.Case) string {
			s, ok := c.Setting("flash_attn", "flash_attention", "fa")
			if ok && !s.Default && slices.Contains([]string{"on", "1", "true", "enabled"}, strings.ToLower(s.Value)) {
				return fmt.Sprintf("It is on already (line %d).", s.Line)
			}
			return ""
		},
	},
}

var streamDataset = Fix{
	ID:       "stream_dataset",
	Title:    "Stream the data instead of loading all of it",
	Tradeoff: "Some rewriting; the data is shuffled less thoroughly.",
	Cost:     moderate,
	Check:    CheckRAM,
	Next:     "Fewer workers; a smaller prefetch.",
	Told:     "Read the data in chunks instead of all at once.",
	Steps:    step.Stream,
	Why: func(c *ledger.Case) string {
		if !ledger.GrowsList(c) {
			return ""
		}
		return fmt.Sprintf("The failing line adds to a list (line %d). If the list grows as long as the program runs, no amount of memory is enough: swap or a higher limit only delays the crash.", ledger.FailedAt(c, "appends").Line)
	},
}
