package ranks

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

// CloneFailed is about FSDP's warning that an entry of the gathered state dict
// could not be copied.
var CloneFailed = cause.Card{
	ID: "pytorch/fsdp-clone", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"Failed to clone() tensor with name", "state_dict() call if this parameter is managed by FSDP"}, Cause: cause.ModelTooLarge, Weight: cause.Decisive,
	Headline: "ran out of memory while saving a checkpoint: the saved file may be unusable", Means: "FSDP gathered the full model on the GPU and had no room to copy it for `state_dict()`. It only warns and goes on, so the saved file may contain wrong weights. The training itself did not fail.",
	Not: "A smaller batch or length: no step was running.",
	Cures: []cause.Cure{
		{Fix: "cpu_offload", Title: "Gather the model in RAM, on rank 0 only", Told: "Replace `trainer.save_model()` with:", Kind: "python", Text: "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, FullStateDictConfig, StateDictType\n\nwith FSDP.state_dict_type(trainer.model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):\n    trainer.save_model()", Cost: "RAM for the whole model on one machine."},
		{Fix: "shard_training", Title: "Or save shards (SHARDED_STATE_DICT)", Told: "In accelerate's config: `fsdp_config: fsdp_state_dict_type: SHARDED_STATE_DICT`. `accelerate merge-weights CHECKPOINT_FOLDER OUT_FOLDER` merges them afterwards.", Cost: "One more step."},
		{Fix: "upgrade_version", Title: "Or update transformers and accelerate", Told: "Newer Trainers save FSDP models through accelerate. Test saving with `--max_steps 5` first.", Cost: "Some minutes."},
	},
	Sources: []string{"pytorch/torch/distributed/fsdp/_state_dict_utils.py", "FastChat/fastchat/train/train.py", "https://github.com/lm-sys/FastChat/issues/256", "https://github.com/tatsu-lab/stanford_alpaca/issues/65"},
}
