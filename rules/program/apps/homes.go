package apps

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/step"
)

// served are refusals by what services at home run networks on.
var served = slices.Concat(kit.OnCard, []fact.Kind{fact.ORTAlloc, fact.ORTLimit, fact.ORTDevice})

// Services that people run at home, in containers.
var (
	// Immich keeps photos; a container of its own has the networks.
	Immich = program.Program{
		Name: "immich", Shown: "Immich's machine learning", Work: "vision", Edits: "admin", Language: "python",
		Proofs:  []string{"immich_ml/", "immich_machine_learning", "immich-machine-learning", "immich-app/", "machine-learning/app/models/"},
		Units:   []string{"immich_machine_learning", "immich-machine-learning"},
		Sources: program.Sources{"immich/docs/docs/install/environment-variables.md": "MACHINE_LEARNING_WORKERS MACHINE_LEARNING_MODEL_TTL MACHINE_LEARNING_REQUEST_THREADS"},
		Steps: kit.Steps{
			"lower_parallel":    kit.Words("Administration, Settings, Job Settings: set concurrency 1 for Smart Search and Face Detection. In the container's environment set `MACHINE_LEARNING_WORKERS=1` (each worker loads all models) and `MACHINE_LEARNING_REQUEST_THREADS=1`."),
			"use_smaller_model": kit.Words("Administration, Settings, Machine Learning: choose the default CLIP model ViT-B-32__openai and the face model buffalo_s."),
			"cpu_offload":       kit.Words("In docker-compose.yml use the image tag without suffix (`-cuda`, `-openvino`) and remove `extends:` for the card."),
			"empty_cache":       kit.Words("In the container's environment set `MACHINE_LEARNING_MODEL_TTL=60`. Idle models are then unloaded after one minute (default 300 seconds)."),
		},
		Titles: map[string]string{"lower_parallel": "Run one job and one worker at a time", "use_smaller_model": "Choose smaller models", "cpu_offload": "Run it on the CPU", "empty_cache": "Unload idle models sooner"},
		Costs:  map[string]string{"lower_parallel": "A first scan takes longer.", "use_smaller_model": "Coarser search.", "cpu_offload": "Slower.", "empty_cache": "Loading again before the next job."},
		Cards: kit.Cards(
			cause.Card{
				ID: "immich/one-worker", Kinds: served, Said: []string{"MACHINE_LEARNING_WORKERS=1", "MACHINE_LEARNING_WORKERS: 1", "Loading visual model", "Loading textual model"}, If: func(c *ledger.Case) bool {
					return !ledger.Roomy(c) && c.Near("Loading visual model", "Loading textual model")
				}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
				Headline: "ran out of GPU memory while it loaded its search model", Means: "The CLIP model for smart search did not fit; large ones (SigLIP SO400M, ViT-H) take several GB. Face and text models may be loaded beside it. An integrated GPU uses the computer's RAM.",
				Cures: kit.Fixes("use_smaller_model", "close_other_apps", "cpu_offload", "lower_parallel"), Sources: []string{"immich/docs/docs/install/environment-variables.md"},
			},
			cause.Card{
				ID: "immich/models", Kinds: served, If: func(c *ledger.Case) bool { return !ledger.Roomy(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
				Headline: "ran out of GPU memory", Means: "Smart search, faces and text recognition use separate models, which stay loaded for some minutes, and several pictures are processed at once. An integrated GPU uses the computer's RAM.",
				Cures: kit.Fixes("lower_parallel", "use_smaller_model", "cpu_offload"), Sources: []string{"immich/docs/docs/install/environment-variables.md"},
			},
			kit.RamFilled("immich", "Each worker of the machine learning container loads all models and keeps them for `MACHINE_LEARNING_MODEL_TTL` seconds. The container may also have a memory limit below the machine's RAM.", "", "immich/docs/docs/install/environment-variables.md", "lower_parallel", "use_smaller_model", "empty_cache"),
		),
	}
	// Frigate watches cameras.
	Frigate = program.Program{
		Name: "frigate", Shown: "Frigate", Work: "vision", Edits: "admin", Language: "python",
		Proofs:  []string{"opt/frigate/", "frigate.embeddings", "frigate.detectors", "frigate.object_detection", "frigate.data_processing", "blakeblackshear/frigate"},
		Units:   []string{"frigate"},
		Sources: program.Sources{"frigate/docs/docs/configuration/semantic_search.md": "model_size", "frigate/docs/docs/configuration/face_recognition.md": "model_size", "frigate/docs/docs/frigate/installation.md": "shm_size"},
		Steps: kit.Steps{
			"use_smaller_model": kit.Words("In Frigate's config set `model_size: small` under semantic_search, face_recognition and lpr. The large models run on the card."),
			"lower_parallel":    kit.Words("Turn off semantic_search, face_recognition or lpr if you do not need them. Decode fewer cameras on the card (`hwaccel_args`). Lower `detect` resolution and fps."),
			"raise_shm_size":    kit.Words("In docker-compose.yml set `shm_size: \"512mb\"`; Frigate's docs have a calculator for your cameras."),
		},
		Titles: map[string]string{"use_smaller_model": "Use the small models of its enrichments", "lower_parallel": "Run fewer enrichments and cameras on the card"},
		Costs:  map[string]string{"use_smaller_model": "Slightly worse matches.", "lower_parallel": "What they did."},
		Cards: kit.Cards(
			cause.Card{
				ID: "frigate/card", Kinds: served, If: func(c *ledger.Case) bool { return !ledger.Roomy(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
				Headline: "ran out of GPU memory", Means: "Object detector, enrichments (search, faces, plates) and the decoding of each camera share the card. Often a media server or a language model uses it too.",
				Cures: kit.Fixes("use_smaller_model", "lower_parallel", "close_other_apps"), Sources: []string{"frigate/docs/docs/configuration/semantic_search.md"},
			},
			kit.RamFilled("frigate", "Frigate keeps decoded frames of all cameras in shared memory, and recordings in a tmpfs before they are written. Both count as RAM of the container, and so do the models of the enrichments.", "", "frigate/docs/docs/frigate/installation.md", "use_smaller_model", "lower_parallel", "raise_memory_limit"),
		),
	}
	// VoiceChanger is w-okada's, in real time.
	VoiceChanger = program.Program{
		Name: "voice-changer", Shown: "Voice Changer", Work: "audio", Edits: "flags", Language: "python", Carries: []string{"rvc", "so-vits-svc"},
		Proofs:  []string{"MMVCServerSIO", "voice_changer/RVC/", "voice_changer/VoiceChanger", "voice_changer/utils/"},
		Sources: program.Sources{"voice-changer/tutorials/tutorial_rvc_en_1_5_2_4.md": "Extra"},
		Steps: kit.Steps{
			"lower_resolution":  kit.Words("Set Extra to 16384 or less (4096 at least): this much earlier audio is converted again with each chunk. Then lower Chunk."),
			"use_smaller_model": kit.Words("Set F0 Det. to rmvpe_onnx or fcpe instead of crepe_full. Use no index file."),
			"cpu_offload":       kit.Words("Set GPU to cpu in its window."),
		},
		Titles: map[string]string{"lower_resolution": "Lower Extra and Chunk", "use_smaller_model": "Use a lighter pitch detector"}, Costs: map[string]string{"lower_resolution": "Less steady voice."},
		Like:  []*program.Program{&Voices},
		Cards: kit.Cards(kit.Working("voice-changer", "while it converted", "The voice model takes 1 to 2 GB, and memory grows with Chunk plus Extra. Beside a game the card is often already full.", "", "voice-changer/tutorials/tutorial_rvc_en_1_5_2_4.md", "close_other_apps", "lower_resolution", "use_smaller_model")),
	}
	// DotsOCR reads pages with a language model.
	DotsOCR = program.Program{
		Name: "dots.ocr", Shown: "dots.ocr", Work: "vision", Edits: "flags", Language: "python",
		Proofs:  []string{"dots_ocr/", "dots.ocr", "DotsOCR", "modeling_dots_vision"},
		Sources: program.Sources{"dots.ocr/dots_ocr/parser.py": "--num_thread --dpi --max_pixels", "dots.ocr/README.md": "flash_attention_2 --gpu-memory-utilization"},
		Steps: kit.Steps{
			"lower_resolution":       step.Paste("config", "--max_pixels 4000000"),
			"enable_flash_attention": kit.Words("Install flash-attn and load the model with `attn_implementation=\"flash_attention_2\"`. Without it the vision part needs far more memory for large pages."),
			"lower_parallel":         step.Paste("config", "--num_thread 8"),
		},
		Titles: map[string]string{"lower_parallel": "Send fewer pages at once"},
		Like:   []*program.Program{&Pages},
		Cards:  kit.Cards(kit.Bound(kit.Working("dots.ocr", "while it read pages", "The model itself takes about 6 GB at 16 bit. A page at 200 dpi has up to 11 million pixels, each 28 x 28 of which are one token; memory grows with the square of that unless flash attention is used.", "", "dots.ocr/dots_ocr/parser.py", "enable_flash_attention", "lower_resolution", "close_other_apps"), "enable_flash_attention", func(c *ledger.Case) bool { return !kit.Framed(c, "flash_attn") })),
	}
)
