package papers

import (
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
)

// All are the programs of this room. Of clues that weigh the same the earlier
// counts.
var All = cures.Taken([]*program.Program{
	&MaskRCNNBenchmark, &EfficientDetPyTorch, &Effdet, &CenterNet, &YOLACT, &PyTorchYOLOv3, &YOLOv7, &YOLOv6, &PaddleDetection, &PaddleSeg, &GroundingDINO, &SwinTransformer,
	&ConvNeXt, &MAE, &VideoMAE, &DINOv2, &BLIP, &MMAction2, &MMPose, &SMP, &SemanticSegmentation, &HRNetSegmentation, &OpenPCDet, &Pointcept, &DepthAnything, &BiRefNet,
	&Restormer, &SwinIR, &KAIR, &Pix2PixHD, &SPADE, &CUT, &DALLEPytorch, &InstantNGP, &TorchNGP, &Neuralangelo, &SDFStudio, &Threestudio, &NeuS, &TensoRF, &Nvdiffrec,
	&DUSt3R, &MASt3R, &VGGT, &DROIDSLAM, &RAFTStereo, &RAFT, &NeRFConfig, &GPNN, &DatasetGAN, &PoinTr, &MMDetection3D, &Detectron, &Caffe2, &MMEditing, &FastReID, &TabNet,
})
