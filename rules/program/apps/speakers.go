package apps

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
)

// spoken is what newer programs share that read a text aloud by a language
// model: its weights, and the cache of what was spoken so far.
func spoken(name string) cause.Card {
	return cause.Card{
		ID: name + "/work", Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return c.In(name) && !c.Training() && c.Phase != "load" }, Unsaid: []string{"in __init__", "in load_state_dict", "in load_checkpoint", "setup_caches", "in from_pretrained"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]]",
		Means:    "Memory grows with the length of the text that is spoken at once, and with the length of the reference recording. A second worker or window of the same program loads the model again.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use shorter text and a shorter reference", Told: "Use one or two sentences at a time, a reference of 5 to 15 seconds, batch size 1, and one request at a time.", Cost: "Several parts to join."},
			kit.LookAtCard,
			hasHalf(name),
		},
		Sources: []string{"https://github.com/fishaudio/fish-speech/blob/main/docs/en/inference.md", "https://github.com/index-tts/index-tts/blob/main/README.md"},
	}
}

// unloaded is what they share where the model itself found no room.
func unloaded(name string) cause.Card {
	half := hasHalf(name)
	k := cause.Card{
		ID: name + "/load", Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return c.In(name) && !c.Training() }, Said: []string{"in __init__", "in load_state_dict", "in load_checkpoint", "in from_pretrained"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while it loaded its models[[ ({total})]]",
		Means:    "It failed while models went to the card, before any text was spoken. There are usually several: a language model, one for the sound, often one for the voice.",
		Not:      "Shorter text or a shorter reference: loading the models failed.",
		Cures: []cause.Cure{
			kit.LookAtCard, half,
			{Fix: "cpu_offload", Title: "Use a smaller checkpoint, or the CPU", Told: "Take a smaller checkpoint of the same family, if there is one. Otherwise set `device` to cpu.", Cost: "Many times slower on the CPU."},
		},
		Sources: []string{"https://github.com/index-tts/index-tts/blob/main/README.md"},
	}
	if name == "index-tts" || name == "cosyvoice" {
		k.Cures[0], k.Cures[1] = k.Cures[1], k.Cures[0] // 32 bit by default
	}
	return k
}

// hasHalf is 16 bit, or a smaller model of what runs at 16 bit by itself.
func hasHalf(name string) cause.Cure {
	if name == "vibevoice" {
		return cause.Cure{Fix: "use_smaller_model", Title: "Use the smaller model", Kind: "config", Text: "--model_path microsoft/VibeVoice-1.5B", Cost: "Some quality."}
	}
	return cause.Cure{Fix: "half_precision", Title: "Run it at 16 bit", If: kit.Unlike("fp16", ""), Told: in16(name), Cost: "Hardly any loss of quality."}
}

// in16 is how a program runs at 16 bit: IndexTTS2 and CosyVoice take 32 by
// default.
func in16(name string) string {
	switch name {
	case "index-tts":
		return "In code: `IndexTTS2(..., use_fp16=True)` (off by default). For webui.py: `--fp16`, if `python webui.py -h` lists it."
	case "cosyvoice":
		return "Pass `fp16=True` (off by default): `AutoModel(model_dir=..., fp16=True)` or `CosyVoice2(model_dir, fp16=True)`."
	}
	return "Use its switch, if it has one (`--half`, `--fp16`). The log does not show the present precision."
}

// spokenOptions are visible, and what single ones of them have.
var spokenOptions = program.Sources{"cuda-c-programming-guide/environment-variables": "CUDA_VISIBLE_DEVICES", "VibeVoice/demo/inference_from_file.py": "--model_path"}

// speaker is one of them.
func speaker(name, shown string, proofs ...string) program.Program {
	return program.Program{
		Name: name, Shown: shown, Work: "audio", Edits: "flags", Language: "python",
		Proofs: proofs, Like: []*program.Program{&Voices}, Sources: spokenOptions, Cards: kit.Cards(spoken(name), unloaded(name)),
	}
}

// trained is one of them in training.
func trained(name, means, not, source string, cures ...cause.Cure) cause.Card {
	k := kit.Phase(name+"/train", "ran out of GPU memory[[ ({total})]] in training", means, not, source, (*ledger.Case).Training, cures)
	return k
}

// learns adds what is known of its training.
func learns(p program.Program, k cause.Card) program.Program {
	p.Cards = append(kit.Cards(k), p.Cards...)
	return p
}

