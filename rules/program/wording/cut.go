package wording

import (
	"strings"

	"github.com/oomdoc/oomdoc/rules/ledger"
)

// torchCode are words in told steps that only who writes PyTorch code can use.
var torchCode = []string{"torch.", ".half(", ".item(", ".detach(", ".cpu()", "from_pretrained", "device_map", "enable_model_cpu_offload", "requires_grad", "no_grad", "inference_mode", "empty_cache(", "gradient_checkpointing_enable", "DataLoader("}

// WithoutCode takes out of a told step what is for who writes PyTorch code, where
// the reader has settings only, of a program that is not known.
func WithoutCode(c *ledger.Case, text, kind string) string {
	if kind != "text" || c.Reader.Program != "" || c.Reader.Edits == "" || c.Reader.Edits == "code" {
		return text
	}
	for _, word := range torchCode {
		for i := strings.Index(text, word); i >= 0 && strings.Count(text[:i], "`")%2 == 1; i = strings.Index(text, word) {
			text = Without(text, i)
		}
	}
	return text
}

// Without cuts the parenthesis or the sentence in which an offset stands.
func Without(text string, at int) string {
	if open := strings.LastIndexAny(text[:at], "()"); open >= 0 && text[open] == '(' {
		if end := strings.IndexByte(text[at:], ')'); end >= 0 {
			return strings.TrimSpace(strings.TrimRight(text[:open], " ") + text[at+end+1:])
		}
	}
	start := max(strings.LastIndex(text[:at], ". ")+2, strings.LastIndex(text[:at], "; ")+2)
	if start == 1 {
		start = 0
	}
	end := len(text)
	if i := strings.Index(text[at:], ". "); i >= 0 {
		end = at + i + 2
	}
	kept := text[:start]
	if before, open := strings.CutSuffix(kept, "; "); open {
		kept = before + ". "
	}
	return strings.TrimSpace(kept + text[end:])
}
