package torch

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Trainers reads what training programs print about the run: batch, lengths,
// trainable parameters, the card.
var Trainers = text.Parser{Name: "trainers", Context: trainersContext, Parse: parseTrainers}

var trainersContext = []string{
	"Max memory:", "Batch size per device", "Instantaneous batch size per device", "Gradient Accumulation steps",
	"Number of trainable parameters =", "Trainable parameters =", "per_device_train_batch_size", "batch size per device /",
	"max_seq_length=", "cutoff_len", "sequence_len:", "torch.distributed.elastic", "distributed init (rank", "Num GPUs",
	"Batch size:", "Namespace(", "max_memory={0:", "batch_size", "batch-size",
}

var (
	unslothCard  = text.NewPattern(`gpu:(?<name>[^.]{2,60})\.(?:numgpus=\d+\.)?maxmemory:(?<total>NUMgb)`)
	maxMemory    = text.NewPattern(`max_memory=\{0:['"]?(?<first>\d{1,4})gi?b['"]?,1:['"]?(?<second>\d{1,4})gi?b`)
	batchLine    = text.NewPattern(`batchsizeperdevice(?:/[^:]{0,40})?[=:](?<n>\d{1,5})`)
	batchColon   = text.NewPattern(`batchsize:(?<n>\d{1,5})(?!\d|\.)`)
	namespace    = text.NewPattern(`^namespace\((?:[^()]{0,1500},)?(?:train_)?batch_size=(?<n>\d{1,5})[,)]`)
	accumulation = text.NewPattern(`gradientaccumulationsteps[=:](?<n>\d{1,5})`)
	trainable    = text.NewPattern(`trainableparameters=(?<n>INT)`)
	trainerBatch = text.NewPattern(`per_device_train_batch_size['"]?[=:](?<n>\d{1,5})`)
	batchFlag    = text.NewPattern(`^--?(?<name>(?:per_device_|micro_|train[_-])*batch[_-]size(?:_per_gpu)?)['"]?[,=]?['"]?(?<n>\d{1,5})(?![\d.])`)
	sequence     = text.NewPattern(`(?:max_seq_length['"]?=|cutoff_len['"]?[=:]|sequence_len:)(?<n>\d{2,7})`)
)

func parseTrainers(l *text.Log, hits []text.Hit, f *fact.Facts) {
	for _, h := range hits {
		at := h.At
		switch trainersContext[h.Word] {
		case "Max memory:":
			if m := l.Find(unslothCard, at-100, at+40); m.Ok() {
				text.Card(f, fact.Device{Index: -1, Name: m.Text("name"), Backend: "cuda", Total: m.Size("total"), Line: m.Line()}, l.LineText(at))
			}
		case "Batch size per device", "Instantaneous batch size per device", "batch size per device /":
			text.Setting(f, l.Find(batchLine, at, at+90), "per_device_train_batch_size")
		case "Batch size:":
			if !strings.HasSuffix(l.Squeezed()[:at], "total") {
				text.Setting(f, l.Find(batchColon, at, at+30), "batch_size")
			}
		case "Namespace(": // argparse, printed by scripts of every kind
			text.Setting(f, l.Find(namespace, at, at+1600), "batch_size")
		case "Gradient Accumulation steps":
			text.Setting(f, l.Find(accumulation, at, at+50), "gradient_accumulation_steps")
		case "Number of trainable parameters =", "Trainable parameters =":
			if m := l.Find(trainable, at, at+80); m.Ok() {
				f.Facts = append(f.Facts, fact.Fact{Name: "trainable_parameters", Count: m.Count("n"), Text: l.LineText(at), Line: m.Line()})
			}
		case "per_device_train_batch_size":
			text.Setting(f, l.Find(trainerBatch, at, at+50), "per_device_train_batch_size")
		case "batch_size", "batch-size":
			scriptBatch(f, l, at)
		case "max_seq_length=", "cutoff_len", "sequence_len:":
			text.Setting(f, l.Find(sequence, at, at+40), "max_seq_length")
		case "max_memory={0:":
			if m := l.Find(maxMemory, at, at+60); m.Ok() {
				f.Settings = append(f.Settings,
					fact.Setting{Name: "max_memory_0", Value: m.Text("first"), Line: m.Line()}, fact.Setting{Name: "max_memory_1", Value: m.Text("second"), Line: m.Line()})
			}
		case "torch.distributed.elastic", "distributed init (rank":
			f.Signals = append(f.Signals, fact.Signal{ID: "distributed", Line: l.Line(at), Text: l.LineText(at)})
		}
	}
}

// scriptBatch reads "python train.py --batch_size 8" and the list of arguments
// that launchers print (['main.py', '--batch_size', '8']).
func scriptBatch(f *fact.Facts, l *text.Log, at int) {
	start := at - len("--per_device_train_")
	if i := strings.LastIndex(l.Squeezed()[max(start, 0):at], "-"); i >= 0 {
		start = max(start, 0) + i
	}
	for start > 0 && l.Squeezed()[start-1] == '-' {
		start--
	}
	m := l.Find(batchFlag, start, at+30)
	if !m.Ok() || !strings.Contains(l.LineText(at), ".py") {
		return // an advice or a usage line, as a rule
	}
	flag := "--" + m.Text("name")
	f.Settings = append(f.Settings, fact.Setting{Name: strings.ReplaceAll(m.Lower("name"), "-", "_"), Value: m.Lower("n"), Line: m.Line(), Flag: flag})
}
