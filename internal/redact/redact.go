// Package redact masks what is private in a log: tokens, passwords, prompts,
// names of users and hosts, addresses. What a diagnosis needs stays: sizes,
// versions, times, cards, PCI addresses, names of models and files.
package redact

import (
	"regexp"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/clean"
)

// Text returns s with private parts replaced by words that say what stood
// there. Redacted text stays as it is.
func Text(s string) string {
	s = clean.DropPrompts(s)
	for _, r := range rules() {
		if r.sign == "" || strings.Contains(s, r.sign) {
			s = r.apply(s)
		}
	}
	return s
}

// rule masks one kind of private text.
type rule struct {
	sign string // without it in the text, the pattern cannot match
	re   *regexp.Regexp
	// mask is what the group "x" becomes.
	mask string
	// private tells it from what only looks alike; nil: it always is. It gets
	// the text before the group, the group, and the text after.
	private func(before, x, after string) bool
}

func (r rule) apply(s string) string {
	var b strings.Builder
	last, group := 0, r.re.SubexpIndex("x")
	for _, m := range r.re.FindAllStringSubmatchIndex(s, -1) {
		from, to := m[2*group], m[2*group+1]
		if from < last || r.private != nil && !r.private(s[:from], s[from:to], s[to:]) {
			continue
		}
		b.WriteString(s[last:from] + r.mask)
		last = to
	}
	if last == 0 {
		return s
	}
	return b.String() + s[last:]
}

// rules in the order in which they run: what is longer first.
var rules = sync.OnceValue(func() []rule {
	re := regexp.MustCompile
	return []rule{
		{sign: "://", re: re(`://(?P<x>[^\s/@:'"]+:[^\s/@'"]+)@`), mask: "LOGIN"},
		{re: re(`(?i)\bauthorization['"]?\s*[:=]\s*['"]?(?:basic|bearer|token)?\s*(?P<x>[^\s'",;]{6,})`), mask: "TOKEN", private: noScheme},
		{re: re(`(?i)\bbearer\s+(?P<x>[a-z0-9._~+/=-]{12,})`), mask: "TOKEN", private: secretLooking},
		{re: re(`\b(?P<x>hf_[A-Za-z0-9]{8,}|api_org_[A-Za-z0-9]{8,}|(?:sk|gsk|pk|rk|r8|nvapi)[-_][A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AIza[\w-]{30,}|(?:AKIA|ASIA)[A-Z0-9]{16}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)`), mask: "TOKEN", private: secretLooking},
		{re: re(secretKey), mask: "SECRET", private: secretValue},
		{re: re(`(?i)\b(?:prompt|negative_prompt|system_prompt)['"]?\s*[:=]\s*(?P<x>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")`), mask: "'PROMPT'", private: longerThanTwo},
		{sign: "ome", re: re(`/(?:home|export/home)/(?P<x>[^/\s'":,;)\]]+)`), mask: "USER", private: person},
		{sign: "sers", re: re(`(?:/|\\\\?)Users(?:/|\\\\?)(?P<x>[^/\\'"<>|:*?\r\n]+)(?:/|\\)`), mask: "USER", private: person},
		{sign: "sers", re: re(`(?:/|\\\\?)Users(?:/|\\\\?)(?P<x>[^/\\\s'"<>|:*?,;)\]]+)`), mask: "USER", private: person},
		{re: re(`(?i)\b(?:user|username|logname)=['"]?(?P<x>[a-z_][\w.-]*)`), mask: "USER", private: person},
		{sign: "@", re: re(`(?P<x>[a-z_][\w.-]*@[A-Za-z0-9][\w.-]*)(?::[~/]|[ :]~|\s*[$#] )`), mask: "USER@HOST"},
		{sign: "@", re: re(`(?P<x>[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)`), mask: "E-MAIL", private: mailbox},
		{re: re(`(?i)(?:\bhost_?name|\bnode_?name)['"]?\s*[:=]\s*['"]?(?P<x>[a-z0-9][\w.-]*)`), mask: "HOST", private: host},
		{sign: "host=", re: re(`\bhost=['"]?(?P<x>[A-Za-z][\w.-]*)`), mask: "HOST", private: host},
		{sign: ": ", re: re(`(?m)^(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:?\d\d)) (?P<x>[A-Za-z0-9][\w.-]*) [\w@.\\/-]+(?:\[\d+\])?: `), mask: "HOST", private: host},
		{sign: "Node:", re: re(`\bNode:\s+(?P<x>[A-Za-z0-9][\w.-]*)/`), mask: "HOST"},
		{sign: "CANCELLED", re: re(`\bON (?P<x>[A-Za-z][\w.-]*) CANCELLED`), mask: "HOST"},
		{sign: ".", re: re(`(?i)\b(?P<x>[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:internal|corp|lan|intranet|localdomain))\b`), mask: "HOST"},
		{sign: "ip-", re: re(`\b(?P<x>ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3})\b`), mask: "HOST"},
		{sign: ".", re: re(`(?P<x>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})`), mask: "IP", private: address},
		{sign: ":", re: re(`(?P<x>[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})`), mask: "IP", private: address6},
	}
})
