package apps

import "github.com/oomdoc/oomdoc/rules/program"

// All are those programs of this room that stand together in the order of all
// programs. Of clues that weigh the same the earlier counts.
var All = []*program.Program{
	&WhisperJAV, &PyVideoTrans, &VideoLingo, &WhisperLive, &Speaches, &Subgen, &NoScribe, &AIVoiceCloning, &VoiceStudio, &AllTalk, &Ebook2Audiobook, &SeedVC, &YuE, &DiffRhythm, &MMAudio,
	&ZipVoice, &MozillaTTS, &Immich, &Frigate, &VoiceChanger, &DotsOCR,
	&WhisperX, &WhisperASR, &InsanelyFast, &WhisperCTranslate2, &FasterWhisper, &Whisper, &CoquiTTS, &Bark, &RVC, &SoVITS, &GPTSoVITS, &F5TTS, &FishSpeech,
	&ACEStep, &CosyVoice, &IndexTTS, &ChatTTS, &VibeVoice, &Chatterbox, &Zonos, &Tacotron2, &VITS, &StyleTTS2, &Tortoise, &MeloTTS, &StableAudioTools,
	&DiffSinger, &VoiceCraft, &Amphion, &ParlerTTS, &Dia, &Moshi, &UVR, &Spleeter, &OpenVoice, &SparkTTS, &Nougat, &Surya, &Marker, &Docling, &MinerU,
	&EasyOCR, &DocTR, &AudioCraft, &Demucs, &Wan2GP, &Wan, &HunyuanVideo, &CogVideo, &OmniGen, &EasyDiffusion, &SwarmUI, &Deforum, &Dreambooth, &EveryDream,
	&InpaintAnything, &RealESRGAN, &FaceFusion, &RoopUnleashed, &Roop, &DeepFaceLab,
}
