package field

import "github.com/oomdoc/oomdoc/rules/program"

// Cell2location finds cell types in spots of tissue.
var Cell2location = of(program.Program{
	Name: "cell2location", Shown: "cell2location", Work: "data", Edits: "code",
	Proofs: []string{"cell2location/models/", "cell2location.models.", "cell2location.cluster_averages"},
	Titles: map[string]string{"lower_batch_size": "Train in minibatches (batch_size)", "lower_resolution": "Keep fewer genes", "stream_dataset": "Map the samples in groups", "cpu_offload": "Save the posterior by quantiles, in parts", "kill_stale_process": "Check what else is on the card"},
	Costs:  map[string]string{"lower_batch_size": "More time; compare the training curve (ELBO).", "lower_resolution": "Rare markers may go.", "stream_dataset": "Samples of one group share less.", "cpu_offload": "No means and standard deviations.", "kill_stale_process": "A look is free."},
	Steps: steps{
		"lower_batch_size": python("mod.train(max_epochs=30000, batch_size=2500, train_size=1)   # Cell2location: None unless set, all locations at once; RegressionModel: 2500"),
		"lower_resolution": python("from cell2location.utils.filtering import filter_genes\nselected = filter_genes(adata_ref, cell_count_cutoff=15, cell_percentage_cutoff2=0.05, nonz_mean_cutoff=1.12)   # higher: fewer genes\nadata_ref = adata_ref[:, selected].copy()"),
		"stream_dataset":   say("Use `adata_vis[adata_vis.obs[\"sample\"].isin(part)].copy()` with a few samples per model. On Visium HD use one region, or bins of 16 um instead of 8."),
		"cpu_offload":      python("mod.export_posterior(adata_vis, use_quantiles=True, add_to_obsm=[\"q05\"], sample_kwargs={\"batch_size\": 1000})   # 2048 unless set"),
	},
	Sources: program.Sources{"cell2location/cell2location/models/_cell2location_model.py": "batch_size use_quantiles add_to_obsm sample_kwargs", "cell2location/cell2location/utils/filtering.py": "cell_count_cutoff cell_percentage_cutoff2 nonz_mean_cutoff"},
}, []shortage{{
	id: "posterior", said: []string{"export_posterior", "sample_posterior", "posterior_quantile"}, source: "cell2location/cell2location/models/base/_pyro_mixin.py",
	means: "It failed in the export of the posterior, after the training: by default 1000 samples, in batches of 2048 locations. You can save the trained model (`mod.save`) and export it in another session.",
	not:   "Training again, or another batch size there.",
	fixes: []string{"cpu_offload", "kill_stale_process"},
}, {
	id: "whole", said: []string{"batch_size=None", "The number of training batches (1) is smaller"}, source: "cell2location/cell2location/models/_cell2location_model.py",
	means: "With `batch_size=None` (the default) `Cell2location.train` puts all locations on the GPU in every step: locations x genes x 4 bytes, several times over with the gradients.",
	not:   "Fewer epochs, `num_particles` (already 1), or allocator settings.",
	fixes: []string{"lower_batch_size", "lower_resolution", "stream_dataset"},
}, {
	means:  "Without `batch_size` `Cell2location.train` puts all locations on the GPU in every step: locations x genes x 4 bytes, several times over with the gradients. `RegressionModel.train` uses batches of 2,500 cells, so there another program or very many genes are more likely.",
	fixes:  []string{"lower_batch_size", "kill_stale_process", "lower_resolution", "stream_dataset"},
	source: "cell2location/cell2location/models/_cell2location_model.py",
}}, one(shortage{
	means:  "The export of the posterior keeps 1000 samples of every variable in RAM by default: samples x locations x cell types x 4 bytes, several variables of that size. 20,000 locations x 50 types are 3.7 GiB for one.",
	not:    "Training again: save the model (`mod.save`) and export it in another session.",
	fixes:  []string{"cpu_offload", "stream_dataset", "add_swap"},
	source: "cell2location/cell2location/models/base/_pyro_mixin.py",
}))
