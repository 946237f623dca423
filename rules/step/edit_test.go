package step

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

func TestEditedCommand(t *testing.T) {
	settings := []fact.Setting{
		{Name: "listen", Flag: "--listen"},
		{Name: "gpu_split", Value: "24,24", Flag: "--gpu-split"},
		{Name: "model", Value: "a;rm -rf /", Flag: "--model"},
		{Name: "max_seq_len", Value: "4096", Flag: "--max_seq_len"},
	}
	for name, c := range map[string]struct {
		changes []Change
		want    string
	}{
		"nothing":   {nil, "--listen --gpu-split 24,24 --model 'a;rm' ./-rf / --max_seq_len 4096"},
		"replaced":  {[]Change{{Flag: "--gpu-split", Value: "18,22"}}, "--listen --gpu-split 18,22 --model 'a;rm' ./-rf / --max_seq_len 4096"},
		"added":     {[]Change{{Flag: "--cache_4bit"}}, "--listen --gpu-split 24,24 --model 'a;rm' ./-rf / --max_seq_len 4096 --cache_4bit"},
		"spelling":  {[]Change{{Flag: "--max-seq-len", Value: "2048"}, {Flag: "--listen", Drop: true}}, "--gpu-split 24,24 --model 'a;rm' ./-rf / --max-seq-len 2048"},
		"not there": {[]Change{{Flag: "--no-half", Drop: true}}, "--listen --gpu-split 24,24 --model 'a;rm' ./-rf / --max_seq_len 4096"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, EditedFor("sh", settings, c.changes...)) })
	}
}
