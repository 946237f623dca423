package rules

import (
	"testing"

	"github.com/oomdoc/oomdoc/parsers/fact"

	"github.com/stretchr/testify/assert"
)

func TestEditedCommand(t *testing.T) {
	settings := []fact.Setting{
		{Name: "listen", Flag: "--listen"},
		{Name: "gpu_split", Value: "24,24", Flag: "--gpu-split"},
		{Name: "model", Value: "a;rm -rf /", Flag: "--model"},
		{Name: "max_seq_len", Value: "4096", Flag: "--max_seq_len"},
	}
	for name, c := range map[string]struct {
		changes []change
		want    string
	}{
		"nothing":   {nil, "--listen --gpu-split 24,24 --model 'a;rm' ./-rf / --max_seq_len 4096"},
		"replaced":  {[]change{{flag: "--gpu-split", value: "18,22"}}, "--listen --gpu-split 18,22 --model 'a;rm' ./-rf / --max_seq_len 4096"},
		"added":     {[]change{{flag: "--cache_4bit"}}, "--listen --gpu-split 24,24 --model 'a;rm' ./-rf / --max_seq_len 4096 --cache_4bit"},
		"spelling":  {[]change{{flag: "--max-seq-len", value: "2048"}, {flag: "--listen", drop: true}}, "--gpu-split 24,24 --model 'a;rm' ./-rf / --max-seq-len 2048"},
		"not there": {[]change{{flag: "--no-half", drop: true}}, "--listen --gpu-split 24,24 --model 'a;rm' ./-rf / --max_seq_len 4096"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, edited(settings, c.changes...)) })
	}
}

func TestLessOnFirst(t *testing.T) {
	for value, want := range map[string]string{"24,24": "18,22", "10,10,10": "5,8,8", "17.5,24": "11.5,22", "": "16,22", "24": "16,22", "x,y": "16,22"} {
		c := &Case{Facts: &fact.Facts{Settings: []fact.Setting{{Name: "gpu_split", Value: value}}}}
		assert.Equal(t, want, lessOnFirst(c), value)
	}
}
