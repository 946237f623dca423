package code_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/program/wording"
)

func TestForEra(t *testing.T) {
	for _, x := range []struct {
		latest     int
		text, want string
	}{
		{0, "`torch.inference_mode()` around it.", "`torch.inference_mode()` around it."},
		{205, "`torch.inference_mode()` around it.", "`torch.inference_mode()` around it."},
		{108, "`torch.inference_mode()` around it.", "`torch.no_grad()` around it."},
		{3, "`torch.inference_mode()` around it. Less at a time.", "Less at a time."},
		{109, "Use `torch.autocast(\"cuda\")`.", "Use `torch.cuda.amp.autocast()`."},
		{104, "Half the batch. Use `torch.autocast(\"cuda\")`.", "Half the batch."},
		{104, "DataLoader(data, num_workers=2, prefetch_factor=2)", "DataLoader(data, num_workers=2)"},
		{104, "Freeze layers; `bitsandbytes.optim.AdamW8bit`.", "Freeze layers."},
	} {
		c := &ledger.Case{Facts: &fact.Facts{Facts: []fact.Fact{{Name: "torch_version", Text: fmt.Sprintf("%d.%d", x.latest/100, x.latest%100)}}}}
		assert.Equal(t, x.want, code.ForEra(c, x.text, wording.Without), "%d: %s", x.latest, x.text)
	}
}
