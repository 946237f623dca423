package checkouts

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// TestList: every line of the list is of its form, and says what a page can show.
func TestList(t *testing.T) {
	head := regexp.MustCompile(`^[\w.-]+/[\w.-]+ (vision|image-generation|video-generation|audio|text-training|text-inference|embedding|graph|science|data|rendering|unknown)$`)
	line := regexp.MustCompile(`^ (?:in( \S+)+|(?:needs|authors) \d+ (?:train|use)(?: \| .+)?|[a-z]+(?:/train|/use)? \S+ \S+ @\S+(?: \| .+)?)$`)
	before, repositories := "", 0
	for block := range strings.SplitSeq(listed[strings.Index(listed, "\n\n")+2:], "\n\n") {
		if block == "" {
			continue
		}
		lines := strings.Split(block, "\n")
		require.Regexp(t, head, lines[0])
		assert.Less(t, before, strings.ToLower(lines[0]), "the list is sorted")
		before, repositories = strings.ToLower(lines[0]), repositories+1
		for _, l := range lines[1:] {
			assert.Regexp(t, line, l, lines[0])
			_, note, _ := strings.Cut(l, " | ")
			assert.NotContains(t, l, "`", lines[0])
			assert.LessOrEqual(t, len(strings.Fields(note)), 18, "%s: %s", lines[0], note)
		}
		x := read(block + "\n")
		assert.NotEmpty(t, x.tops, x.Repository)
		assert.NotEmpty(t, len(x.knobs)+len(x.needs), x.Repository)
		for _, k := range x.knobs {
			assert.Contains(t, ways, k.kind, x.Repository)
			assert.NotContains(t, k.files, "", "%s: %s", x.Repository, k.spelling)
		}
		assert.Equal(t, x, byRepository(x.Repository))
	}
	assert.Greater(t, repositories, 300)
}

// started is a case in which a script failed.
func started(typed, file string, settings ...fact.Setting) *ledger.Case {
	c := &ledger.Case{Failure: fact.Failure{Kind: fact.TorchAlloc, Line: 9}, Facts: &fact.Facts{Settings: settings}, Backend: "cuda", Phase: "unknown"}
	if typed != "" {
		c.Facts.Code = append(c.Facts.Code, fact.Code{File: typed, Line: 1, Own: true})
	}
	if file != "" {
		c.Facts.Code = append(c.Facts.Code, fact.Code{File: file, Function: "<module>", At: 3, Line: 3, Own: true})
	}
	return c
}

func TestFind(t *testing.T) {
	for _, x := range []struct{ name, file, repository string }{
		{"a folder of its name with its script", "/home/u/src/ProPainter/inference_propainter.py", "sczhou/ProPainter"},
		{"a download of its branch, on Windows", `D:\ai\Mask2Former-main\train_net.py`, "facebookresearch/Mask2Former"},
		{"a file deep inside", "/data/XMem/inference/inference_core.py", "hkchengrex/XMem"},
		{"a folder of that name with other files", "/home/u/ProPainter/my_own_tool.py", ""},
		{"its script in another folder", "/home/u/test/inference_propainter.py", ""},
		{"no folder at all", "inference_propainter.py", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			found, got := Find(started("", x.file)), ""
			if found != nil {
				got = found.Repository
			}
			assert.Equal(t, x.repository, got)
		})
	}
	assert.Nil(t, Find(&ledger.Case{Facts: &fact.Facts{Code: []fact.Code{{File: "/usr/lib/python3/site-packages/XMem/model/a.py", Function: "f", Line: 1}}}}), "somebody else's code")
}

