package lab

import (
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
)

// All are the programs of this room. Of clues that weigh the same the earlier
// counts.
var All = cures.Taken([]*program.Program{
	&SimpleTuner, &DiffusionPipe, &FluxGym, &DiffSynth, &Ludwig, &SecondMe,
	&NanoGPT, &LitGPT, &Torchtitan, &GPTNeoX, &LLMFoundry, &Composer, &StanfordAlpaca, &AlpacaLoRA, &QLoRA, &ChatGLM, &XTuner, &AlignmentHandbook, &DeepSpeedChat, &AutoTrain, &EasyR1, &InstructLab, &NeMoRL,
	&Slime, &TRLX, &LMEval, &OpenCompass, &LightEval, &MTEB, &GPTQModel, &TRTQuantize, &AutoGPTQ, &AutoAWQ, &AutoRound, &LLMCompressor, &Mergekit, &LLaVA, &InternVL, &QwenVL, &MiniGPT4, &LAVIS,
	&SimpleTransformers, &BERTopic, &ParlAI, &Flair, &SpaCy, &AllenNLP, &ColBERT, &OpenNMTPy, &Marian, &Tensor2Tensor, &Icefall, &SpeechBrain, &WeNet, &FunASR, &Pyannote, &WhisperDiarization, &Kaldi,
	&GemmaTuner, &RLlib, &RETURNN, &Seamless, &MetaLlama, &KTransformers, &AirLLM, &OptimumIntel, &CNTK,
})
