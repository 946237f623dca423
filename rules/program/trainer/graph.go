package trainer

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Graphs is what libraries for graphs share: a whole graph in one step does not
// get smaller with a batch size.
var Graphs = program.Program{
	Remedies: map[string][]cause.Remedy{
		cause.Fragmentation: parts.InPieces, cause.BatchTooLarge: graphWork, cause.TrainingStateTooLarge: graphWork, cause.ModelTooLarge: graphWork,
		cause.OversizedAllocation: append([]cause.Remedy{{Fix: "fix_shape", Fit: cause.MayHelp}}, graphWork...),
	},
	Titles: map[string]string{
		"lower_batch_size": "Train on sampled neighbours, not on the whole graph", "use_smaller_model": "Use fewer or narrower layers",
		"inference_mode": "Evaluate without gradients, in batches",
	},
	Costs: map[string]string{"lower_batch_size": "Gradients are noisier; an epoch takes longer.", "use_smaller_model": "Some accuracy."},
}

var graphWork = []cause.Remedy{
	{Fix: "lower_batch_size", Fit: cause.Cures},
	{Fix: "use_smaller_model", Fit: cause.Helps},
	{Fix: "inference_mode", Fit: cause.MayHelp},
	{Fix: "mixed_precision", Fit: cause.LastResort},
}

// PyG is PyTorch Geometric.
var PyG = program.Program{
	Name: "pyg", Script: "pyg", Shown: "PyTorch Geometric",
	Work: "graph", Edits: "code", Language: "python",
	Sources: program.Sources{"pytorch_geometric/torch_geometric/loader/neighbor_loader.py": "num_neighbors batch_size input_nodes"},
	Proofs:  []string{"torch_geometric/", "-packages/torch_scatter/", "-packages/torch_sparse/", "torch_geometric", "torch_sparse/", "torch_scatter/"},
	Steps: parts.Spelling{
		"lower_batch_size":  parts.Told("For one large graph, as below (pass the model all its arguments, such as `batch.edge_attr`). For many small graphs, halve the DataLoader's `batch_size` instead:", step.Paste("python", "from torch_geometric.loader import NeighborLoader\n\nloader = NeighborLoader(data, num_neighbors=[15, 10], batch_size=1024, input_nodes=data.train_mask)   # data stays on the CPU\nfor batch in loader:\n    batch = batch.to(\"cuda\")\n    out = model(batch.x, batch.edge_index)[:batch.batch_size]")),
		"use_smaller_model": parts.Say("Halve `hidden_channels` or the attention heads, or drop a layer."),
		"inference_mode":    step.Paste("python", "model.eval()\nwith torch.no_grad():\n    out = model(data.x, data.edge_index)   # on the CPU if it is still too large"),
	},
	Like:  []*program.Program{&parts.DataAside, &Graphs},
	Cards: pygCards,
}

// DGL is the Deep Graph Library.
var DGL = program.Program{
	Name: "dgl", Shown: "DGL",
	Work: "graph", Edits: "code", Language: "python",
	Sources: program.Sources{"dgl/python/dgl/dataloading/dataloader.py": "use_uva batch_size device"},
	Proofs:  []string{"-packages/dgl/", "dgl/python/dgl/", "dgl._ffi", "base.DGLError"},
	Steps: parts.Spelling{
		"lower_batch_size":  step.Paste("python", "sampler = dgl.dataloading.NeighborSampler([15, 10])\nloader = dgl.dataloading.DataLoader(graph, train_nodes.to(\"cuda\"), sampler, batch_size=1024, shuffle=True,\n                                    device=\"cuda\", use_uva=True)   # graph stays in system memory"),
		"use_smaller_model": parts.Say("Halve the hidden size or the attention heads, or drop a layer."),
		"inference_mode":    step.Paste("python", "model.eval()\nwith torch.no_grad():\n    out = model(blocks, features)"),
	},
	Like:  []*program.Program{&parts.DataAside, &Graphs},
	Cards: dglCards,
}
