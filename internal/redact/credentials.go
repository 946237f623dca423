package redact

import (
	"regexp"
	"strings"
	"sync"
)

// signedQuery are the parts of a URL that give access to what it names: Azure,
// AWS, Google, CloudFront (which serves the Hub's files), Civitai.
const signedQuery = `(?i)[?&](?:sig|signature|policy|key-pair-id|key|token|auth|code|x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)|awsaccesskeyid)=(?P<KEY>[^&\s'"<>]{6,})`

// userPassword is a login given as one word, NAME:PASSWORD.
const userPassword = `(?:'(?P<LOGIN1>[^'\s:]+:[^'\n]+)'|"(?P<LOGIN2>[^"\s:]+:[^"\n]+)"|(?P<LOGIN3>[^\s'":/]+:[^\s'"]+))`

// insides are the insides of a string in quotes, or of its beginning where the
// text was cut. The kind is put in for K.
const insides = `(?:'(?P<K1>(?:[^'\\]|\\.)*)(?:'|\z)|"(?P<K2>(?:[^"\\]|\\.)*)(?:"|\z))`

func in(quotes string) string { return strings.ReplaceAll(insides, "K", quotes) }

// credentialRules in the order in which they run: what is longer first.
var credentialRules = sync.OnceValue(func() []rule {
	re := regexp.MustCompile
	return []rule{
		{signs: texts{"ssh-", "ecdsa-"}, re: re(`\b(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-nistp\d+) (?P<KEY>AAAA[\w+/=]+(?: [^\s'"]+)?)`)},
		{signs: texts{"://"}, among: "@", re: re(`://(?P<LOGIN>[^\s/'"<>]*:[^\s/'"<>]+)@`), private: noPlaceholder},
		{signs: texts{"://"}, among: "@", re: re(`://(?P<LOGIN>[^\s/@:'"]+)@`), private: noGit},
		{signs: texts{"webhooks/", "hooks.slack.com", "hook.office.com"}, re: re(`(?:hooks\.slack\.com/(?:services|workflows|triggers)|/api/webhooks|\.webhook\.office\.com/webhookb2)/(?P<KEY>[\w/@-]{12,})`)},
		{signs: texts{"cookie"}, re: re(`(?i)\bcookie['"]?\s*[:=]\s*(?:b?['"])?(?P<KEY>[^\s'"\r\n=;,]{1,80}=[^'"\r\n]+)`)},
		{signs: texts{"cookie", "curl"}, re: re(`(?:\s--cookie[ =]|\bcurl\b.*\s-b ?)['"]?(?P<KEY>[^\s'"=]+=[^'"\r\n]*[^\s'"])`)},
		{signs: texts{"cookie"}, re: re(`(?i)\bcookies?\s*=\s*\{(?P<KEY>[^}\n]+)\}`)},
		{signs: texts{"telegram"}, re: re(`api\.telegram\.org/bot(?P<KEY>\d+:[\w-]{20,})`)},
		{signs: texts{"authorization"}, among: ":=", re: re(`(?i)\b(?:proxy-)?authorization\\?['"]?\s*[:=]\s*\\?['"]?(?:basic|bearer|token|digest|apikey|bot)?\s*(?P<KEY>[^\s'",;\\]{6,})`), private: noScheme},
		{signs: texts{"bearer"}, re: re(`(?i)\bbearer\s+(?P<KEY>[a-z0-9._~+/=-]{12,})`), private: secretLooking},
		{signs: texts{"redis-cli"}, re: re(`\bredis-cli\b.*\s-a (?P<KEY>\S+)`)},
		{signs: texts{"-u", "-a ", "--user", "proxy-user"}, among: ":", re: re(`(?:^|\s)(?:-u|-a|--user|--proxy-user|--http-user)[ =]?` + userPassword), private: login},
		{signs: texts{"auth"}, among: ":", re: re(`(?i)(?:^|[\s'"])--?[a-z-]*auth(?:-users?|-creds?|-credentials)?[ =]` + userPassword), private: login},
		{signs: texts{"auth"}, among: "=", re: re(`(?i)\bauth\s*=\s*\[?\(?\(\s*['"](?P<LOGIN1>[^'"\n]+)['"]\s*,\s*['"](?P<LOGIN2>[^'"\n]+)['"]`)},
		{signs: texts{"auth("}, re: re(`\b\w*Auth\(\s*['"](?P<LOGIN1>[^'"\n]+)['"]\s*,\s*['"](?P<LOGIN2>[^'"\n]+)['"]`)},
		{signs: texts{"mysql"}, re: re(`\bmysql\w*\s.*\s-p(?P<KEY>[^\s'"]{3,})`)},
		{signs: texts{"login", "kaggle", "username"}, re: re(`(?i)(?:login|kaggle|username).{0,80}\bkey['"]?\s*[:=]\s*['"]?(?P<KEY>[0-9a-z]{16,})`)},
		{signs: texts{"sshpass"}, re: re(`\bsshpass\s+-p\s*['"]?(?P<KEY>[^\s'"]+)`)},
		{signs: texts{"login"}, re: re(`\blogin\b.*\s(?:-p|--password)[ =]['"]?(?P<KEY>[^\s'"]+)`)},
		{signs: texts{"wandb"}, re: re(`(?i)\bwandb login (?:--\S+ )*(?P<KEY>[0-9a-f]{32,})`)},
		{signs: texts{"ngrok"}, re: re(`(?i)(?:--ngrok[ =]|\bauthtoken )['"]?(?P<KEY>[\w-]{20,})`)},
		{signs: texts{"sig", "policy", "key", "token", "auth", "code", "credential"}, among: "?&", re: re(signedQuery), private: querySecret},
		{signs: texts{"_key", "_pat", "_pw", "_auth"}, re: re(`\b[A-Z][A-Z0-9_]*_(?:KEY|PAT|PW|AUTH)['"]?\s*[:=]\s*['"]?(?P<KEY>[^\s'",;)\]}&]{8,})`), private: secretLooking},
	}
})

// maskBlocks masks private keys, over several lines or with their line ends
// escaped. One that was cut goes as far as its letters do.
func maskBlocks(s string, name naming) string {
	if !strings.Contains(s, "-----BEGIN") {
		return s
	}
	var b strings.Builder
	last := 0
	for _, at := range keyBegins().FindAllStringIndex(s, -1) {
		from := at[1]
		if from < last {
			continue
		}
		to := from + strings.Index(s[from:min(len(s), from+longestKey)], "-----END")
		if to < from {
			to = from + len(keyLetters().FindString(s[from:]))
		}
		if from < to {
			b.WriteString(s[last:from] + masked("KEY", s[from:to], name))
			last = to
		}
	}
	return b.String() + s[last:]
}

const longestKey = 16 << 10

var (
	keyBegins  = lazy(`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----`)
	keyLetters = lazy(`^(?:(?:\s|\\n)*[A-Za-z0-9+/=]{16,}|(?:\s|\\n)*[A-Z][A-Za-z-]+: [^\s\\]+)+`)
)
