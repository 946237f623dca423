package parsers

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

func TestPrefixesProve(t *testing.T) {
	set := New([]fact.Proof{
		{Word: "(WorkerDict pid=", Program: "verl"},
		{Word: "ollama", Program: "ollama", Unit: true},
		{Word: "tabbyapi", Program: "tabbyapi", Unit: true},
		{Word: "-verl", Program: "verl", Unit: true},
	}, nil)
	const failure = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
	for line, want := range map[string]string{
		"(WorkerDict pid=160) " + failure:                       "verl",
		"(WorkerDict pid=160) starting":                         "verl",
		"(WorkerDictionary pid=160) " + failure:                 "",
		"tabbyapi-1  | " + failure:                              "tabbyapi",
		"tabbyapi-1  | ready\n" + failure:                       "",
		"ollama_1  | " + failure:                                "ollama",
		"ollama-webui-1  | " + failure:                          "",
		"my-ollama-1  | " + failure:                             "",
		"lab-gpu-verl  | " + failure:                            "verl", // a program that says so
		"lab-verl-web  | " + failure:                            "",
		"Jan 26 17:48:20 host ollama[1418]: " + failure:         "ollama",
		"Jan 26 17:48:20 host ollama.service[1418]: " + failure: "ollama",
		"ollama: " + failure:                                    "",
	} {
		f := set.Parse(text.NewLog(clean.Lines(line, 1)))
		got := ""
		for _, p := range f.Programs {
			if p.Name == "verl" || p.Name == "ollama" || p.Name == "tabbyapi" {
				got = p.Name
			}
		}
		assert.Equal(t, want, got, "%q", line)
	}
}
