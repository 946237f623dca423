package review

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/answer"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/odds"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/story"
)

func gib(x float64) *fact.Size { return &fact.Size{Bytes: int64(x * float64(units.GiB))} }

// incident is a refusal on a card of 24 GiB of which this program holds 12:
// 2 GiB asked for, 1 free, 0.5 kept unused.
func incident() *ledger.Case {
	c := &ledger.Case{
		Framework: "vllm", Backend: "cuda", Stack: []string{"vllm"}, Phase: "unknown",
		Failure: fact.Failure{Kind: fact.TorchAlloc, Line: 9, EndLine: 9, Figures: fact.Figures{
			Total: gib(24), Requested: gib(2), Free: gib(1), Allocated: gib(11.5), ReservedUnallocated: gib(0.5), ProcessUsed: gib(12),
			OtherProcesses: []fact.Process{{PID: 71, Bytes: 3 * units.GiB}, {PID: 72, Bytes: 8 * units.GiB}},
		}},
		Facts: &fact.Facts{Settings: []fact.Setting{
			{Name: "gpu_memory_utilization", Flag: "--gpu-memory-utilization", Value: "0.9", Line: 1},
			{Name: "max_model_len", Flag: "--max-model-len", Value: "8192", Line: 1},
		}},
	}
	ledger.Derive(c, nil)
	return c
}

func advised(id, kind, text string) Answer {
	return Answer{Fixes: []answer.Advice{{ID: id, Steps: []step.Step{{Kind: kind, Text: text}}}}}
}

