// Package vision knows programs that see: detectors, segmenters, splatting. Only
// who reads is known of them yet: their fixes are spelled as PyTorch's.
package vision

import "github.com/oomdoc/oomdoc/rules/program"

// Detectors, segmenters and reconstruction, by modules and lines of their own.
var (
	MMDetection = program.Program{
		Name: "mmdet", Shown: "MMDetection", Work: "vision", Edits: "flags", Language: "python",
		Proofs: []string{"mmdet/", "mmdet3d/", "mmrotate/"},
	}
	YOLO = program.Program{
		Name: "yolo", Shown: "Ultralytics YOLO", Work: "vision", Edits: "flags", Language: "python",
		Proofs: []string{"ultralytics/", "Ultralytics YOLO", "YOLOv5 🚀", "/yolov3", "/yolov5", "/yolov7", "/yolov8", "Box(P R mAP50"},
	}
	Detectron2 = program.Program{
		Name: "detectron2", Shown: "Detectron2", Work: "vision", Edits: "code", Language: "python",
		Proofs: []string{"detectron2/"},
	}
	MONAI = program.Program{
		Name: "monai", Shown: "MONAI", Work: "vision", Edits: "code", Language: "python",
		Proofs: []string{"-packages/monai/", "monai/inferers/", "monai/networks/", "monai/transforms/"},
	}
	MMF = program.Program{
		Name: "mmf", Shown: "MMF", Work: "vision", Edits: "flags", Language: "python",
		Proofs: []string{"mmf/trainers/", "mmf_cli/"},
	}
	NNUNet = program.Program{
		Name: "nnunet", Shown: "nnU-Net", Work: "vision", Edits: "flags", Language: "python",
		Proofs: []string{"nnunetv2/", "nnunet/training/", "nnUNetTrainer"},
	}
	GaussianSplatting = program.Program{
		Name: "gaussian-splatting", Shown: "Gaussian splatting", Work: "vision", Edits: "code", Language: "python",
		Proofs: []string{"diff_gaussian_rasterization/", "gaussian_renderer/", "gaussian-splatting/", "scene/gaussian_model.py"},
	}
	Kraken = program.Program{
		Name: "kraken", Work: "vision", Edits: "flags", Language: "python",
		Proofs: []string{"KETOS training", "kraken/lib/", "kraken/ketos"},
	}
)
