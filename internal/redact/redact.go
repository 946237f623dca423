// Package redact masks what is private in a log: tokens, passwords, prompts,
// names of users and hosts, addresses. What a diagnosis needs stays: sizes,
// versions, times, cards, PCI addresses, names of models and files.
package redact

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/clean"
)

// Text returns s with private parts replaced by words that say what stood
// there. Redacted text stays as it is.
func Text(s string) string {
	s = clean.DropPrompts(s)
	lower := strings.ToLower(s)
	for _, r := range rules() {
		if r.near(lower) {
			s = r.apply(s)
		}
	}
	return s
}

// rule masks one kind of private text.
type rule struct {
	// signs are lower-case texts of which one must be there for the pattern to
	// match: expressions are slow, and most text holds nothing private.
	signs []string
	re    *regexp.Regexp
	// mask is what the group "x" becomes.
	mask string
	// private tells it from what only looks alike; nil: it always is. It gets
	// the text before the group, the group, and the text after.
	private func(before, x, after string) bool
}

func (r rule) near(lower string) bool {
	return len(r.signs) == 0 || slices.ContainsFunc(r.signs, func(sign string) bool { return strings.Contains(lower, sign) })
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

// quoted is a string in quotes, or its beginning where the text was cut.
const quoted = `(?P<x>'(?:[^'\\]|\\.)*(?:'|\z)|"(?:[^"\\]|\\.)*(?:"|\z))`

// tokens are secrets that can be told by their own beginning: Hugging Face,
// OpenAI and its like, GitHub, GitLab, Slack, Google, AWS, npm, PyPI, Docker,
// Databricks, DigitalOcean, Tailscale, Telegram, JWT.
const tokens = `hf_[A-Za-z0-9]{8,}|api_org_[A-Za-z0-9]{8,}|(?:sk|gsk|pk|rk|r8|nvapi|pplx|xapp|tskey)[-_][A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|gl(?:pat|rt|dt|ptt|cbt)-[\w-]{16,}|` +
	`xox[abeprs]-[\w-]{10,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}|(?:AKIA|ASIA)[A-Z0-9]{16}|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|dckr_pat_[\w-]{16,}|dop_v1_[0-9a-f]{32,}|dapi[0-9a-f]{32}|lsv2_\w{20,}|` +
	`\d{8,10}:AA[\w-]{32,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*`

// tokenSigns are the beginnings of tokens, in lower case.
var tokenSigns = []string{
	"hf_", "api_org_", "sk-", "sk_", "gsk", "pk-", "pk_", "rk-", "rk_", "r8-", "r8_", "nvapi", "pplx", "xapp", "tskey", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat", "glpat", "glrt-", "gldt-", "glptt-", "glcbt-",
	"xox", "aiza", "ya29", "gocspx", "akia", "asia", "npm_", "pypi-", "dckr_pat", "dop_v1", "dapi", "lsv2_", ":aa", "eyj",
}

// signedQuery are the parts of a URL that give access to what it names: Azure,
// AWS, Google, CloudFront (which serves the Hub's files), Civitai.
const signedQuery = `(?i)[?&](?:sig|signature|policy|key-pair-id|token|x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)|awsaccesskeyid)=(?P<x>[^&\s'"<>]{6,})`

// innerHost are names of machines in private networks, and of tunnels, which
// whoever knows their name may enter.
const innerHost = `(?i)\b(?P<x>[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:internal|corp|lan|intranet|localdomain|home\.arpa|ts\.net|compute(?:-1)?\.amazonaws\.com|cloudapp\.azure\.com|gradio\.live|trycloudflare\.com|ngrok(?:-free)?\.(?:io|app|dev)|proxy\.runpod\.net|loca\.lt))\b`

// rules in the order in which they run: what is longer first.
var rules = sync.OnceValue(func() []rule {
	on := func(signs string) []string { return strings.Fields(signs) }
	re := regexp.MustCompile
	return []rule{
		{signs: on("-----begin"), re: re(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?P<x>[\s\S]*?)(?:-----END|\z)`), mask: "SECRET"},
		{signs: on("ssh-"), re: re(`\bssh-(?:rsa|ed25519|dss) (?P<x>AAAA[\w+/=]+(?: [^\s'"]+)?)`), mask: "KEY"},
		{signs: on("://"), re: re(`://(?P<x>[^\s/@:'"]+:[^\s/@'"]+)@`), mask: "LOGIN"},
		{signs: on("://"), re: re(`://(?P<x>[^\s/@:'"]+)@`), mask: "LOGIN", private: noGit},
		{signs: on("webhooks/ hooks.slack.com"), re: re(`(?:hooks\.slack\.com/services|/api/webhooks)/(?P<x>[\w/-]{12,})`), mask: "TOKEN"},
		{signs: on("authorization"), re: re(`(?i)\bauthorization['"]?\s*[:=]\s*['"]?(?:basic|bearer|token)?\s*(?P<x>[^\s'",;]{6,})`), mask: "TOKEN", private: noScheme},
		{signs: on("bearer"), re: re(`(?i)\bbearer\s+(?P<x>[a-z0-9._~+/=-]{12,})`), mask: "TOKEN", private: secretLooking},
		{signs: tokenSigns, re: re(`\b(?P<x>` + tokens + `)`), mask: "TOKEN", private: secretLooking},
		{signs: on("discord"), re: re(`\b(?P<x>[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,})`), mask: "TOKEN"},
		{signs: on("? &"), re: re(signedQuery), mask: "TOKEN"},
		{signs: on("wandb"), re: re(`(?i)\bwandb login (?:--\S+ )*(?P<x>[0-9a-f]{32,})`), mask: "TOKEN"},
		{signs: secretSigns, re: re(secretName + `['"]?\s*[:=]\s*(?:\[|\()\s*(?P<x>b?['"][^\]\)\n]{1,900})(?:[\])]|\z)`), mask: "'SECRET'", private: namedSecret},
		{signs: secretSigns, re: re(secretName + `(?:['"]?\s*[:=]\s*|\s+)` + quoted), mask: "'SECRET'", private: secretString},
		{signs: secretSigns, re: re(secretName + `(?:['"]?\s*[:=]\s*|\s+)(?:b?['"])?(?P<x>[^\s'",;)\]}&]+)`), mask: "SECRET", private: secretValue},

		{signs: on("prompt"), re: re(`(?i)\b(?:prompt|negative_prompt|system_prompt)['"]?\s*[:=]\s*` + quoted), mask: "'PROMPT'", private: longerThanTwo},
		{signs: on("prompt"), re: re(`(?i)(?:^|\s)--(?:negative[-_]|system[-_])?prompt[ =]` + quoted), mask: "'PROMPT'", private: longerThanTwo},
		{signs: on("-p"), re: re(`(?:^|\s)-p ` + quoted), mask: "'PROMPT'", private: words},
		{signs: on("prompt:"), re: re(`(?m)\bNegative prompt: (?P<x>[^\n]+?)(?: Steps: |$)`), mask: "PROMPT", private: longerThanTwo},
		{signs: on("ids"), re: re(`\b(?:prompt_token_ids|input_ids|prompt_ids)['"]?\s*[:=]\s*\[(?P<x>\d[\d,\s.]*)`), mask: "PROMPT"}, // a tokenizer makes text of them
		{signs: on("role"), re: re(`\bcontent['"]?\s*[:=]\s*` + quoted), mask: "'PROMPT'", private: longerThanTwo},
		{signs: on("reqinput( clip"), re: re(`(?:\btext=|"text"\s*:\s*)` + quoted), mask: "'PROMPT'", private: longerThanTwo}, // SGLang; ComfyUI's nodes
		{signs: on("run"), re: re(`\bollama run \S+ ` + quoted), mask: "'PROMPT'"},

		{signs: on("ome/ users/ media/"), re: re(`/(?:home|users|export/home|run/media)/(?P<x>[^/\s'":,;)\]]+)`), mask: "USER", private: person},
		{signs: on("users settings"), re: re(`(?:/|\\\\?)(?:Users|Documents and Settings)(?:/|\\\\?)(?P<x>[^/\\'"<>|:*?\r\n]+)(?:/|\\)`), mask: "USER", private: person},
		{signs: on("users settings"), re: re(`(?:/|\\\\?)(?:Users|Documents and Settings)(?:/|\\\\?)(?P<x>[^/\\\s'"<>|:*?,;)\]]+)`), mask: "USER", private: person},
		{signs: on("user logname"), re: re(`(?i)\b(?:user|username|userid|userdomain|logname)=['"]?(?P<x>[a-z_][\w.-]*)`), mask: "USER", private: person},
		{signs: on("uid= gid= groups="), re: re(`\b(?:uid|gid|groups)=\d+\((?P<x>[^)]+)\)`), mask: "USER", private: person},
		{signs: on("password for"), re: re(`\bpassword for (?P<x>[\w.-]+)`), mask: "USER", private: person},
		{signs: on("@"), re: re(`\b(?:ssh|scp|sftp|rsync|mosh)\s[^\n@]*?(?P<x>[\w.-]+@[\w.-]+)`), mask: "USER@HOST", private: noGit},
		{signs: on("@"), re: re(`\[(?P<x>[\w.-]+@[\w.-]+) [^\]\n]+\][$#]`), mask: "USER@HOST"},
		{signs: on("@"), re: re(`(?P<x>[a-z_][\w.-]*@[A-Za-z0-9][\w.-]*)(?::[~/]|[ :]~|\s*[$#] )`), mask: "USER@HOST"},
		{signs: on("@"), re: re(`(?P<x>[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)`), mask: "E-MAIL", private: mailbox},

		{signs: on("name nodelist batchhost"), re: re(`(?i)(?:\bhost_?name|\bnode_?name|\bcomputername|\bnode_?list|\bbatchhost)['"]?\s*[:=]\s*['"]?(?P<x>[a-z0-9][\w.\[\]-]*)`), mask: "HOST", private: host},
		{signs: on("host="), re: re(`\bhost=['"]?(?P<x>[A-Za-z][\w.-]*)`), mask: "HOST", private: host},
		{signs: on("host"), re: re(`(?m)^\s*host\s+: (?P<x>[A-Za-z][\w.-]*)$`), mask: "HOST", private: host}, // torchrun's summary
		{signs: on(": "), re: re(`(?m)^(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:?\d\d)) (?P<x>[A-Za-z0-9][\w.-]*) [\w@.\\/-]+(?:\[\d+\])?: `), mask: "HOST", private: host},
		{signs: on("node:"), re: re(`(?m)^\s*Node:\s+(?P<x>[A-Za-z0-9][\w.-]*)/`), mask: "HOST"},
		{signs: on("namespace"), re: re(`(?i)\bnamespace['"]?\s*[:=]\s*['"]?(?P<x>[a-z0-9][a-z0-9-]*)\b`), mask: "NAMESPACE", private: namespace},
		{signs: on("cancelled"), re: re(`\bON (?P<x>[A-Za-z][\w.-]*) CANCELLED`), mask: "HOST"},
		{signs: on("desktop- laptop- win-"), re: re(`\b(?P<x>(?:DESKTOP|LAPTOP|WIN)-[A-Z0-9]{7,}(?:\\[\w.-]+)?)`), mask: "HOST"},
		{signs: on(`\\`), re: re(`(?:^|[\s"'=(])\\\\(?P<x>[A-Za-z0-9][\w.-]*)\\[^\\\s]`), mask: "HOST"},         // \\server\share
		{signs: on(`\\\\`), re: re(`(?:^|[\s"'=(])\\\\\\\\(?P<x>[A-Za-z0-9][\w.-]*)\\\\[^\\\s]`), mask: "HOST"}, // as JSON and repr write it
		{signs: on("."), re: re(innerHost), mask: "HOST"},
		{signs: on(".local"), re: re(`(?P<x>[A-Za-z0-9][A-Za-z0-9.-]*\.local)\b`), mask: "HOST", private: localHost},
		{signs: on("ip-"), re: re(`\b(?P<x>ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3})\b`), mask: "HOST"},
		{signs: on("."), re: re(`(?P<x>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})`), mask: "IP", private: address},
		{signs: on(": -"), re: re(`(?P<x>[0-9A-Fa-f]{2}(?:(?::[0-9A-Fa-f]{2}){5}|(?:-[0-9A-Fa-f]{2}){5}))`), mask: "MAC", private: hardware},
		{signs: on(":"), re: re(`(?P<x>[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})`), mask: "IP", private: address6},
	}
})