// TestLook: of each sort a made contradiction is dropped, and what only looks
// like one stays.
func TestLook(t *testing.T) {
	worked := func(e effect.Effect, check string) Answer {
		return Answer{Fixes: []answer.Advice{{ID: "select_gpu", Effect: &e, Check: check, Steps: []step.Step{{Kind: "text", Text: "Take another card."}}}}}
	}
	why := func(text string) Answer { return Answer{Causes: []odds.Cause{{ID: "batch_too_large", Why: text}}} }
	not := func(text string) Answer {
		a := advised("lower_context", "shell", "vllm serve M --max-model-len 4096")
		a.Knowledge = &answer.Knowledge{Not: text}
		return a
	}
	useless := func() []answer.Useless {
		return []answer.Useless{{ID: "kill_stale_process", Why: "Nothing else is there."}}
	}
	for name, test := range map[string]struct {
		answer Answer
		change func(c *ledger.Case)
		rule   string // "" where nothing is wrong
	}{
		"another shortfall":           {answer: why("It was 1.70 GiB short."), rule: TwoShortfalls},
		"another shortfall, headline": {answer: Answer{Story: story.Story{Headline: "PyTorch ran out: 512 MiB short"}}, rule: TwoShortfalls},
		"the shortfall":               {answer: why("It was 1.00 GiB short; in MiB, 1,024 MiB short.")},
		"the shortfall as a bound":    {answer: why("64 MiB was free: less than 2 GiB short.")},
		"another bound":               {answer: why("64 MiB was free: less than 512 MiB short."), rule: TwoShortfalls},
		"a short prompt":              {answer: why("2 GiB shorter prompts; answers 3 short prompts.")},

		"alone":            {answer: why("It failed. This program alone fills the card (12 GiB of 24 GiB)."), rule: NotAlone},
		"fills it":         {answer: Answer{Story: story.Story{Headline: "PyTorch ran out of its card: this program fills it by itself"}}, rule: NotAlone},
		"fills it, true":   {answer: why("This program fills the card by itself."), change: func(c *ledger.Case) { c.Mine.Bytes = 21 * units.GiB }},
		"does so itself":   {answer: why("ComfyUI fits the weights to the card by itself.")},
		"most of the card": {answer: why("Another program holds most of this card."), rule: NotMost},
		"most, true":       {answer: why("Another program holds most of this card."), change: func(c *ledger.Case) { c.Others.Bytes = 13 * units.GiB }},

		"more was free":  {answer: worked(effect.Effect{NeedBytes: 1, HaveBytes: 2, Fits: true, Basis: "log"}, ""), change: func(c *ledger.Case) { c.Free.Bytes = 3 * units.GiB }, rule: WasFree},
		"less was free":  {answer: worked(effect.Effect{NeedBytes: 1, HaveBytes: 2, Fits: true, Basis: "log"}, "")},
		"check too much": {answer: worked(effect.Effect{NeedBytes: 23 * units.GiB, HaveBytes: 24*units.GiB - units.GiB/2, Fits: true, Basis: "estimate"}, "It shows 1 to 2 GiB free."), rule: Unmet},
		"check":          {answer: worked(effect.Effect{NeedBytes: 20 * units.GiB, HaveBytes: 24 * units.GiB, Fits: true, Basis: "estimate"}, "It shows 1 to 2 GiB free.")},

		"both":                             {answer: Answer{Useless: useless(), Fixes: []answer.Advice{{ID: "kill_stale_process"}}}, rule: Refuted},
		"blamed, and ending it is useless": {answer: Answer{Useless: useless(), Causes: []odds.Cause{{ID: "leaked_process"}}}, rule: Refuted},
		"only useless":                     {answer: Answer{Useless: useless(), Causes: []odds.Cause{{ID: "batch_too_large"}}}},
		"refuted by the card":              {answer: not("`--max-model-len`, `--enforce-eager`: neither counts."), rule: Refuted},
		"refuted alone":                    {answer: not("`--max-model-len` alone; a larger `--max-model-len`.")},

		"limit below":       {answer: advised("raise_memory_limit", "shell", "docker update --memory=8g --memory-swap=8g NAME"), change: func(c *ledger.Case) { c.F().KilledRSS = gib(9) }, rule: BelowStated},
		"limit above":       {answer: advised("raise_memory_limit", "shell", "docker update --memory=32g NAME"), change: func(c *ledger.Case) { c.F().KilledRSS = gib(9) }},
		"limit below, pod":  {answer: advised("raise_memory_limit", "config", "resources:\n  limits:\n    memory: \"8Gi\""), change: func(c *ledger.Case) { c.F().KilledRSS = gib(9) }, rule: BelowStated},
		"raised downwards":  {answer: advised("raise_gpu_memory_utilization", "shell", "vllm serve M --gpu-memory-utilization=0.85"), rule: WrongWay},
		"lowered upwards":   {answer: advised("lower_context", "shell", "vllm serve M --max-model-len 16384"), rule: WrongWay},
		"lowered":           {answer: advised("lower_context", "shell", "vllm serve M --max-model-len 4096 --gpu-memory-utilization 0.9")},
		"own value":         {answer: advised("enforce_eager", "config", "--max-model-len 8192"), rule: OwnValue},
		"told no lower":     {answer: advised("lower_context", "text", "Use `--max-model-len 8192` (default 32768)."), rule: OwnValue},
		"told lower":        {answer: advised("lower_context", "text", "Use `--max-model-len 4096` or `max_model_len=2048`.")},
		"told of others":    {answer: advised("raise_watermark", "text", "Leave `--max-model-len 8192`.")},
		"largest left":      {answer: advised("kill_stale_process", "shell", "kill 71   # if it is yours"), rule: LargestLeft},
		"largest too":       {answer: advised("kill_stale_process", "shell", "kill 72 71   # if they are yours")},
		"nobody listed":     {answer: advised("kill_stale_process", "shell", "kill PID")},
		"another's command": {answer: advised("lower_context", "shell", "sudo env X=1 ollama run NAME"), rule: NotTheirs},
		"another's module":  {answer: advised("lower_context", "shell", "python -m sglang.launch_server --model-path M"), rule: NotTheirs},
		"announced":         {answer: advised("lower_context", "text", "It is small. In a run:"), rule: Announced},
		"all announced":     {answer: advised("lower_context", "text", "In a run:"), rule: Announced},
		"own command":       {answer: advised("lower_context", "shell", "VLLM_X=1 vllm serve M --max-model-len 4096\nnvidia-smi")},
	} {
		t.Run(name, func(t *testing.T) {
			c := incident()
			if test.change != nil {
				test.change(c)
			}
			dropped := Look(c, &test.answer)
			if test.rule == "" {
				assert.Empty(t, dropped)
				return
			}
			rules := []string{}
			for _, d := range dropped {
				rules = append(rules, d.Rule)
			}
			assert.Equal(t, []string{test.rule}, rules)
			assert.Empty(t, Look(c, &test.answer), "what was dropped is still there")
			for _, f := range test.answer.Fixes {
				assert.True(t, len(f.Steps) > 0 || test.rule == Refuted, "a fix without a step")
			}
		})
	}
}

// TestLookLeavesTheRest: the sentences beside one that goes stay as they are.
func TestLookLeavesTheRest(t *testing.T) {
	a := Answer{
		Story:  story.Story{Headline: "PyTorch ran out of its 24 GiB card: this program fills it by itself"},
		Causes: []odds.Cause{{Why: "It failed in a step. This program alone fills the card (12 GiB of 24 GiB). Nothing was freed."}},
	}
	assert.Len(t, Look(incident(), &a), 2)
	assert.Equal(t, "PyTorch ran out of its 24 GiB card", a.Story.Headline)
	assert.Equal(t, "It failed in a step. Nothing was freed.", a.Causes[0].Why)
}

// TestLookHalvesOwnValues: a value that is told stands below the reader's own.
func TestLookHalvesOwnValues(t *testing.T) {
	c := incident()
	c.Facts.Settings = append(c.Facts.Settings, fact.Setting{Name: fact.OptionBatch, Flag: "--train_batch_size", Value: "12", Line: 1})
	a := advised("lower_batch_size", "text", "Set `train_batch_size: 64` and `gradient_accumulation_steps=64`, or `--max-model-len=16384`.")
	Look(c, &a)
	assert.Equal(t, "Set `train_batch_size: 6` and `gradient_accumulation_steps=64`, or `--max-model-len=4096`.", a.Fixes[0].Steps[0].Text)
}
