package webui

import "github.com/oomdoc/oomdoc/rules/program"

// Programs for pictures, video and voices of which only who reads is known yet.
var (
	Wan2GP = program.Program{
		Name: "wan2gp", Shown: "Wan2GP", Work: "video-generation", Edits: "flags", Language: "python",
		Proofs: []string{"wgp.py", "Wan2GP/"},
	}
	HunyuanVideo = program.Program{
		Name: "hunyuanvideo", Shown: "HunyuanVideo", Work: "video-generation", Edits: "code", Language: "python",
		Proofs: []string{"hyvideo/", "HunyuanVideo/"},
	}
	MagicQuill = program.Program{
		Name: "magicquill", Shown: "MagicQuill", Work: "image-generation", Edits: "code", Language: "python",
		Proofs: []string{"MagicQuill/"},
	}
	OmniGen = program.Program{
		Name: "omnigen", Shown: "OmniGen", Work: "image-generation", Edits: "code", Language: "python",
		Proofs: []string{"OmniGen/pipeline.py", "OmniGen/model.py"},
	}
	CoquiTTS = program.Program{
		Name: "xtts", Shown: "Coqui TTS", Work: "audio", Edits: "flags", Language: "python",
		Proofs: []string{"TTS/tts/", "xtts.pinokio", "XTTS-"},
	}
	FasterWhisper = program.Program{
		Name: "faster-whisper", Work: "audio", Edits: "flags", Language: "python",
		Proofs: []string{"faster_whisper/", "faster-whisper", "whisper-faster"},
	}
)
