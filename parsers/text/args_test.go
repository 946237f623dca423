package text

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPythonArguments(t *testing.T) {
	for text, want := range map[string][]Argument{
		`host=None, port=8000, allowed=['*'], model='a/b c', x=0.9)`: {
			{"host", "None", false}, {"port", "8000", false}, {"allowed", "['*']", false}, {"model", "a/b c", true}, {"x", "0.9", false}},
		`'model': 'a, b', 'rope': {'k': [1, 2]}, 'eager': True} then text`: {
			{"model", "a, b", true}, {"rope", "{'k': [1, 2]}", false}, {"eager", "True", false}},
		`load_format=LoadFormat.AUTO, fmt=<F.AUTO: 'auto'>, n=1)`: {
			{"load_format", "LoadFormat.AUTO", false}, {"fmt", "<F.AUTO: 'auto'>", false}, {"n", "1", false}},
		`num_shard: Some(2), quantize: Some("awq"), max: None }`: {
			{"num_shard", "2", false}, {"quantize", "awq", true}, {"max", "None", false}},
		`model='cut off in the mid`: {{"model", "'cut off in the mid", false}},
		`no pair here`:              nil,
	} {
		assert.Equal(t, want, PythonArguments(text), text)
	}
}
