package makers

import "github.com/oomdoc/oomdoc/rules/program"

// All are the programs of this room. Of clues that weigh the same the earlier
// counts.
var All = []*program.Program{
	&Enhancr, &SnapOtter, &Video2X, &Upscayl, &DeepLiveCam, &VisoMaster, &Faceswap, &EchoMimic, &Hallo, &InfiniteTalk, &EasyAnimate, &Krita,
	&SadTalker, &SUPIR, &Hunyuan3D, &ChaiNNer, &GFPGAN, &CodeFormer, &TRELLIS, &InstantMesh, &TripoSR, &PIFuHD, &AlphaPose, &OpenPose, &RIFE, &DiffBIR, &StableSR, &IOPaint,
	&Rembg, &Marigold, &DeOldify, &NeuralStyle, &RVE, &NcnnUpscalers, &NcnnFrames, &Ncnn, &FLUX, &GenerativeModels, &DeepFloyd, &PixArt, &AnimateDiff, &OpenSora, &Mochi, &LTXVideo, &SkyReels,
	&DynamiCrafter, &HunyuanDiT, &LivePortrait, &Wav2Lip, &MuseTalk, &LatentSync, &IDMVTON, &OOTDiffusion, &InstantID, &MFLUX,
}
