package cures_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
)

func TestMilestone(t *testing.T) {
	for line, want := range map[string]string{
		" 12%|█▏        | 299/2400 [05:01<35:20,  1.01s/it]Traceback (most recent call last):": "step 300 of 2,400",
		" 12%|█▏        | 300/2400 [05:01<35:20,  1.01s/it]":                                   "step 300 of 2,400",
		" 12%|█▏        | 317/2400 [05:01<35:20,  1.01s/it]":                                   "",
		"100%|██████████| 640/640 [10:01<00:00,  1.01it/s, loss=0.31]":                         "the end of the epoch (640 steps)",
		"Loading checkpoint shards: 100%|██████████| 64/64 [00:21<00:00,  3.01it/s]":           "",
		"Epoch: [3] [   0/2400] eta: 1:22:01 loss: 0.8112":                                     "the first step of epoch 3",
		"Train Epoch: 3 [0/2400 (0%)] Loss: 0.8112":                                            "the first step of epoch 3",
		"Train Epoch: 1 [0/2400 (0%)] Loss: 0.8112":                                            "",
	} {
		c := &ledger.Case{Phase: "training", Failure: fact.Failure{Line: 9}, Facts: &fact.Facts{Talk: []fact.Word{{Text: line, Line: 8}}}}
		assert.Equal(t, want, cures.Milestone(c).Place, line)
	}
}