// FishSpeech makes its whole cache before it reads the text.
var FishSpeech = program.Program{
	Name: "fish-speech", Shown: "Fish Speech", Work: "audio", Edits: "flags", Language: "python",
	Proofs: []string{"fish_speech/", "fish_speech.models", "tools/api_server.py --llama-checkpoint-path"},
	Like:   []*program.Program{&Voices},
	Cards: kit.Cards(trained("fish-speech", "A batch holds `data.batch_size` samples of up to `max_length` tokens (4,096), and memory grows with both. Without LoRA all weights, their gradients and the optimizer's values are on the card too.", "`--half`: it is for speaking.", "fish-speech/fish_speech/configs/text2semantic_finetune.yaml",
		cause.Cure{Fix: "lower_batch_size", Title: "Lower `data.batch_size`", Told: "Add to your command, with twice the accumulation:", Steps: kit.HalfBatch("config", "data.batch_size=%d", 2), Cost: "Slower."},
		cause.Cure{Fix: "lower_context", Title: "Shorten the samples (`max_length`)", Kind: "config", Text: "max_length=2048", Cost: "Longer samples are cut."},
		cause.Cure{Fix: "use_lora", Title: "Train a LoRA", If: func(c *ledger.Case) bool { return !c.Near("lora_config=") }, Kind: "config", Text: "+lora@model.model.lora_config=r_8_alpha_16", Cost: "Usually as good."}),
		cause.Card{
			ID: "fish-speech/cache", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError}, Said: []string{"setup_caches", "launch_thread_safe_queue", "init_model", "lora_config="}, If: func(c *ledger.Case) bool { return !c.Training() },
			Cause: cause.ContextTooLong, Weight: cause.Strong,
			Headline: "ran out of GPU memory while it loaded its model and KV cache",
			Means:    "After the weights, Fish Speech reserves a KV cache for the whole `max_seq_len` in the model's config.json, however short your text is. With S2-Pro that is 32,768 tokens: about 4.5 GB beside 8.5 GB of weights.",
			Not:      "Shorter text or a smaller `--max-new-tokens`: the cache does not depend on them.",
			Cures: []cause.Cure{
				{Fix: "lower_context", Title: "Lower `max_seq_len`", Told: "In config.json in the checkpoint's folder, under `text_config`, set:", Kind: "config", Text: "\"max_seq_len\": 4096", Cost: "Very long texts must be split."},
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/fishaudio/fish-speech/pull/1306", "https://github.com/fishaudio/fish-speech/blob/main/fish_speech/models/text2semantic/inference.py"}, Solved: 1,
		}),
	Sources: program.Sources{"fish-speech/fish_speech/models/text2semantic/inference.py": "--half --max-new-tokens"},
}

// ACEStep makes songs.
var ACEStep = program.Program{
	Name: "ace-step", Shown: "ACE-Step", Work: "audio", Edits: "flags", Language: "python",
	Proofs: []string{"acestep/", "ace-step/", "ACE-Step"},
	Like:   []*program.Program{&Voices},
	Cards: kit.Cards(trained("ace-step", "The whole 3.5B model is on the card, with the decoder and the text encoder. Gradient checkpointing is on by itself. By default version 1 computes at 32 bit (`--precision 32`). Memory grows with the length of the songs.", "A smaller LoRA rank: adapters are small beside the model.", "ACE-Step/trainer.py",
		kit.Only(kit.Unlike("precision", "bf16-mixed"), cause.Cure{Fix: "mixed_precision", Title: "Train in bf16", Kind: "config", Text: "--precision bf16-mixed", Cost: "Hardly any loss of quality; from RTX 30 on."}),
		cause.Cure{Fix: "lower_resolution", Title: "Use shorter songs in the dataset", Told: "Cut them to 60 seconds and make the dataset again.", Cost: "Shorter context in training."},
		kit.LookAtCard),
		cause.Card{
			ID: "ace-step/song", Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return c.In("ace-step") && !c.Training() }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]]",
			Means:    "A language model, the diffusion model (2B about 4.7 GB, XL about 9) and a decoder share the card. Song length and batch size come on top. For 1.5 the project recommends: up to 6 GB offload, INT8 and no language model; 6 to 12 GB the 0.6B one; 12 to 24 GB the 1.7B one.",
			Not:      "Fewer steps: they cost time, not memory.",
			Cures: []cause.Cure{
				{Fix: "cpu_offload", Title: "Turn on CPU offload and INT8", Ways: []cause.Way{
					{For: "Version 1.5", Text: "in the page tick Offload to CPU (also for DiT) and INT8. Choose a smaller language model or none, and batch size 1"},
					{For: "Version 1", Text: "add `--cpu_offload true --overlapped_decode true` to `acestep`"},
				}, Cost: "Slower."},
				{Fix: "lower_resolution", Title: "Make a shorter song, one at a time", Told: "Set half the duration and batch size 1.", Cost: "A shorter song."},
				kit.LookAtCard,
			},
			Sources: []string{"https://github.com/ace-step/ACE-Step-1.5/blob/main/docs/en/GPU_COMPATIBILITY.md", "https://github.com/ace-step/ACE-Step/blob/main/README.md"},
		}),
	Sources: program.Sources{"ACE-Step/README.md": "--cpu_offload --overlapped_decode", "ACE-Step/trainer.py": "--precision"},
}

// Programs of which no more is known than what they share.
var (
	CosyVoice = learns(speaker("cosyvoice", "CosyVoice", "cosyvoice/"), trained("cosyvoice", "A batch is filled up to `max_frames_in_batch` frames (2,000 or 2,500 in the configs), and a sample longer than that goes in alone. Memory grows with it.", "Shorter text: that is for speaking.", "CosyVoice/examples/libritts/cosyvoice2/conf/cosyvoice2.yaml",
		cause.Cure{Fix: "lower_batch_size", Title: "Halve `max_frames_in_batch`", Kind: "config", Text: "# conf/cosyvoice2.yaml (or yours)\nmax_frames_in_batch: 1000\naccum_grad: 4", Cost: "Slower."},
		cause.Cure{Fix: "lower_resolution", Title: "Leave out long recordings", Kind: "config", Text: "# conf/cosyvoice2.yaml, under filter: frames of 10 ms (40960)\nmax_length: 1500", Cost: "What is longer is not learned."},
		kit.Only(kit.Unlike("use_amp", ""), cause.Cure{Fix: "mixed_precision", Title: "Turn on mixed precision", Kind: "config", Text: "--use_amp", Cost: "Hardly any loss of quality."})))
	IndexTTS   = speaker("index-tts", "IndexTTS", "indextts/")
	ChatTTS    = speaker("chattts", "ChatTTS", "ChatTTS/")
	VibeVoice  = speaker("vibevoice", "VibeVoice", "vibevoice/")
	Chatterbox = speaker("chatterbox", "Chatterbox", "-packages/chatterbox/", "chatterbox/tts.py", "chatterbox/models/")
	Zonos      = speaker("zonos", "Zonos", "zonos/model.py", "zonos/backbone", "-packages/zonos/")
)
