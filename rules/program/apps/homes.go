package apps

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

// served are refusals by what services at home run networks on.
var served = slices.Concat(onCard, []fact.Kind{fact.ORTAlloc, fact.ORTLimit, fact.ORTDevice})

// Services that people run at home, in containers.
var (
	// Immich keeps photos; a container of its own has the networks.
	Immich = program.Program{
		Name: "immich", Shown: "Immich's machine learning", Work: "vision", Edits: "admin", Language: "python",
		Proofs:  []string{"immich_ml/", "immich_machine_learning", "immich-machine-learning", "immich-app/", "machine-learning/app/models/"},
		Units:   []string{"immich_machine_learning", "immich-machine-learning"},
		Sources: program.Sources{"immich/docs/docs/install/environment-variables.md": "MACHINE_LEARNING_WORKERS MACHINE_LEARNING_MODEL_TTL MACHINE_LEARNING_REQUEST_THREADS"},
		Steps: steps{
			"lower_parallel":    words("Administration, Settings, Job Settings: concurrency 1 for Smart Search and Face Detection. In the container's environment: `MACHINE_LEARNING_WORKERS=1` (each worker loads all models) and `MACHINE_LEARNING_REQUEST_THREADS=1`."),
			"use_smaller_model": words("Administration, Settings, Machine Learning: a smaller CLIP model (the default ViT-B-32__openai), face model buffalo_s."),
			"cpu_offload":       words("The image without the suffix (`-cuda`, `-openvino`), and no `extends:` for the card: it then computes on the CPU."),
			"empty_cache":       words("In the container's environment: `MACHINE_LEARNING_MODEL_TTL=60`: idle models are unloaded after a minute (300 seconds by default)."),
		},
		Titles: map[string]string{"lower_parallel": "One job and one worker at a time", "use_smaller_model": "Choose smaller models", "cpu_offload": "Compute on the CPU", "empty_cache": "Unload idle models sooner"},
		Costs:  map[string]string{"lower_parallel": "A first scan takes longer.", "use_smaller_model": "Coarser search.", "cpu_offload": "Slower.", "empty_cache": "Loading again before the next job."},
		Cards: cards(
			cause.Card{
				ID: "immich/models", Kinds: served, If: func(c *ledger.Case) bool { return !ledger.Roomy(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
				Headline: "ran out of graphics memory", Means: "Search, faces and text recognition have models of their own, which stay loaded for some minutes, and several pictures are worked on at once. An integrated GPU takes its memory from the RAM of the machine.",
				Cures: fixes("lower_parallel", "use_smaller_model", "cpu_offload"), Sources: []string{"immich/docs/docs/install/environment-variables.md"},
			},
			ramFilled("immich", "Each worker of the machine learning container loads all models, and keeps them for `MACHINE_LEARNING_MODEL_TTL` seconds. A limit of the container counts before the RAM of the machine.", "", "immich/docs/docs/install/environment-variables.md", "lower_parallel", "use_smaller_model", "empty_cache"),
		),
	}
	// Frigate watches cameras.
	Frigate = program.Program{
		Name: "frigate", Shown: "Frigate", Work: "vision", Edits: "admin", Language: "python",
		Proofs:  []string{"opt/frigate/", "frigate.embeddings", "frigate.detectors", "frigate.object_detection", "frigate.data_processing", "blakeblackshear/frigate"},
		Units:   []string{"frigate"},
		Sources: program.Sources{"frigate/docs/docs/configuration/semantic_search.md": "model_size", "frigate/docs/docs/configuration/face_recognition.md": "model_size", "frigate/docs/docs/frigate/installation.md": "shm_size"},
		Steps: steps{
			"use_smaller_model": words("In its config: `model_size: small` under semantic_search, face_recognition and lpr; the large ones run on the card."),
			"lower_parallel":    words("Switch off what you do not need of semantic_search, face_recognition, lpr; fewer cameras decoded on the card (`hwaccel_args`), a lower `detect` resolution and fps."),
			"raise_shm_size":    words("Compose: `shm_size: \"512mb\"`, by its calculator for your cameras."),
		},
		Titles: map[string]string{"use_smaller_model": "Use the small models of its enrichments", "lower_parallel": "Run fewer enrichments and cameras on the card"},
		Costs:  map[string]string{"use_smaller_model": "Slightly worse matches.", "lower_parallel": "What they did."},
		Cards: cards(
			cause.Card{
				ID: "frigate/card", Kinds: served, If: func(c *ledger.Case) bool { return !ledger.Roomy(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
				Headline: "ran out of graphics memory", Means: "Detector, enrichments (search, faces, plates) and the decoding of each camera share the card, often with a media server or a language model.",
				Cures: fixes("use_smaller_model", "lower_parallel", "close_other_apps"), Sources: []string{"frigate/docs/docs/configuration/semantic_search.md"},
			},
			ramFilled("frigate", "Frigate keeps decoded frames of all cameras in shared memory and recordings in a tmpfs before they are written; both count as RAM of the container. Enrichments load their models there as well.", "", "frigate/docs/docs/frigate/installation.md", "use_smaller_model", "lower_parallel", "raise_memory_limit"),
		),
	}
	// VoiceChanger is w-okada's, in real time.
	VoiceChanger = program.Program{
		Name: "voice-changer", Shown: "Voice Changer", Work: "audio", Edits: "flags", Language: "python", Carries: []string{"rvc", "so-vits-svc"},
		Proofs:  []string{"MMVCServerSIO", "voice_changer/RVC/", "voice_changer/VoiceChanger", "voice_changer/utils/"},
		Sources: program.Sources{"voice-changer/tutorials/tutorial_rvc_en_1_5_2_4.md": "Extra"},
		Steps: steps{
			"lower_resolution":  words("A smaller Extra (4096 to 16384): the seconds before, which are converted along with each piece. Then a smaller Chunk."),
			"use_smaller_model": words("F0 Det. rmvpe_onnx or fcpe in place of crepe_full; no index file."),
			"cpu_offload":       words("GPU: cpu in its window."),
		},
		Titles: map[string]string{"lower_resolution": "Lower Extra and Chunk", "use_smaller_model": "A lighter pitch detector"}, Costs: map[string]string{"lower_resolution": "Less steady voice."},
		Like:  []*program.Program{&Voices},
		Cards: cards(working("voice-changer", "while it converted", "The voice model takes 1 to 2 GB; what is converted at once is Chunk and Extra together. Beside a game the card is often full, so that nothing is left for it.", "", "voice-changer/tutorials/tutorial_rvc_en_1_5_2_4.md", "close_other_apps", "lower_resolution", "use_smaller_model")),
	}
	// DotsOCR reads pages with a language model.
	DotsOCR = program.Program{
		Name: "dots.ocr", Shown: "dots.ocr", Work: "vision", Edits: "flags", Language: "python",
		Proofs:  []string{"dots_ocr/", "dots.ocr", "DotsOCR", "modeling_dots_vision"},
		Sources: program.Sources{"dots.ocr/dots_ocr/parser.py": "--num_thread --dpi --max_pixels", "dots.ocr/README.md": "flash_attention_2 --gpu-memory-utilization"},
		Steps: steps{
			"lower_resolution":       words("`--max_pixels 4000000` or `--dpi 150` (200): a page becomes one token for each 28 x 28 pixels."),
			"enable_flash_attention": words("Install flash-attn and load it with `attn_implementation=\"flash_attention_2\"`: without it the vision tower compares all patches of a page in full."),
			"lower_parallel":         words("`--num_thread 8` (64 by default): pages that are sent to the server at once."),
		},
		Titles: map[string]string{"lower_parallel": "Send fewer pages at once"},
		Like:   []*program.Program{&Pages},
		Cards:  cards(working("dots.ocr", "while it read pages", "A page at 200 dpi has up to 11 million pixels, and attention in the vision tower grows with the square of its patches unless flash attention is used. The model itself takes about 6 GB at 16 bit.", "", "dots.ocr/dots_ocr/parser.py", "lower_resolution", "enable_flash_attention", "close_other_apps")),
	}
)
