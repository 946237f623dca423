package cures_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
)

func TestPassesValidation(t *testing.T) {
	for source, want := range map[string]bool{
		`result, is_best = iterate("val", args, val_loader, model, None, logger, epoch)`: true,
		`loss = self.run_epoch(model, self.valid_loader)`:                                true,
		`out = step(batch, phase='val')`:                                                 true,
		`iterate("train", args, train_loader, model, optimizer, logger, epoch)`:          false,
		`trainer.fit(model, train_loader, val_loader)`:                                   false,
		`val_loader = DataLoader(val_set, batch_size=8)`:                                 false,
		`data = MyDataset("val", root)`:                                                  false,
		`pred = model(batch_data)`:                                                       false,
	} {
		assert.Equal(t, want, cures.PassesValidation(source), source)
	}
}
