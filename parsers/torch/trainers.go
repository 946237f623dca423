package torch

import (
	"strings"

	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Trainers reads what training programs print about the run: batch, lengths,
// the card.
var Trainers = text.Parser{Name: "trainers", Explains: map[fact.Kind]int{fact.TorchRetry: 4}}.Reading(trainerFailures, trainerLines, nil)

// The code that prints them has braces where a function's name stands.
var trainerFailures = []text.Wording{
	text.On("Attempting to copy inputs", text.FailsIf(fact.Failure{Kind: fact.TorchRetry, Framework: "pytorch", Backend: "cuda", Wrapper: true}, 0, 260, text.NewPattern(`^attemptingtocopyinputs(?:of[^{}]{3,160})?to(?:cpu|fp16)duetocudaoom`))),
}

var trainerLines = slices.Concat(
	[]text.Wording{
		text.On("Max memory:", unslothCard),
		text.On("Gradient Accumulation steps", text.States(0, 50, text.NewPattern(`gradientaccumulationsteps[=:](?<set_gradient_accumulation_steps>\d{1,5})`))),
		text.On("per_device_train_", text.States(0, 50, text.NewPattern(`^per_device_train_batch_size['"]?[=:](?<set_per_device_train_batch_size>\d{1,5})`))),
		text.On("Batch size", text.States(12, 30, text.NewPattern(`(?<!total|effective|effective\)|global)batchsize(?:perdevice)?[:=](?<set_batch_size>\d{1,5})(?!\d|\.)`))),
		text.On("shape = (", text.States(0, 60, printedShape)), text.On("shape: (", text.States(0, 60, printedShape)), // print(x.shape) in a script
		text.On("Number of points at", text.States(0, 60, text.NewPattern(`^numberofpointsatinitiali[sz]ation:(?<points>\d{2,9})`))), // Gaussian Splatting
		text.On("max_memory={0:", text.States(0, 60, text.NewPattern(`max_memory=\{0:['"]?(?<set_max_memory_0>\d{1,4})gi?b['"]?,1:['"]?(?<set_max_memory_1>\d{1,4})gi?b`))),
	},
	text.OnAny(text.States(0, 90, text.NewPattern(`batchsizeperdevice(?:/[^:]{0,40})?[=:](?<set_per_device_train_batch_size>\d{1,5})`)),
		"Batch size per device", "Instantaneous batch size per device", "batch size per device /"),
	text.OnAny(text.States(0, 40, text.NewPattern(`(?:max_seq_length['"]?=|cutoff_len['"]?[=:]|sequence_len:)(?<set_max_seq_length>\d{2,7})`)),
		"max_seq_length=", "cutoff_len", "sequence_len:"),
	text.OnAny(rankProcess, "local_rank:", "Sending process"), text.OnAny(severalRanks, "Killing subprocess"),
	text.OnAny(text.Signals("distributed"), "torch.distributed.elastic", "distributed init (rank", "--local_rank=1", "--local_rank=2", "--local_rank=3", "[rank1]:", "[rank2]:", "[rank3]:", "[rank4]:", "[rank5]:", "[rank6]:", "[rank7]:", "nproc_per_node=2", "nproc_per_node=4", "nproc_per_node=8", "nproc_per_node 2", "nproc_per_node 4", "nproc_per_node 8", "--multi_gpu"),
)

// ranksApart is how far apart a launcher's lines on two of its processes stand.
const ranksApart = 200

// rankProcess reads the process of a rank from its launcher's line.
var rankProcess = text.States(0, 60, text.NewPattern(`^(?:killingsubprocess|local_rank:\d{1,3}(?:\)exitcode:-?\d{1,3})?\(pid:|sendingprocess)(?<rank_pid>\d{2,7})`))

// severalRanks: a launcher that ends its processes prints a line for each.
func severalRanks(m text.Message) int {
	rest := m.Log.Squeezed()[m.End:]
	if strings.Contains(rest[:min(len(rest), ranksApart)], "killingsubprocess") {
		m.Log.Signal(m.Facts, "distributed", m.At)
	}
	return rankProcess(m)
}

var printedShape = text.NewPattern(`shape[=:]\((?<printed_shape>\d{2,12}),\d`)

var cardPattern = text.NewPattern(`gpu:(?<name>[^.]{2,60})\.(?:numgpus=\d+\.)?maxmemory:(?<total>NUMgb)`)

// unslothCard reads the head that Unsloth prints.
func unslothCard(m text.Message) int {
	if k := m.Around(cardPattern, 100, 40); k.Ok() {
		text.Card(m.Facts, fact.Device{Index: -1, Name: k.Text("name"), Backend: "cuda", Total: k.Size("total"), Line: k.Line()}, m.Log.LineText(m.At))
	}
	return m.End
}

// DeepSpeed reads see_memory_usage (deepspeed/runtime/utils.py, all
// versions): what PyTorch uses and holds.
var DeepSpeed = text.Parser{Name: "deepspeed"}.Reading(nil, []text.Wording{
	// "MA 26.38 GB  Max_MA 26.38 GB  CA 26.71 GB  Max_CA 27 GB": allocated and
	// reserved, with their peaks. GB is GiB there.
	text.On("GB Max_MA ", text.States(24, 100, text.NewPattern(`ma(?<torch_allocated>SIZE)max_maSIZEca(?<torch_reserved>SIZE)max_caSIZE`))),
}, nil)
