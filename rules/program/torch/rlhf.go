package torch

import "github.com/oomdoc/oomdoc/rules/program"

// Trainers of language models of which only who reads is known yet.
var (
	HFTrainer = program.Program{
		Name: "hf-trainer", Shown: "The Transformers Trainer", Work: "text-training", Edits: "code", Language: "python", Script: "hf-trainer",
		Hints: []string{"transformers/trainer"}, // it runs below others, too
	}
	Verl = program.Program{
		Name: "verl", Work: "text-training", Edits: "flags", Language: "python",
		Proofs: []string{"verl/workers/", "verl/trainer/", "verl.trainer", "actor_rollout_", "ray::WorkerDict.", "(WorkerDict pid="},
	}
	OpenRLHF = program.Program{
		Name: "openrlhf", Shown: "OpenRLHF", Work: "text-training", Edits: "flags", Language: "python",
		Proofs: []string{"openrlhf/", "openrlhf.cli", "(LLMRayActor pid="},
	}
	MSSwift = program.Program{
		Name: "ms-swift", Work: "text-training", Edits: "flags", Language: "python",
		Proofs: []string{"swift/llm/", "swift/cli/", "swift/trainers/"},
	}
	LMFlow = program.Program{
		Name: "lmflow", Shown: "LMFlow", Work: "text-training", Edits: "code", Language: "python",
		Proofs: []string{"lmflow/", "LMFlow-main/"},
	}
	LLMStudio = program.Program{
		Name: "h2o-llmstudio", Shown: "H2O LLM Studio", Work: "text-training", Edits: "flags", Language: "python",
		Proofs: []string{"llm_studio/"},
	}
	Torchtune = program.Program{
		Name: "torchtune", Work: "text-training", Edits: "flags", Language: "python",
		Proofs: []string{"torchtune/"},
	}
	NeMo = program.Program{
		Name: "nemo", Shown: "NeMo", Edits: "flags", Language: "python",
		Proofs: []string{"nemo/collections/"},
	}
	ESPnet = program.Program{
		Name: "espnet", Shown: "ESPnet", Work: "audio", Edits: "flags", Language: "python",
		Proofs: []string{"espnet2/", "espnet/nets/"},
	}
	Fairseq = program.Program{
		Name: "fairseq", Edits: "flags", Language: "python",
		Proofs: []string{"fairseq/trainer", "fairseq_cli/", "fairseq/tasks/"},
	}
	ColossalAI = program.Program{
		Name: "colossalai", Shown: "Colossal-AI", Edits: "code", Language: "python",
		Proofs: []string{"-packages/colossalai/"},
	}
	RLSwarm = program.Program{
		Name: "rl-swarm", Shown: "RL Swarm", Work: "text-training", Edits: "flags", Language: "python",
		Proofs: []string{"hivemind_exp/", "rgym_exp/"},
	}
	SentenceTransformers = program.Program{
		Name: "sentence-transformers", Shown: "Sentence Transformers", Work: "embedding", Edits: "code", Language: "python", Script: "sentence-transformers-script",
		Proofs: []string{"sentence_transformers/"},
	}
	PyG = program.Program{
		Name: "pyg", Shown: "PyTorch Geometric", Work: "graph", Edits: "code", Language: "python", Script: "pyg",
		Proofs: []string{"torch_geometric", "torch_sparse/", "torch_scatter/"},
	}
)
