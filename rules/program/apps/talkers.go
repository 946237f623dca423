package apps

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// ownModel is a failure of what the program itself holds, in whatever phase.
func ownModel(id, headline, means, source string, cures ...cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return !ledger.Roomy(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: headline, Means: means, Cures: cures, Sources: []string{source},
	}
}

// untilUse is one step in use, another in training and where the log leaves that
// open.
func untilUse(training, use step.Step) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		if c.Phase == "inference" {
			return []step.Step{use}
		}
		return []step.Step{training}
	}
}

// Programs that speak, sing and change voices.
var (
	// AIVoiceCloning is a web page over Tortoise, RVC and Whisper.
	AIVoiceCloning = program.Program{
		Name: "ai-voice-cloning", Shown: "AI Voice Cloning", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"ai-voice-cloning"},
		Sources: program.Sources{"ai-voice-cloning/src/utils.py": "--low-vram --sample-batch-size --device-override"},
		Steps: kit.Steps{
			"lowvram_mode":      kit.Words("In Settings tick Low VRAM, then restart the program."),
			"lower_batch_size":  kit.ByPhase(step.Step{Kind: "text", Text: "Generate Configuration: halve Batch Size and double Gradient Accumulation Size."}, step.Step{Kind: "text", Text: "In Settings set Sample Batch Size to 1."}),
			"use_smaller_model": kit.Words("Prepare Dataset uses Whisper. In Settings set Whisper Model to small or base instead of large."),
			"lower_resolution":  kit.Words("Use shorter lines of text and shorter clips of the voice."),
			"cpu_offload":       kit.Words("In Settings set Device Override to `cpu`, then restart the program."),
		},
		Titles: map[string]string{"use_smaller_model": "Use a smaller Whisper model for preparing data", "lower_batch_size": "Lower the batch size"},
		Like:   []*program.Program{&Voices},
		Cards: kit.Cards(
			workspace("ai-voice-cloning/workspace", cause.Cure{Fix: "restart_session", Title: "Turn DeepSpeed off", Told: "In Settings untick \"Use DeepSpeed for Speed Bump\", then restart the program.", Cost: "Slower."}, cause.Cure{Fix: "lower_batch_size", Title: "Or make fewer candidates at once"}),
			kit.Learning("ai-voice-cloning", "Training keeps the speech model, its optimizer and a whole batch of clips on the card. Memory grows with the batch size and the longest clip.", "Low VRAM in Settings: it only affects generating.", "ai-voice-cloning/src/webui.py", "lower_batch_size", "lower_resolution", "close_other_apps"),
			cause.Card{
				ID: "ai-voice-cloning/models", Kinds: kit.OnCard, Unsaid: []string{"Workspace can't be allocated"}, If: func(c *ledger.Case) bool { return !c.Training() && !ledger.Roomy(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
				Headline: "ran out of GPU memory[[ ({total})]] with its voice models", Means: "Tortoise consists of several models, and the program keeps all of them loaded; after Prepare Dataset also Whisper. With Low VRAM only the model in use is on the card.",
				Cures: kit.Fixes("lowvram_mode", "use_smaller_model", "close_other_apps"), Sources: []string{"ai-voice-cloning/src/utils.py"},
			},
		),
	}
	// VoiceStudio is a desktop app with a server of its own.
	VoiceStudio = program.Program{
		Name: "voicestudio", Shown: "VoiceStudio", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"VoiceStudio/", "OmniVoice-Studio", "omnivoice_data/", "Compute device:"},
		Beside:  map[string][]string{"Compute device:": {"gpu:"}},
		Sources: program.Sources{"VoiceStudio/backend/core/device_caps.py": "OMNIVOICE_DEVICE"},
		Steps: kit.Steps{
			"cpu_offload":       kit.Words("In Settings, Performance set Compute device to CPU (or set the variable `OMNIVOICE_DEVICE=cpu`). Then restart the program."),
			"use_smaller_model": kit.Words("Choose a smaller voice engine. Its readme asks for at least 4 GB, and 8 GB for the default engine."),
			"restart_session":   kit.Words("Close it and check in Task Manager that its Python process is gone. Then start it again."),
		},
		Titles: map[string]string{"restart_session": "Restart it", "close_other_apps": "Close what else uses the card"},
		Like:   []*program.Program{&Voices},
		Cards: kit.Cards(ownModel("voicestudio/models", "ran out of GPU memory", "Speech recognition, translation and the voice engine take turns on the card. Its readme asks for at least 4 GB, and 8 GB for the default workflow.",
			"VoiceStudio/README.md", kit.Fixes("restart_session", "close_other_apps", "use_smaller_model", "cpu_offload")...)),
	}
	// AllTalk is a server for XTTS.
	AllTalk = program.Program{
		Name: "alltalk", Shown: "AllTalk TTS", Work: "audio", Edits: "flags", Language: "python", Carries: []string{"coqui-tts"},
		Proofs:  []string{"alltalk_tts/", "[AllTalk "},
		Sources: program.Sources{"alltalk_tts/confignew.json": "low_vram"},
		Steps: kit.Steps{
			"lowvram_mode": kit.Words("Tick Low VRAM in its settings. The voice model then stays in RAM between two texts, so that a language model can use the card."),
			"cpu_offload":  kit.NoCard,
		},
		Costs: map[string]string{"lowvram_mode": "One or two seconds for each text."},
		Like:  []*program.Program{&Voices},
		Cards: kit.Cards(
			kit.Learning("alltalk", "Finetuning XTTS keeps the model, its optimizer and a batch of clips on the card. Long clips need most.", "Low VRAM: it only affects speaking.", "alltalk_tts/finetune.py", "lower_batch_size", "lower_resolution", "close_other_apps"),
			cause.Card{
				ID: "alltalk/beside", Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return !c.Training() && !ledger.Roomy(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
				Headline: "ran out of GPU memory[[ ({total})]] for its voice model", Means: "XTTS needs 3 to 4 GB. If a language model takes the rest of the card, that model must be smaller, or the two must take turns.",
				Cures: []cause.Cure{
					{Fix: "lowvram_mode", Title: "Turn on Low VRAM"},
					{Fix: "use_smaller_model", If: when.Not(ledger.FillsAlone), Title: "Let the language model use 4 GB less", Told: "In its program set fewer layers on the card, a shorter context or a smaller quant."},
					{Fix: "use_smaller_model", If: ledger.FillsAlone, Title: "If it runs inside text-generation-webui: let its language model use 4 GB less", Told: "In the Model tab set fewer layers on the card, a shorter context or a smaller quant."},
					{Fix: "cpu_offload", Title: "Run the voice on the CPU"},
				}, Sources: []string{"alltalk_tts/README.md"},
			},
		),
	}
	// Ebook2Audiobook reads books.
	Ebook2Audiobook = program.Program{
		Name: "ebook2audiobook", Shown: "ebook2audiobook", Work: "audio", Edits: "flags", Language: "python", Carries: []string{"coqui-tts", "bark", "tortoise"},
		Proofs:  []string{"ebook2audiobook"},
		Sources: program.Sources{"ebook2audiobook/README.md": "--device --tts_engine"},
		Steps: kit.Steps{
			"cpu_offload":       kit.Words("Add `--device CPU`, or choose CPU on its page."),
			"use_smaller_model": kit.Words("Use `--tts_engine VITS` or `FAIRSEQ` (1 to 2 GB) instead of XTTS or BARK."),
		},
		Titles: map[string]string{"use_smaller_model": "Choose a lighter engine"}, Costs: map[string]string{"use_smaller_model": "Plainer voices; no cloning."},
		Like:  []*program.Program{&Voices},
		Cards: kit.Cards(ownModel("ebook2audiobook/engine", "ran out of GPU memory[[ ({total})]] in its voice engine", "The book is read sentence by sentence, so its length does not matter. The engine does: by the program's own table XTTS needs 4 GB and Bark 6.", "ebook2audiobook/lib/conf_models.py", kit.Fixes("close_other_apps", "use_smaller_model", "cpu_offload")...)),
	}
	// SeedVC converts voices.
	SeedVC = program.Program{
		Name: "seed-vc", Shown: "Seed-VC", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"seed-vc/", "seed_vc_wrapper.py", "seed_vc"},
		Sources: program.Sources{"seed-vc/app.py": "--enable-v1 --enable-v2", "seed-vc/app_vc.py": "--fp16", "seed-vc/train.py": "--batch-size"},
		Steps: kit.Steps{
			"lower_batch_size":  kit.ByPhase(step.Step{Kind: "text", Text: "Add `--batch-size 1` to your train.py command (default 2)."}, step.Step{Kind: "text", Text: "Convert one recording at a time, with a reference of 10 to 20 seconds."}),
			"lower_resolution":  kit.ByPhase(step.Step{Kind: "text", Text: "Cut the recordings into 1 to 30 seconds, as its readme asks."}, step.Step{Kind: "text", Text: "Use a shorter reference: up to 30 seconds of it are processed with each section of the source."}),
			"use_smaller_model": kit.Words("Start app.py with only one of `--enable-v1` and `--enable-v2`."),
		},
		Titles: map[string]string{"use_smaller_model": "Load one set of models"}, Costs: map[string]string{"use_smaller_model": "One version at a time."},
		Like: []*program.Program{&Voices},
		Cards: kit.Cards(
			kit.Learning("seed-vc", "Every recording in a batch needs as much memory as the longest one. Whisper and the other encoders stay on the card too.", "", "seed-vc/README.md", "lower_batch_size", "lower_resolution", "close_other_apps"),
			kit.Working("seed-vc", "while it converted", "Whisper, the converter and a vocoder share the card. With both `--enable-v1` and `--enable-v2` two sets of models are loaded.", "", "seed-vc/README.md", "use_smaller_model", "lower_resolution", "close_other_apps"),
		),
	}
	// YuE makes songs.
	YuE = program.Program{
		Name: "yue", Shown: "YuE", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"YuE/inference/", "m-a-p/YuE-", "xcodec_mini_infer/"},
		Sources: program.Sources{"YuE/inference/infer.py": "--run_n_segments --stage2_batch_size --max_new_tokens"},
		Steps: kit.Steps{
			"lower_context":          step.Paste("config", "--run_n_segments 1"),
			"lower_batch_size":       step.Paste("config", "--stage2_batch_size 1"),
			"enable_flash_attention": kit.Words("Install flash-attn: its readme calls it mandatory, without it long audio does not fit."),
		},
		Titles: map[string]string{"lower_context": "Make fewer sections of the song in one run", "lower_batch_size": "Lower the batch of stage 2"}, Useless: clues.Useless(clues.Below(15), "the weights of stage 1 alone do not fit", "lower_context", "lower_batch_size"), Costs: map[string]string{"lower_context": "A shorter song.", "lower_batch_size": "Slower."},
		Like:  []*program.Program{&Voices},
		Cards: kit.Cards(kit.LooksFor(kit.Bound(kit.Bound(ownModel("yue/song", "ran out of GPU memory[[ ({total})]] while it made the song", "Stage 1 is a 7B model (14 GB at 16 bit); its context grows with every section of the lyrics. Stage 2 is a 1B model that works on several parts at once.", "YuE/README.md", append([]cause.Cure{{Fix: "use_lower_quant", If: when.Any(clues.Below(15), func(c *ledger.Case) bool { return c.Near("--run_n_segments 1 ") }), Title: "Use a quantised version (such as YuEGP), or a GPU with 24 GB", Told: "Stage 1 alone needs 14 GB at 16 bit. The readme recommends 24 GB for two sections, and 80 GB for a whole song.", Cost: "Another program, or money."}}, kit.Fixes("lower_context", "lower_batch_size", "close_other_apps")...)...), "lower_context", kit.Without("--run_n_segments 1 ")), "lower_batch_size", kit.Without("--stage2_batch_size 1 ")), "YuE/inference/", "m-a-p/YuE-", "xcodec_mini_infer/", "--run_n_segments 1 ", "--stage2_batch_size 1 ")),
	}
	// DiffRhythm makes songs in one go.
	DiffRhythm = program.Program{
		Name: "diffrhythm", Shown: "DiffRhythm", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"DiffRhythm/", "ASLP-lab/DiffRhythm"},
		Sources: program.Sources{"DiffRhythm/infer/infer.py": "--chunked --audio-length"},
		Steps: kit.Steps{
			"vae_tiling":    step.Paste("config", "--chunked"),
			"lower_context": step.Paste("config", "--audio-length 95"),
		},
		Titles: map[string]string{"vae_tiling": "Decode in chunks (`--chunked`)", "lower_context": "Make a shorter song"}, Costs: map[string]string{"vae_tiling": "Hardly any time.", "lower_context": "A song of 95 seconds."},
		Like:  []*program.Program{&Voices},
		Cards: kit.Cards(kit.LooksFor(kit.Bound(kit.Bound(ownModel("diffrhythm/song", "ran out of GPU memory[[ ({total})]] while it made the song", "DiffRhythm makes the whole song at once. Decoding it into sound, if not in chunks, needs most memory.", "DiffRhythm/infer/infer.py", kit.Fixes("vae_tiling", "lower_context", "close_other_apps", "cpu_offload")...), "vae_tiling", kit.Without("--chunked")), "lower_context", kit.Without("--audio-length 95")), "DiffRhythm/", "ASLP-lab/DiffRhythm", "--chunked", "--audio-length 95")),
	}
	// MMAudio makes sound for videos.
	MMAudio = program.Program{
		Name: "mmaudio", Shown: "MMAudio", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"MMAudio/demo.py", "MMAudio/mmaudio/", "MMAudio/gradio_demo.py", "MMAudio/train.py"},
		Sources: program.Sources{"MMAudio/demo.py": "--variant --duration --full_precision"},
		Steps: kit.Steps{
			"half_precision":    kit.Words("Remove `--full_precision`; 16 bit is the default."),
			"use_smaller_model": step.Paste("config", "--variant small_16k"),
			"lower_context":     step.Paste("config", "--duration 8"),
		},
		Titles: map[string]string{"lower_context": "Use shorter clips"}, Costs: map[string]string{"lower_context": "Clips to join.", "use_smaller_model": "16 kHz sound."},
		Like:  []*program.Program{&Voices},
		Cards: kit.Cards(kit.Bound(kit.Working("mmaudio", "while it made sound", "By its readme MMAudio needs about 6 GB at 16 bit, for 8 seconds. So on a card with 8 GB or more another program usually uses part of it.", "", "MMAudio/README.md", "close_other_apps", "lower_context", "use_smaller_model", "cpu_offload"), "lower_context", func(c *ledger.Case) bool { return ledger.IntSetting(c, "duration") > 8 })),
	}
	// ZipVoice is k2's.
	ZipVoice = program.Program{
		Name: "zipvoice", Shown: "ZipVoice", Work: "audio", Edits: "flags", Language: "python",
		Proofs:  []string{"zipvoice/models/", "zipvoice/bin/", "zipvoice.bin."},
		Sources: program.Sources{"ZipVoice/zipvoice/bin/train_zipvoice.py": "--max-len --use-fp16", "ZipVoice/zipvoice/dataset/datamodule.py": "--max-duration", "ZipVoice/README.md": "--max-duration"},
		Steps: kit.Steps{
			"lower_context":    untilUse(step.Step{Kind: "text", Text: "In training set `--max-len 20` (seconds), and remove entries with very long text."}, step.Step{Kind: "text", Text: "Split the text at punctuation, and use a prompt of a few seconds."}),
			"lower_batch_size": kit.Words("Halve `--max-duration`, the seconds of sound in a batch (500 in the training recipes)."),
			"mixed_precision":  kit.Words("Add `--use-fp16 1`."),
		},
		Useless:  map[string]func(*ledger.Case) string{"efficient_attention": func(*ledger.Case) string { return "ZipVoice uses its own attention code" }},
		Remedies: map[string][]cause.Remedy{cause.ContextTooLong: cause.InOrder("lower_context", "lower_batch_size", "mixed_precision")},
		Titles:   map[string]string{"lower_context": "Leave out the longest samples (`--max-len`)", "lower_batch_size": "Lower `--max-duration`"}, Costs: map[string]string{"lower_context": "What is longer is not learned.", "lower_batch_size": "Slower."},
		Like: []*program.Program{&Voices},
		Cards: kit.Cards(cause.Card{
			ID: "zipvoice/batch", Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return !ledger.Crowded(c) && !ledger.Roomy(c) }, Cause: cause.ContextTooLong, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]]", Means: "A training batch has `--max-duration` seconds of sound, and every sample in it needs as much memory as the longest one. In attention a sample twice as long needs four times as much.",
			Cures: []cause.Cure{{Fix: "lower_context"}, {Fix: "lower_batch_size"}}, Sources: []string{"ZipVoice/zipvoice/models/modules/zipformer.py", "ZipVoice/egs/zipvoice/run_finetune.sh"},
		}),
	}
	// MozillaTTS is what Coqui's grew from: a config.json in place of recipes.
	MozillaTTS = program.Program{
		Name: "mozilla-tts", Shown: "Mozilla TTS", Work: "audio", Edits: "flags", Language: "python", TakenFor: []string{"coqui-tts"}, Carries: []string{"coqui-tts"},
		Proofs:  []string{"mozilla_voice_tts/", "bin/train_tacotron.py", "bin/train_tts.py", "bin/train_glow_tts.py", "bin/train_speedy_speech.py"},
		Sources: program.Sources{"TTS/TTS/tts/configs/config.json": "batch_size gradual_training max_seq_len eval_batch_size mixed_precision apex_amp_level"},
		Steps: kit.Steps{
			"lower_batch_size": step.Paste("config", "// config.json\n\"batch_size\": 16,   // or half of yours; gradual_training, if set, overrides it:\n\"gradual_training\": [[0, 7, 16], [10000, 5, 16], [50000, 3, 16], [130000, 2, 16], [290000, 1, 16]]"),
			"lower_context":    kit.Words("In config.json set a smaller `max_seq_len` (in letters, default 153), for example 100. Longer sentences are then left out."),
			"mixed_precision":  kit.Words("In config.json set `\"mixed_precision\": true` (versions of 2020: `\"apex_amp_level\": \"O1\"`)."),
		},
		Titles: map[string]string{"lower_context": "Leave out the longest sentences (`max_seq_len`)", "mixed_precision": "Train at 16 bit"}, Costs: map[string]string{"lower_context": "They are not learned.", "mixed_precision": "Usually none."},
		Like:  []*program.Program{&Voices},
		Cards: kit.Cards(kit.Learning("mozilla-tts", "Every clip in a batch needs as much memory as the longest one; \"avg_spec_length\" in the log is only the mean. `gradual_training` changes batch size and `r` during training, so it can fail later.", "", "TTS/TTS/tts/configs/config.json", "lower_batch_size", "lower_context", "mixed_precision")),
	}
)
