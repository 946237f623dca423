package ranks

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

// CloneFailed is about FSDP's warning that an entry of the gathered state dict
// could not be copied.
var CloneFailed = cause.Card{
	ID: "pytorch/fsdp-clone", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"Failed to clone() tensor with name", "state_dict() call if this parameter is managed by FSDP"}, Cause: cause.ModelTooLarge, Weight: cause.Decisive,
	Headline: "ran out of memory while it copied the gathered model for a checkpoint: the file may be unusable", Means: "FSDP had gathered the whole model on each card, and there was no room for the copies that `state_dict()` makes of it. It only warns and goes on: the entries it names may point to memory that is used again, so what is then saved may hold wrong weights. The training itself was not what failed.",
	Not: "A smaller batch or length: no step was running. Trusting the saved file: load it and compare.",
	Cures: []cause.Cure{
		{Fix: "cpu_offload", Title: "Gather in the RAM of the first rank only", Told: "Around the saving, in place of `trainer.save_model()` alone:", Kind: "python", Text: "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, FullStateDictConfig, StateDictType\n\nwith FSDP.state_dict_type(trainer.model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):\n    trainer.save_model()", Cost: "RAM for the whole model on one machine."},
		{Fix: "shard_training", Title: "Save shards (SHARDED_STATE_DICT)", Told: "accelerate's `fsdp_config: fsdp_state_dict_type: SHARDED_STATE_DICT`; `accelerate merge-weights CHECKPOINT_FOLDER OUT_FOLDER` makes one file afterwards.", Cost: "A merge afterwards."},
		{Fix: "upgrade_version", Title: "Update Transformers and accelerate", Told: "Later Trainers save FSDP models by accelerate's own functions.", Cost: "Some minutes; try the saving after a few steps first (`--max_steps 5`)."},
	},
	Sources: []string{"pytorch/torch/distributed/fsdp/_state_dict_utils.py", "FastChat/fastchat/train/train.py", "https://github.com/lm-sys/FastChat/issues/256", "https://github.com/tatsu-lab/stanford_alpaca/issues/65"},
}
