package apps

import (
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/step"
)

// mineruPlan is the size of the card that it plans for: less than it has.
func mineruPlan(c *ledger.Case) []step.Step {
	size := 6
	if own := ledger.IntSetting(c, "mineru_virtual_vram_size"); own > 0 && own <= 6 || c.Total.Has() && c.Total.Bytes < 7*units.GiB {
		size = 4
	}
	return []step.Step{{Kind: "env", Text: "export MINERU_VIRTUAL_VRAM_SIZE=" + strconv.Itoa(size) + "   # GB of the card that it plans for"}}
}

// suryaBatches are batches for small cards; where the reader has such, less.
func suryaBatches(c *ledger.Case) []step.Step {
	if own := ledger.IntSetting(c, "recognition_batch_size", fact.OptionBatch); own > 0 && own <= 32 {
		return []step.Step{{Kind: "env", Text: "export RECOGNITION_BATCH_SIZE=" + strconv.Itoa(max(own/4, 1)) + " DETECTOR_BATCH_SIZE=1 LAYOUT_BATCH_SIZE=1 TABLE_REC_BATCH_SIZE=1"}}
	}
	return []step.Step{{Kind: "env", Text: "export RECOGNITION_BATCH_SIZE=32 DETECTOR_BATCH_SIZE=4 LAYOUT_BATCH_SIZE=4 TABLE_REC_BATCH_SIZE=8"}}
}

// Pages is what programs share that read documents.
var Pages = program.Program{
	Titles:  map[string]string{"lower_resolution": "Lower the page resolution", "cpu_offload": "Run it on the CPU", "lower_parallel": "Use fewer workers", "lower_num_workers": "Convert fewer pages at a time"},
	Costs:   map[string]string{"lower_resolution": "Small print may be missed.", "cpu_offload": "Many times slower.", "lower_batch_size": "Slower; same result.", "lower_parallel": "Fewer documents at a time.", "lower_num_workers": "Slower."},
	Steps:   kit.Steps{"cpu_offload": kit.NoCard},
	Effects: kit.NoSums,
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge:       cause.InOrder("lower_batch_size", "lower_resolution", "close_other_apps", "cpu_offload"),
		cause.OversizedAllocation: cause.InOrder("lower_resolution", "lower_batch_size", "cpu_offload"),
		cause.ModelTooLarge:       cause.InOrder("close_other_apps", "lower_parallel", "cpu_offload"),
		cause.Unknown:             cause.InOrder("close_other_apps", "lower_batch_size", "lower_resolution", "cpu_offload"),
	},
	Sources: kit.Visible,
}

