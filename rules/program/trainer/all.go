package trainer

import (
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer/scenes"
)

// All are this room's; of clues that weigh the same the earlier counts.
var All = []*program.Program{
	&MMRotate, &MMDetection, &MMSegmentation, &MMEngine, &Detectron2, &YOLOv5, &Ultralytics, &Timm, &DETR, &scenes.BiaPy, &scenes.YOLOX, &scenes.BasicSR, &scenes.NeRFPyTorch,
	&scenes.OpenCLIP, &scenes.GuidedDiffusion, &scenes.CycleGAN, &scenes.SlowFast, &NNUNetV2, &NNUNetV1, &MONAI, &SegmentAnything, &NeMo, &ESPnet, &Fairseq, &PyG, &DGL,
	&scenes.GaussianSplatting, &scenes.Nerfstudio, &scenes.StyleGAN, &scenes.Fastai, &SparseConv, &StableBaselines, &Torchtune, &Swift, &Megatron, &ColossalAI, &SentenceTransformers, &FlagEmbedding, &Verl, &OpenRLHF, &OneTrainer, &AIToolkit, &DiffusersTrain,
}