func TestProgram(t *testing.T) {
	train := func(c *ledger.Case) *ledger.Case { c.Phase = "training"; return c }
	for _, x := range []struct {
		name, repository string
		c                *ledger.Case
		fix, told        string
	}{
		{"half of the default", "yanx27/Pointnet_Pointnet2_pytorch", train(started("", "/r/Pointnet_Pointnet2_pytorch/train_partseg.py")), "lower_batch_size", "Add `--batch_size 8` to your `train_partseg.py` command (default 16)."},
		{"half of the reader's own", "yanx27/Pointnet_Pointnet2_pytorch", train(started("train_partseg.py", "", fact.Setting{Name: "batch_size", Flag: "--batch_size", Value: "64", Line: 1})), "lower_batch_size", "Use `--batch_size 32` instead of 64 in your `train_partseg.py` command."},
		{"the default of the script that ran", "yanx27/Pointnet_Pointnet2_pytorch", started("", "/r/Pointnet_Pointnet2_pytorch/test_semseg.py"), "lower_batch_size", "Add `--batch_size 16` to your `test_semseg.py` command (default 32)."},
		{"nothing below one", "yanx27/Pointnet_Pointnet2_pytorch", train(started("train_partseg.py", "", fact.Setting{Name: "batch_size", Flag: "--batch_size", Value: "1", Line: 1})), "lower_batch_size", ""},
		{"a script that takes none", "yanx27/Pointnet_Pointnet2_pytorch", started("", "/r/Pointnet_Pointnet2_pytorch/visualizer/show3d_balls.py"), "lower_batch_size", ""},
		{"the script at the root", "charlesq34/pointnet", train(started("", "/r/pointnet/train.py")), "lower_batch_size", "Add `--batch_size 16` to your `train.py` command (default 32)."},
		{"the script of a folder", "charlesq34/pointnet", train(started("", "/r/pointnet/sem_seg/train.py")), "lower_batch_size", "Add `--batch_size 12` to your `train.py` command (default 24)."},
		{"a file of training for a test", "swz30/MPRNet", started("", "/r/MPRNet/Deblurring/test.py"), "lower_batch_size", ""},
		{"a switch to add", "sczhou/ProPainter", started("inference_propainter.py", ""), "half_precision", "Add `--fp16` to your `inference_propainter.py` command."},
		{"a switch that is on", "sczhou/ProPainter", started("inference_propainter.py", "", fact.Setting{Name: "fp16", Flag: "--fp16", Value: "true", Line: 1}), "half_precision", ""},
		{"half of what -1 stands for", "sczhou/ProPainter", started("inference_propainter.py", "", fact.Setting{Name: "width", Flag: "--width", Value: "1280", Line: 1}), "lower_resolution", "Use `--width 640` instead of 1280 in your `inference_propainter.py` command (give --height too; -1 keeps the video's own). Or `--subvideo_length 50` (default 80)."},
		{"twice what pictures are divided by", "autonomousvision/gaussian-opacity-fields", train(started("train.py", "", fact.Setting{Name: "resolution", Flag: "--resolution", Value: "2", Line: 1})), "lower_resolution", "Use `--resolution 4` instead of 2"},
		{"a key behind the options", "facebookresearch/Mask2Former", train(started("train_net.py", "")), "lower_batch_size", "Add `SOLVER.IMS_PER_BATCH 8` at the end of your `train_net.py` command (default 16; of all GPUs together, lower SOLVER.BASE_LR with it)."},
		{"another key of the same file", "babysor/MockingBird", train(started("", "/r/MockingBird/models/synthesizer/hparams.py")), "lower_batch_size", "Or set `synthesis_batch_size` from 16 to 8 (use and preparation for the vocoder)."},
		{"a key of another file", "XiaoyuShi97/VideoFlow", started("", "/r/VideoFlow/inference.py"), "half_precision", "Or, in `configs/things.py`, set `_CN.BOFNet.mixed_precision` from False to True."},
		{"a list stays one", "ziyc/drivestudio", train(started("", "/r/drivestudio/tools/train.py")), "lower_resolution", "Add `data.pixel_source.downscale_when_loading=[4,4,4]` at the end of your `train.py` command (default [2,2,2];"},
		{"which GPU is free only the reader knows", "charlesq34/pointnet", train(started("", "/r/pointnet/train.py")), "select_gpu", "`--gpu` in your `train.py` command chooses it."},
		{"an option for training alone", "hszhao/semseg", started("", "/r/semseg/tool/test.py"), "lower_batch_size", ""},
		{"loaders fill no card", "facebookresearch/Mask2Former", train(started("train_net.py", "")), "lower_num_workers", ""},
		{"a value that a shell would act on", "yanx27/Pointnet_Pointnet2_pytorch", train(started("train_partseg.py", "", fact.Setting{Name: "batch_size", Flag: "--batch_size", Value: "8;reboot", Line: 1})), "lower_batch_size", "Add `--batch_size 8` to your `train_partseg.py` command (default 16)."},
	} {
		t.Run(x.name, func(t *testing.T) {
			checkout := byRepository(x.repository)
			require.NotNil(t, checkout)
			own, fixes := checkout.Program(x.c)
			if x.told == "" {
				assert.NotContains(t, own.Steps, x.fix)
				assert.NotContains(t, fixes, x.fix)
				return
			}
			require.Contains(t, own.Steps, x.fix)
			assert.Contains(t, own.Steps[x.fix](x.c)[0].Text, x.told)
			assert.Contains(t, fixes, x.fix)
		})
	}
}

// TestStated: what the authors name is told to those who have less than twice as
// much.
func TestStated(t *testing.T) {
	x := byRepository("sczhou/ProPainter")
	require.NotNil(t, x)
	c := started("inference_propainter.py", "")
	assert.Empty(t, x.Stated(c), "no card is known")
	c.Total = ledger.Entry{Bytes: 12 * units.GiB, From: []string{"total"}}
	assert.Contains(t, x.Stated(c), " ProPainter's own pages name 8 GB for using it")
	c.Total.Bytes = 48 * units.GiB
	assert.Empty(t, x.Stated(c))
}

// FuzzFind: paths are strangers' words.
func FuzzFind(f *testing.F) {
	f.Add("/home/u/src/ProPainter/inference_propainter.py")
	f.Add(`C:\x\XMem-main\eval.py`)
	f.Fuzz(func(t *testing.T, file string) {
		x := at(file)
		if x == nil {
			return
		}
		rel := x.inside(file)
		require.NotEmpty(t, rel)
		top, _, _ := strings.Cut(rel, "/")
		assert.True(t, slices.Contains(x.tops, top), path.Clean(rel))
	})
}
