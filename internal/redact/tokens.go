package redact

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// vendors issue tokens that can be told by how they begin. Those that share a
// beginning stand in one line.
var vendors = []struct {
	name     string
	prefixes string
	least    int // characters after the prefix
}{
	{"Hugging Face", "hf_ api_org_", 8},
	{"OpenAI, Anthropic, OpenRouter, DeepSeek, LiteLLM, Langfuse", "sk-", 16},
	{"Stripe, Clerk, ElevenLabs", "sk_ pk_ rk_ whsec_", 16},
	{"Langfuse, Stripe", "pk- rk-", 16},
	{"Groq", "gsk_ gsk-", 16},
	{"Replicate", "r8_ r8-", 16},
	{"NVIDIA", "nvapi-", 16},
	{"Perplexity", "pplx-", 16},
	{"xAI", "xai-", 20},
	{"Cerebras", "csk-", 20},
	{"Together", "tgp_v1_", 16},
	{"Fireworks", "fw_", 20},
	{"Pinecone", "pcsk_", 20},
	{"Jina", "jina_", 20},
	{"Voyage", "pa-", 30},
	{"Tavily", "tvly-", 16},
	{"Firecrawl", "fc-", 30},
	{"LlamaCloud", "llx-", 20},
	{"LangSmith", "lsv2_", 20},
	{"RunPod", "rpa_", 20},
	{"Modal", "ak- as- wk-", 20},
	{"Weights & Biases", "wandb_v1_", 20},
	{"GitHub", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", 20},
	{"GitLab", "glpat- glrt- gldt- glptt- glcbt- glsoat- glft- glagent-", 16},
	{"Atlassian", "ATATT3 ATCTT3 ATBB", 20},
	{"Slack", "xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xoxc- xoxd- xapp-", 10},
	{"Google", "AIza ya29. GOCSPX-", 20},
	{"AWS", "AKIA ASIA ABIA ACCA", 16},
	{"Alibaba Cloud", "LTAI", 16},
	{"Tencent Cloud", "AKID", 28},
	{"DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", 32},
	{"Databricks", "dapi", 32},
	{"Docker", "dckr_pat_ dckr_oat_", 16},
	{"npm", "npm_", 30},
	{"PyPI", "pypi-", 30},
	{"RubyGems", "rubygems_", 30},
	{"Clojars", "CLOJARS_", 40},
	{"crates.io", "cio", 32},
	{"NuGet", "oy2", 43},
	{"Tailscale", "tskey-", 16},
	{"Heroku", "HRKU-", 20},
	{"Fly.io", "fm2_ fo1_", 20},
	{"Vercel", "vercel_blob_rw_", 16},
	{"Supabase", "sbp_ sb_secret_", 20},
	{"PlanetScale", "pscale_tkn_ pscale_pw_ pscale_oauth_", 20},
	{"HashiCorp Vault", "hvs. hvb. hvr.", 20},
	{"Pulumi", "pul-", 40},
	{"Doppler", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", 30},
	{"1Password", "ops_", 30},
	{"age", "AGE-SECRET-KEY-1", 30},
	{"Grafana", "glc_ glsa_", 20},
	{"New Relic", "NRAK- NRJS- NRII-", 18},
	{"Sentry", "sntrys_ sntryu_", 20},
	{"PostHog", "phc_ phx_", 20},
	{"SonarQube", "sqp_ squ_ sqa_", 30},
	{"Buildkite, CircleCI", "bkua_ CCIPAT_", 20},
	{"Prefect", "pnu_ pnb_", 20},
	{"Linear", "lin_api_ lin_oauth_", 20},
	{"Notion", "ntn_ secret_", 30},
	{"Airtable", "pat1 patA patB patC patD patE patF", 40},
	{"Figma", "figd_", 20},
	{"Postman", "PMAK-", 24},
	{"SendGrid", "SG.", 30},
	{"Brevo", "xkeysib-", 40},
	{"Mailgun", "key-", 32},
	{"Shopify", "shpat_ shpca_ shppa_ shpss_", 32},
	{"Square", "sq0atp- sq0csp- sq0idp-", 20},
	{"Meta", "EAAG EAAC EAAB", 40},
	{"JFrog", "AKCp", 50},
	{"Adafruit", "aio_", 28},
	{"Dropbox", "sl.", 60},
	{"Discourse and others by JWT", "eyJ", 20},
}

// byStart are the prefixes by their first two characters.
var byStart = sync.OnceValue(func() map[string][]prefix {
	out := map[string][]prefix{}
	for _, v := range vendors {
		for _, p := range strings.Fields(v.prefixes) {
			out[p[:2]] = append(out[p[:2]], prefix{p, v.least})
		}
	}
	return out
})

type prefix struct {
	text  string
	least int
}

// shortestToken is the shortest word that is looked at, shortestDotted the
// shortest of those that need no digit: see [dotted].
const (
	shortestToken  = 11
	shortestDotted = 58
)

// maskTokens masks what is a secret by its own looks, whatever stands before.
func maskTokens(s string, name naming) string {
	if !figures.in(s) && !strings.Contains(s, "hf_") {
		return s
	}
	var b strings.Builder
	last := 0
	for from := 0; from+shortestToken <= len(s); {
		end := from + shortestToken
		if n := tokenTail(s[from:end]); n < shortestToken {
			from = end - n // behind a byte of no token
			continue
		}
		for end < len(s) && tokenBytes[s[end]] {
			end++
		}
		if word := s[from:end]; len(word) >= shortestDotted || figures.in(word) || strings.Contains(word, "hf_") {
			last = tokenIn(&b, s, from, end, last, name)
		}
		from = end + 1
	}
	if last == 0 {
		return s
	}
	return b.String() + s[last:]
}

// tokenTail is how many bytes at the end of s are those of tokens.
func tokenTail(s string) int {
	n := 0
	for n < len(s) && tokenBytes[s[len(s)-1-n]] {
		n++
	}
	return n
}

// tokenIn masks the first token between two offsets, where all bytes are those
// of tokens. It returns the offset up to which b has the text.
func tokenIn(b *strings.Builder, s string, from, end, last int, name naming) int {
	for from += len(s[from:end]) - len(strings.TrimLeft(s[from:end], "-.~:=")); end-from >= shortestToken; {
		if n := tokenAt(s, from, end); n > 0 {
			b.WriteString(s[last:from] + masked("KEY", s[from:from+n], name))
			return from + n
		}
		next := strings.IndexAny(s[from:end], "=:.")
		if next < 0 {
			break
		}
		from += next + 1
	}
	return last
}

// tokenAt is the length of the token at an offset, 0 if there is none.
func tokenAt(s string, from, end int) int {
	if !standsAlone(s, from) {
		return 0
	}
	return tokenLen(s[from:end], s[end:])
}

// tokenBytes are what tokens are made of.
var tokenBytes = bytesOf("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-.~:=")

// standsAlone: what stands before does not make the word a part of a path or of
// another script's word.
func standsAlone(s string, at int) bool {
	if at == 0 {
		return true
	}
	r, _ := utf8.DecodeLastRuneInString(s[:at])
	if r == '/' || r == '\\' {
		return strings.HasPrefix(s[at:], "hf_") || strings.HasPrefix(s[at:], "eyJ")
	}
	return !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// tokenLen is the length of the token that a word begins with, 0 if it is none.
func tokenLen(word, after string) int {
	if n := telegram(word); n > 0 {
		return n
	}
	end := strings.IndexAny(word, "=:")
	if end < 0 {
		end = len(word)
	}
	word = strings.TrimRight(word[:end], "-.~")
	for _, p := range byStart()[word[:min(2, len(word))]] {
		if strings.HasPrefix(word, p.text) && len(word) >= len(p.text)+p.least && secretLooking("", word, "") && !prose(word[len(p.text):]) {
			return len(word)
		}
	}
	if strings.HasPrefix(after, "(") || strings.HasPrefix(after, "@") {
		return 0 // a name that is called
	}
	if len(word) >= leastRandom && random(word) || len(word) >= shortestDotted && dotted(word) {
		return len(word)
	}
	return 0
}

// telegram is "123456789:AAE..." of a bot.
func telegram(word string) int {
	if word[0] < '0' || word[0] > '9' {
		return 0
	}
	id, key, ok := strings.Cut(word, ":")
	if !ok || len(id) < 8 || len(id) > 10 || strings.Trim(id, "0123456789") != "" || !strings.HasPrefix(key, "AA") {
		return 0
	}
	if n := strings.IndexAny(key+"=", "=:.~"); n >= 32 {
		return len(id) + 1 + n
	}
	return 0
}

// prose reports words that are joined: "learn-contrib-extensions-more",
// "assessment-2024-01-01-report", "disk-usage". A token's pieces are long, or
// mix digits with letters.
func prose(s string) bool {
	for _, piece := range strings.FieldsFunc(s, func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		digits := strings.ContainsAny(piece, "0123456789")
		letters := strings.Trim(piece, "0123456789") != ""
		if digits && letters && len(piece) >= 6 || digits && len(piece) >= 10 || len(piece) >= 20 {
			return false
		}
	}
	return true
}

// Bounds on a long random word. At random, 62 % of its pairs of neighbours are
// of two classes, and small letters come in runs of 1.7. A name in CamelCase has
// runs of 4, however many of its letters and digits stand for a format:
// CompressedTensorsW8A8Fp8MoEMethod.
const (
	leastRandom  = 20
	leastDigits  = 2
	leastChanges = 0.25
	longestRuns  = 2.8
)

// random reports a word with a long piece in which capitals, small letters and
// digits follow each other without order. Hashes, which have one case, are
// none, nor are names in CamelCase and symbols of C++.
func random(word string) bool {
	if strings.HasPrefix(word, "_Z") {
		return false
	}
	for _, piece := range strings.FieldsFunc(word, func(r rune) bool { return r == '-' || r == '_' || r == '.' || r == '~' }) {
		if len(piece) >= leastRandom && mixed(piece) {
			return true
		}
	}
	return false
}

func mixed(s string) bool {
	upper, lower, runs, digits, changes, before := 0, 0, 0, 0, 0, 0
	for i := range len(s) {
		class := 0
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits, class = digits+1, 1
		case c >= 'a' && c <= 'z':
			lower, class = lower+1, 2
		default:
			upper, class = upper+1, 3
		}
		if i > 0 && class != before {
			changes++
		}
		if class == 2 && before != 2 {
			runs++
		}
		before = class
	}
	return digits >= leastDigits && lower >= 3 && upper >= 3 && float64(changes) >= leastChanges*float64(len(s)-1) && float64(lower) <= longestRuns*float64(runs)
}

// dotted reports three parts as Discord, SendGrid and Atlas write a token.
func dotted(word string) bool {
	parts := strings.Split(word, ".")
	if len(parts) == 3 && parts[1] == "atlasv1" {
		return len(parts[0]) >= 14 && len(parts[2]) >= 40
	}
	return len(parts) == 3 && len(parts[0]) >= 23 && len(parts[0]) <= 30 && strings.IndexByte("MNO", parts[0][0]) >= 0 && len(parts[1]) == 6 && len(parts[2]) >= 27
}
