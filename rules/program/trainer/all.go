package trainer

import "github.com/oomdoc/oomdoc/rules/program"

// All are this room's; of clues that weigh the same the earlier counts.
var All = []*program.Program{
	&MMRotate, &MMDetection, &MMSegmentation, &MMEngine, &Detectron2, &YOLOv5, &Ultralytics, &Timm, &DETR, &BiaPy, &YOLOX, &BasicSR, &NeRFPyTorch,
	&OpenCLIP, &GuidedDiffusion, &CycleGAN, &SlowFast, &NNUNetV2, &NNUNetV1, &MONAI, &SegmentAnything, &NeMo, &ESPnet, &Fairseq, &PyG, &DGL,
	&GaussianSplatting, &Nerfstudio, &StyleGAN, &Fastai, &SparseConv, &StableBaselines, &Torchtune, &Swift, &Megatron, &ColossalAI, &SentenceTransformers, &FlagEmbedding, &Verl, &OpenRLHF, &OneTrainer, &AIToolkit, &DiffusersTrain,
}
