package lab

import "github.com/oomdoc/oomdoc/rules/program"

// Trainers of language models of which only who reads is known.
var (
	HFTrainer = program.Program{
		Name: "hf-trainer", Shown: "The Transformers Trainer", Work: "text-training", Edits: "code", Language: "python", Script: "hf-trainer",
		Hints: []string{"transformers/trainer"}, // it runs below others, too
	}
	LMFlow = program.Program{
		Name: "lmflow", Shown: "LMFlow", Work: "text-training", Edits: "code", Language: "python",
		Proofs: []string{"lmflow/", "LMFlow-main/"},
	}
	LLMStudio = program.Program{
		Name: "h2o-llmstudio", Shown: "H2O LLM Studio", Work: "text-training", Edits: "flags", Language: "python",
		Proofs: []string{"llm_studio/"},
	}
	RLSwarm = program.Program{
		Name: "rl-swarm", Shown: "RL Swarm", Work: "text-training", Edits: "flags", Language: "python",
		Proofs: []string{"hivemind_exp/", "rgym_exp/"},
	}
)