// Programs that turn scans and PDFs into text.
var (
	// Nougat reads papers.
	Nougat = program.Program{
		Name: "nougat", Shown: "Nougat", Work: "vision", Edits: "flags", Language: "python", Commands: []string{"nougat"},
		Sources: program.Sources{"nougat/predict.py": "--batchsize --model --full-precision --pages NOUGAT_BATCHSIZE"},
		Proofs:  []string{"-packages/nougat/", "nougat/model.py", "nougat-ocr", "nougat/utils/"},
		Steps: kit.Steps{
			"lower_batch_size":  kit.Words("Add `-b 1` to your command."),
			"use_smaller_model": kit.Words("Use `-m 0.1.0-small` (the default) instead of base."),
			"half_precision":    kit.Words("Remove `--full-precision`; bfloat16 is the default."),
			"lower_num_workers": kit.Words("Add `--pages 1-20` to read a part of the PDF at a time. All pages are rendered in RAM first."),
		},
		Like: []*program.Program{&Pages},
		Cards: kit.Cards(
			kit.Saved(kit.Working("nougat", "while it read pages", "One page at a time is read already (`-b 1`). The model takes 1 to 1.5 GB; each page can become up to 4,096 tokens, with a cache for them.", "A PDF with lower resolution: all pages are scaled to the same size.", "nougat/nougat/utils/device.py", "close_other_apps", "half_precision", "cpu_offload"), "", "-b 1 ", "--batchsize 1 "),
			kit.Working("nougat", "while it read pages", "Nougat sets its batch size from the total size of the card (0.3 pages per GB), even if other programs use part of it. Each page can become up to 4,096 tokens.", "A PDF with lower resolution: all pages are scaled to the same size.", "nougat/nougat/utils/device.py", "lower_batch_size", "close_other_apps", "use_smaller_model"),
		),
	}
	// Surya has the models; Marker runs them.
	Surya = program.Program{
		Name: "surya", Shown: "Surya", Work: "vision", Edits: "flags", Language: "python", Rank: 83,
		Sources: program.Sources{"surya/surya/settings.py": "DETECTOR_BATCH_SIZE RECOGNITION_BATCH_SIZE LAYOUT_BATCH_SIZE TABLE_REC_BATCH_SIZE TORCH_DEVICE"},
		Proofs:  []string{"-packages/surya/", "surya/detection/", "surya/recognition/", "surya/layout/", "surya/common/", "surya_ocr", "surya/model/"},
		Steps: kit.Steps{
			"lower_batch_size": suryaBatches,
			"cpu_offload":      step.Paste("env", "export TORCH_DEVICE=cpu"),
		},
		Like:  []*program.Program{&Pages},
		Cards: kit.Cards(kit.Working("surya", "while it read pages", "Surya's default batch sizes are made for large cards. By its README they need 20 GB in recognition (512 items), 16 GB in detection (36), 7 GB in layout (32) and 10 GB in tables (64).", "", "surya/README.md", "lower_batch_size", "close_other_apps", "cpu_offload")),
	}
	// Marker turns PDFs into Markdown.
	Marker = program.Program{
		Name: "marker", Shown: "Marker", Work: "vision", Edits: "flags", Language: "python", Commands: []string{"marker", "marker_single"},
		Sources: program.Sources{"marker/marker/config/parser.py": "--page_range", "marker/marker/scripts/convert.py": "--workers", "marker/marker/utils/batch.py": "workers", "marker/README.md": "NUM_WORKERS TORCH_DEVICE", "surya/surya/settings.py": "DETECTOR_BATCH_SIZE RECOGNITION_BATCH_SIZE LAYOUT_BATCH_SIZE TABLE_REC_BATCH_SIZE"},
		Proofs:  []string{"marker/converters/", "marker/models.py", "marker/builders/", "marker/scripts/", "marker_single", "marker_chunk_convert", "marker/convert.py"},
		Steps: kit.Steps{
			"lower_parallel":    kit.Words("Run `marker FOLDER --workers 1`; with marker_chunk_convert set `NUM_WORKERS=1`. Each worker needs up to 5 GB of the card."),
			"lower_batch_size":  suryaBatches,
			"lower_num_workers": kit.Words("Convert long PDFs in parts: `--page_range 0-49`, then 50-99 and so on."),
			"cpu_offload":       step.Paste("env", "export TORCH_DEVICE=cpu"),
		},
		Like: []*program.Program{&Pages},
		Cards: kit.Cards(
			kit.Saved(kit.Working("marker", "while it converted", "Only one worker runs. By Marker's README it needs up to 5 GB of the card, 3.5 on average: the models, and the batches of detection, layout and recognition.", "Fewer workers: there is only one.", "marker/README.md", "lower_batch_size", "close_other_apps", "cpu_offload"), "lower_parallel", "marker_single", "marker/scripts/convert_single.py", "--workers 1 ", "NUM_WORKERS=1 "),
			kit.Working("marker", "while it converted", "By Marker's README a worker needs up to 5 GB of the card, 3.5 on average. `marker` starts one for each 7 GB of the card (5 workers before version 1.8), `marker_single` only one.", "", "marker/README.md", "lower_parallel", "lower_batch_size", "close_other_apps"),
			kit.Saved(kit.Opening("marker", "Only one worker runs. It loads all models, 3.5 to 5 GB of the card.", "A shorter PDF: loading the models failed.", "marker/README.md", "close_other_apps", "cpu_offload"), "lower_parallel", "marker_single", "marker/scripts/convert_single.py", "--workers 1 ", "NUM_WORKERS=1 "),
			kit.Opening("marker", "Each worker loads all models (3.5 to 5 GB of the card). `marker` starts one for each 7 GB of the card (5 workers before version 1.8), `marker_single` only one.", "A shorter PDF: loading the models failed.", "marker/README.md", "lower_parallel", "close_other_apps", "cpu_offload"),
			kit.RamFilled("marker", "Each worker renders every page at two resolutions and keeps them until the document is done. So long PDFs and many workers need much RAM.", "Smaller batches: they save GPU memory, not RAM.", "marker/README.md", "lower_num_workers", "lower_parallel"),
		),
	}
	// Docling is IBM's.
	Docling = program.Program{
		Name: "docling", Shown: "Docling", Work: "vision", Edits: "code", Language: "python", Commands: []string{"docling"},
		Sources: program.Sources{"docling/docling/cli/main.py": "--page-batch-size --no-ocr --device", "docling/docling/datamodel/settings.py": "page_batch_size", "docling/docling/datamodel/pipeline_options.py": "ocr_batch_size layout_batch_size queue_max_size images_scale", "docling/docling/datamodel/accelerator_options.py": "DOCLING_DEVICE OMP_NUM_THREADS"},
		Proofs:  []string{"docling.document_converter", "docling.pipeline.", "docling.models.", "docling/", "docling_core/", "docling_parse", "docling-serve"},
		Steps: kit.Steps{
			"lower_batch_size":  step.Paste("python", "opts = ThreadedPdfPipelineOptions(ocr_batch_size=1, layout_batch_size=1, table_batch_size=1, queue_max_size=8)   # queue: 100\nconv = DocumentConverter(format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=opts)})"),
			"lower_resolution":  step.Paste("python", "opts.images_scale = 1.0\nopts.generate_page_images = False\nopts.generate_picture_images = False   # opts: your PdfPipelineOptions"),
			"lower_num_workers": step.Paste("python", "for first in range(1, pages, 20):   # 20 pages at a time\n    result = conv.convert(path, page_range=(first, first + 19))"),
			"cpu_offload":       step.Paste("env", "export DOCLING_DEVICE=cpu OMP_NUM_THREADS=4"),
			"use_smaller_model": kit.Words("Set `do_formula_enrichment`, `do_code_enrichment` and `do_picture_description` to False in the pipeline options."),
			"lower_parallel":    kit.Words("If the PDF has a text layer, set `do_ocr=False` (or `--no-ocr`). On a server run one conversion at a time."),
		},
		Titles: map[string]string{"use_smaller_model": "Turn enrichments off that you do not need", "lower_num_workers": "Convert the document in parts", "lower_parallel": "Turn off OCR if the PDF has text"}, Costs: map[string]string{"lower_parallel": "Scans still need it."},
		Like: []*program.Program{&Pages},
		Cards: kit.Cards(
			kit.RamFilled("docling", "Docling renders up to `queue_max_size` pages (100) ahead, and with `generate_page_images` every image stays in the result. The usual cause is large scans, or documents with hundreds of pages.", "", "docling/docling/datamodel/pipeline_options.py", "lower_num_workers", "lower_resolution", "lower_batch_size"),
			kit.Saved(kit.Working("docling", "in an enrichment", "An enrichment (formulas, code, picture descriptions) runs a vision language model of its own on each item found, beside layout, tables and OCR.", "", "docling/docling/datamodel/pipeline_options.py", "use_smaller_model", "cpu_offload", "close_other_apps"), "", "code_formula_model.py", "code_formula_predictor", "picture_description"),
			kit.Working("docling", "while it read pages", "Layout, table, OCR and enrichment models share the card, each with its own batch (4 by default, 64 in the GPU guide). A VLM pipeline loads a language model instead.", "", "docling/docs/usage/gpu.md", "lower_batch_size", "cpu_offload", "lower_parallel"),
		),
	}
	// MinerU is OpenDataLab's, magic-pdf before it.
	MinerU = program.Program{
		Name: "mineru", Shown: "MinerU", Work: "vision", Edits: "flags", Language: "python", Commands: []string{"mineru", "magic-pdf"},
		Sources: program.Sources{"MinerU/mineru/utils/model_utils.py": "MINERU_VIRTUAL_VRAM_SIZE", "MinerU/docs/en/usage/cli_tools.md": "--start --formula --table MINERU_HYBRID_BATCH_RATIO MINERU_DEVICE_MODE", "MinerU/mineru/backend/vlm/utils.py": "--gpu-memory-utilization"},
		Proofs:  []string{"mineru/backend/", "mineru/utils/", "mineru/cli/", "mineru/model/", "magic_pdf/", "mineru.backend", "mineru.cli"},
		Steps: kit.Steps{
			"lower_batch_size":             mineruPlan,
			"lower_gpu_memory_utilization": kit.Words("For VLM backends add `--gpu-memory-utilization 0.4` (default 0.5, on 8 GB 0.7)."),
			"lower_num_workers":            kit.Words("Convert the PDF in parts: `-s 0 -e 49`, then `-s 50 -e 99` and so on."),
			"use_smaller_model":            kit.Words("Use `-b pipeline` instead of a VLM or hybrid backend. Add `-f false -t false` if there are no formulas or tables."),
			"cpu_offload":                  step.Paste("env", "export MINERU_DEVICE_MODE=cpu   # the pipeline backend"),
		},
		Titles: map[string]string{"lower_batch_size": "Lower `MINERU_VIRTUAL_VRAM_SIZE`", "use_smaller_model": "Use the pipeline backend, without formulas and tables"},
		Like:   []*program.Program{&Pages},
		Cards: kit.Cards(
			kit.RamFilled("mineru", "MinerU renders the pages of a whole batch of documents and keeps them until they are analysed. Long PDFs can need tens of GB.", "`MINERU_VIRTUAL_VRAM_SIZE`: it saves GPU memory, not RAM.", "MinerU/docs/en/usage/cli_tools.md", "lower_num_workers", "lower_parallel"),
			kit.Saved(kit.Working("mineru", "while it analysed pages", "The batch ratio is 1 already, the lowest. The pipeline's models (layout, formulas, tables, OCR) then take most of the card.", "A lower `MINERU_VIRTUAL_VRAM_SIZE`: the batch ratio cannot go below 1.", "MinerU/mineru/backend/pipeline/pipeline_analyze.py", "use_smaller_model", "close_other_apps", "cpu_offload"), "lower_batch_size", "batch_ratio: 1 ", "batch ratio: 1 "),
			kit.Working("mineru", "while it analysed pages", "The pipeline backend sets its batch size from the total size of the card, not from what is free. VLM backends reserve half of the card for vLLM or LMDeploy as well.", "", "MinerU/mineru/backend/pipeline/pipeline_analyze.py", "lower_batch_size", "close_other_apps", "use_smaller_model"),
		),
	}
	// EasyOCR is JaidedAI's.
	EasyOCR = program.Program{
		Name: "easyocr", Shown: "EasyOCR", Work: "vision", Edits: "code", Language: "python", Commands: []string{"easyocr"},
		Sources: program.Sources{"EasyOCR/easyocr/easyocr.py": "canvas_size mag_ratio batch_size workers gpu quantize"},
		Proofs:  []string{"easyocr/"},
		Steps: kit.Steps{
			"lower_resolution":  step.Paste("python", "result = reader.readtext(image, canvas_size=1280, mag_ratio=1)   # 2560 by default; small print: cut the page up"),
			"lower_batch_size":  kit.ByPhase(step.Step{Kind: "text", Text: "Halve `batch_size` in the trainer's config file (trainer/config_files/*.yaml)."}, step.Step{Kind: "python", Text: "result = reader.readtext(image, batch_size=1, workers=0)   # the defaults: it helps if yours are higher"}),
			"cpu_offload":       step.Paste("python", "reader = easyocr.Reader([\"en\"], gpu=False)"),
			"restart_session":   kit.Words("Create one `Reader` outside the loop and use it for all images. Each `Reader` loads its own models."),
			"lower_num_workers": step.Paste("python", "reader = easyocr.Reader([\"en\"], gpu=False, quantize=True)   # once, not in the loop; a process for each image holds it as often"),
		},
		Titles: map[string]string{"restart_session": "Create one Reader for all images", "lower_resolution": "Lower `canvas_size`", "lower_num_workers": "Quantise, and use one process"}, Costs: map[string]string{"restart_session": "None."},
		Like: []*program.Program{&Pages},
		Cards: kit.Cards(
			kit.Learning("easyocr", "Memory grows with `batch_size` (32 in the example config) and with the size of the word crops (`imgH` x `imgW`).", "", "EasyOCR/trainer/config_files/en_filtered_config.yaml", "lower_batch_size", "close_other_apps"),
			kit.Working("easyocr", "while it looked for text", "EasyOCR's detector works on the whole image, up to `canvas_size` (2,560) pixels on the longer side. Half of that needs a quarter of the memory.", "", "EasyOCR/easyocr/easyocr.py", "lower_resolution", "restart_session", "cpu_offload"),
			kit.RamFilled("easyocr", "On the CPU EasyOCR's detector works on the whole image (up to 2,560 pixels on the longer side). That takes 1 to 2 GB of RAM in each process that has a `Reader`.", "", "EasyOCR/easyocr/easyocr.py", "lower_resolution", "lower_num_workers"),
		),
	}
	// DocTR is Mindee's.
	DocTR = program.Program{
		Name: "doctr", Shown: "docTR", Work: "vision", Edits: "code", Language: "python",
		Sources: program.Sources{"doctr/docs/source/using_doctr/using_models.rst": "det_bs reco_bs", "doctr/references/detection/train.py": "--batch_size"},
		Proofs:  []string{"doctr/references/", "doctr/models/", "doctr/io/", "doctr/datasets/", "python-doctr", "-packages/doctr/"},
		Steps: kit.Steps{
			"lower_batch_size":  kit.ByPhase(step.Step{Kind: "text", Text: "Halve `--batch_size` of the training script."}, step.Step{Kind: "python", Text: "model = ocr_predictor(pretrained=True, det_bs=1, reco_bs=32)   # 2 and 128 by default"}),
			"half_precision":    step.Paste("python", "model = ocr_predictor(pretrained=True).cuda().half()"),
			"lower_num_workers": step.Paste("python", "for page in DocumentFile.from_pdf(path):   # one page at a time\n    result = model([page])"),
			"use_smaller_model": step.Paste("python", "model = ocr_predictor(\"db_mobilenet_v3_large\", \"crnn_mobilenet_v3_small\", pretrained=True)"),
		},
		Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: cause.InOrder("lower_batch_size", "close_other_apps")}, Like: []*program.Program{&Pages},
		Cards: kit.Cards(
			kit.Learning("doctr", "Memory grows with the batch size. A batch holds images of 1,024 x 1,024 for the detector, or word crops for the recogniser.", "", "doctr/references/detection/train.py", "lower_batch_size"),
			kit.Working("doctr", "while it read pages", "The detector handles `det_bs` pages at once (default 2), the recogniser `reco_bs` words (default 128).", "A scan with lower resolution: all pages are scaled to the same size.", "doctr/docs/source/using_doctr/using_models.rst", "lower_batch_size", "lower_num_workers", "half_precision"),
			kit.RamFilled("doctr", "docTR keeps all pages of one call in RAM, with the detector's maps. The usual cause is a PDF with hundreds of pages in one call.", "", "doctr/docs/source/using_doctr/using_models.rst", "lower_num_workers", "lower_batch_size"),
		),
	}
)
