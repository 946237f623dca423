package paste

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestShell(t *testing.T) {
	for step, safe := range map[string]bool{
		"vllm serve 'x; touch pwned' --port 8000":   true,
		"vllm serve pwned -tp 2":                    true,
		`vllm serve "touch pwned"`:                  true,
		`vllm serve a'\''pwned`:                     false, // unbalanced
		`vllm serve 'a'\''; touch pwned'`:           true,
		"vllm serve x; touch pwned":                 false,
		"vllm serve $(touch pwned)":                 false,
		"vllm serve `touch pwned`":                  false,
		"vllm serve \"$(touch pwned)\"":             false,
		"vllm serve \"${pwned}\"":                   false,
		"vllm serve x > pwned":                      false,
		"vllm serve {touch,pwned}":                  false,
		"vllm serve ~pwned":                         false,
		"vllm serve $'\\x3b pwned'":                 false,
		"vllm serve x # pwned":                      false,
		"MODEL='pwned' vllm serve x":                true,
		"export MODEL=$(pwned)":                     false,
		"echo 1 | sudo tee /proc/sys/vm/swappiness": true,
		"rm -rf x":     false,
		"'vllm serve'": false,
	} {
		assert.Equal(t, safe, Shell(step, "pwned") == nil, "%s: %v", step, Shell(step, "pwned"))
	}
}

func TestPython(t *testing.T) {
	for step, safe := range map[string]bool{
		`load("pwned")`:          true,
		`load('a\'; pwned')`:     true,
		`load("a"); pwned("")`:   false,
		"load(\"a\npwned\")":     false,
		`load("a", pwned=1)`:     false,
		"x = 1  # pwned, or not": true,
	} {
		assert.Equal(t, safe, Python(step, "pwned") == nil, step)
	}
}
