package apps

import (
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/listen"
)

// All are those programs of this room that stand together in the order of all
// programs. Of clues that weigh the same the earlier counts.
var All = []*program.Program{
	&listen.WhisperJAV, &listen.PyVideoTrans, &listen.VideoLingo, &listen.WhisperLive, &listen.Speaches, &listen.Subgen, &listen.NoScribe, &AIVoiceCloning, &VoiceStudio, &AllTalk, &Ebook2Audiobook, &SeedVC, &YuE, &DiffRhythm, &MMAudio,
	&ZipVoice, &MozillaTTS, &Immich, &Frigate, &VoiceChanger, &DotsOCR,
	&listen.WhisperX, &listen.WhisperASR, &listen.InsanelyFast, &listen.WhisperCTranslate2, &listen.FasterWhisper, &listen.Whisper, &CoquiTTS, &Bark, &RVC, &SoVITS, &GPTSoVITS, &F5TTS, &FishSpeech,
	&ACEStep, &CosyVoice, &IndexTTS, &ChatTTS, &VibeVoice, &Chatterbox, &Zonos, &Tacotron2, &VITS, &StyleTTS2, &Tortoise, &MeloTTS, &StableAudioTools,
	&DiffSinger, &VoiceCraft, &Amphion, &ParlerTTS, &Dia, &Moshi, &UVR, &Spleeter, &OpenVoice, &SparkTTS, &Nougat, &Surya, &Marker, &Docling, &MinerU,
	&EasyOCR, &DocTR, &AudioCraft, &Demucs, &Wan2GP, &Wan, &HunyuanVideo, &CogVideo, &OmniGen, &EasyDiffusion, &SwarmUI, &Deforum, &Dreambooth, &EveryDream,
	&InpaintAnything, &RealESRGAN, &FaceFusion, &RoopUnleashed, &Roop, &DeepFaceLab,
}

// EngineCards are about engines that many programs use.
var EngineCards = listen.EngineCards
