package cures

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// TestBatchPlace: where the batch size of an unknown script is to be found, as far
// as the log shows.
func TestBatchPlace(t *testing.T) {
	module := func(file, source string) fact.Code {
		return fact.Code{File: file, Function: "<module>", Source: source, At: 9, Line: 3, Own: true}
	}
	for _, x := range []struct {
		name  string
		code  []fact.Code
		batch string
		place string
	}{
		{"options are parsed", []fact.Code{module("/home/u/p/train.py", "main(args)")}, "", "`python train.py --help` shows whether it is an option"},
		{"deeper in the traceback", []fact.Code{module("train.py", "main()"), {File: "/home/u/p/model.py", Function: "forward", Source: "return self.net(x, opt.scale)", Line: 4, Own: true}}, "", "`python train.py --help` shows whether it is an option"},
		{"options are typed", []fact.Code{{File: "tools/run.py", Args: " --gpu 0", Line: 1, Own: true}}, "", "`python tools/run.py --help` shows whether it is an option"},
		{"a file of settings is typed", []fact.Code{{File: "run.py", Args: " --cfg a.yaml", Line: 1, Own: true}}, "", "set in `a.yaml`"},
		{"nothing shows options", []fact.Code{module("train.py", "loss.backward()")}, "", ""},
		{"the batch is stated", []fact.Code{module("train.py", "main(args)")}, "16", ""},
		{"a name that a shell reads", []fact.Code{module("/home/u/p/a$(b).py", "main(args)")}, "", ""},
		{"a name that is an option", []fact.Code{module("-c.py", "main(args)")}, "", ""},
		{"a library's code", []fact.Code{{File: "/usr/lib/python3/site-packages/x/cli.py", Function: "<module>", Source: "main(args)", Line: 3}}, "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := &ledger.Case{Failure: fact.Failure{Kind: fact.TorchAlloc, Line: 9}, Facts: &fact.Facts{Code: x.code}}
			if x.batch != "" {
				c.Facts.Settings = []fact.Setting{{Name: fact.OptionBatch, Flag: "--batch_size", Value: x.batch, Line: 1}}
			}
			assert.Equal(t, x.place, batchPlace(c))
		})
	}
}

// TestCommand: a program that was typed with options of its own.
func TestCommand(t *testing.T) {
	for _, x := range []struct{ line, name string }{
		{"stylegan2_pytorch --data faces --image-size 256", "stylegan2_pytorch"},
		{"(env) u@box:~$ vits-train --bs 8 --seg 32", ""}, // the prompt has two words
		{"u@box:~$ vits-train --bs 8 --seg 32", "vits-train"},
		{"use --medvram --xformers for less", ""},
		{"tool --one", ""},
		{"tool.py --one 1 --two 2", ""},
		{"$(rm) --one 1 --two 2", ""},
	} {
		c := &ledger.Case{Failure: fact.Failure{Line: 9}, Facts: &fact.Facts{Talk: []fact.Word{{Text: x.line, Line: 1}}}}
		assert.Equal(t, x.name, command(c), x.line)
	}
}

// TestSample: what a sample is, and so how it becomes smaller, shows in the names
// of the reader's own code.
func TestSample(t *testing.T) {
	for _, x := range []struct{ name, work, source, told string }{
		{"points", "vision", "grouped_points = index_points(xyz, idx)", "fewer points or smaller scenes"},
		{"one word alone", "vision", "out = self.head(points)", "smaller images or crops"},
		{"volumes", "vision", "x = self.conv3d(volume, mri)", "smaller patches"},
		{"clips", "vision", "x = self.video(clips)", "fewer frames"},
		{"pictures", "vision", "x = self.backbone(images)", "smaller images or crops"},
		{"texts", "text-training", "out = model(ids)", "shorter texts"},
		{"nothing known", "", "out = model(ids)", "otherwise"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := &ledger.Case{Failure: fact.Failure{Kind: fact.TorchAlloc, Line: 9}, Reader: ledger.Reader{Work: x.work}, Facts: &fact.Facts{Code: []fact.Code{{File: "net.py", Function: "forward", Source: x.source, Line: 3, Own: true}}}}
			assert.Contains(t, sample(c, "otherwise"), x.told)
		})
	}
}
