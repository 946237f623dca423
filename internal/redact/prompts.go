package redact

import (
	"regexp"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/spans"
)

// maskPrompts masks what people wrote to a model, and what they quote of each
// other.
func maskPrompts(s string, name naming) string {
	var b strings.Builder
	last := 0
	for _, x := range spans.Find(s) {
		text := s[x.From:x.To]
		inside := strings.TrimSpace(text)
		from := x.From + strings.Index(text, inside)
		if !x.Kind.Private() || len(inside) == 0 || form(s[:from], inside, s[from+len(inside):]) {
			continue
		}
		b.WriteString(s[last:from] + masked("PROMPT", inside, name))
		last = from + len(inside)
	}
	return maskTalk(b.String()+s[last:], name)
}

// roleOf stands before a word that says whose text follows, or what a node of a
// graph does, and before the port of a container.
var roleOf = lazy(`(?:(?:role|class_type|type|object|finish_reason)\\?['"]?\s*[:=]\s*\\?['"]|\s-p ['"]?)$`)

// form reports what is no prompt but the form that it stands in: a key, a role,
// a number, nothing.
func form(before, x, after string) bool {
	if strings.Contains(x, " ") {
		return false
	}
	if x == "None" || x == "null" || x == "''" || x == `""` {
		return true
	}
	after = strings.TrimLeft(after, `\`)
	key := len(after) > 1 && (after[0] == '"' || after[0] == '\'') && strings.HasPrefix(strings.TrimLeft(after[1:], " "), ":")
	return key || strings.Trim(x, "0123456789.:") == "" || roleOf().MatchString(before[max(0, len(before)-60):])
}

// talk is how models were spoken to that know no marks of their own.
var talk = lazy(`(?:^|\n)\s*(?:Human: |### (?:User|Human):\s)(?P<PROMPT>[\s\S]{1,1000}?)\s*\n\s*(?:### )?Assistant:`)

func maskTalk(s string, name naming) string {
	if !strings.Contains(s, "Human: ") && !strings.Contains(s, "### User:") && !strings.Contains(s, "### Human:") {
		return s
	}
	return rule{re: talk()}.apply(s, name)
}

// promptRules find what stands in no span.
var promptRules = sync.OnceValue(func() []rule {
	re := regexp.MustCompile
	return []rule{
		{near: signs("-p '", "-p \""), re: re(`(?:^|\s)-p ` + in("PROMPT")), private: words},
		{near: signs("ollama run "), re: re(`\bollama run \S+ ` + in("PROMPT"))},
		{near: signs("reqinput", "clip"), re: re(`(?:\btext=|"text"\s*:\s*)` + in("PROMPT"))}, // SGLang; ComfyUI's nodes
		{near: signs("prompt:"), re: re(`\bNegative prompt: (?P<PROMPT>[^\n]+?)(?: Steps: |$)`)},
		{near: signs("pipe"), re: re(`\bpipe(?:line)?\(\s*` + in("PROMPT")), private: words},
		{near: signs("instruction", "question", "query", "user_message", "text_input", "input_text"), re: re(`(?i)['"](?:instruction|question|query|user_message|text_input|input_text)['"]\s*:\s*` + in("PROMPT")), private: words},
		{near: signs("--question", "--query", "--instruction", "--text", "--message"), re: re(`\s--(?:question|query|instruction|text|message)[ =]` + in("PROMPT"))},
		{near: signs("--prompt"), re: re(`\s--prompt[ =](?P<PROMPT>[A-Za-z][^\s'"]*)`)},
		{near: signs("inputs="), re: re(`\binputs=` + in("PROMPT")), private: words},
		{near: signs("history"), re: re(`\bhistory['"]?\s*[:=]\s*\[{1,2}\(?(?P<PROMPT>['"][^\n]+['"])[\])]`)},
		{near: signs("processed prompt: ", "prompt is: "), re: re(`(?i)(?:processed prompt|prompt is): (?P<PROMPT>[^\n]+)`)},
		{near: signs("问", "user: "), re: re(`^(?:问：|User: )(?P<PROMPT>[^\n]+)`), private: words},
		{near: signs(";base64,"), re: re(`;base64,(?P<PROMPT>[A-Za-z0-9+/=_-]{16,})`)}, // a picture
	}
})
