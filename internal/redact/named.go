package redact

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// secretName is the name of a secret, as in NAME=VALUE, "NAME": "VALUE", --NAME
// VALUE. "token" alone is not enough: language models are full of tokens.
var secretName = lazy(`(?i)(?:^|_|-)(?:api[_-]?keys?|apikeys?|secret(?:[_-]?(?:access[_-]?)?key)?|(?:client|webhook|app|consumer|signing|shared)[_-]?secret|secret[_-]?id|access[_-]?key(?:[_-]?id)?|account[_-]?key|shared[_-]?access[_-]?(?:key|signature)|` +
	`(?:private|encryption|signing|master|license|licence|deploy|consumer|subscription|storage|service|session|auth|wandb|openai|admin)[_-]?key|` +
	`(?:access|auth|session|api|hf|hub|hub_api|huggingface|bot|refresh|bearer|github|gitlab|gh|security|private|id|csrf|xsrf|ngrok|wandb|vault|jupyter|notebook|share|slack|telegram|discord|login|deploy|registry|personal[_-]?access)[_-]?token|` +
	`x-[a-z-]*(?:key|token)|use_auth_token|[a-z]*passw(?:or)?d|passphrase|passcode|pwd|(?:db|user|root|mysql|pg|redis|smtp|ftp|admin|http|proxy|vnc|ssh)_?pass|credentials?|connection[_-]?string|token)$`)

// secretEnds are the ends of such names.
var secretEnds = []string{"key", "keys", "token", "secret", "password", "passwd", "pass", "pwd", "passphrase", "passcode", "credential", "credentials", "_id", "-id", "string", "signature"}

// secretSigns are in every such name.
var secretSigns = texts{"ey", "EY", "oken", "OKEN", "ass", "ASS", "wd", "WD", "ecret", "ECRET", "redential", "CREDENTIAL", "tring", "ignature"}

// namesSecret reports the name of a secret.
func namesSecret(name string) bool {
	for _, end := range secretEnds {
		if strings.HasSuffix(name, end) {
			return secretName().MatchString(name)
		}
	}
	return false
}

// endsSecret reports a text whose last word may end in one of [secretEnds], in
// quotes or not.
func endsSecret(s string) bool {
	end := len(s)
	for end > 0 && strings.IndexByte("'\" \t\\:=]", s[end-1]) >= 0 {
		end--
	}
	if end < 2 || s[end-1] >= utf8.RuneSelf {
		return end > 0
	}
	a, b := s[end-2]|0x20, s[end-1]|0x20
	if slices.ContainsFunc(secretEnds, func(x string) bool { return x[len(x)-2] == a && x[len(x)-1] == b }) {
		return true
	}
	return s[end-2] >= utf8.RuneSelf // it may be a capital of one
}

// maskNamed masks the values of secrets that have a name: a string, a word, or
// the strings of a list. It is for a text with one of [secretSigns].
func maskNamed(s string, name naming) string {
	var b strings.Builder
	last := 0
	flags := strings.Contains(s, "--")
	for i := 1; i < len(s); i++ {
		if s[i] != ':' && s[i] != '=' && !(flags && s[i] == ' ') || i < last || !endsSecret(s[:i]) {
			continue
		}
		of, separator := splitKey(s[:i+1])
		if !namesSecret(of) || separator == "" && !strings.HasPrefix(of, "--") {
			continue
		}
		from, to := secretAt(s, i+1)
		if from == to || from < last || !isSecret(s[:from], s[from:to]) {
			continue
		}
		b.WriteString(s[last:from] + masked("KEY", s[from:to], name))
		last = to
	}
	if last == 0 {
		return s
	}
	return b.String() + s[last:]
}

// longestSecret bounds what stands in quotes or in a list.
const longestSecret = 900

// secretAt is where the value stands that begins at an offset, without its
// quotes.
func secretAt(s string, i int) (from, to int) {
	i += len(s[i:]) - len(strings.TrimLeft(s[i:], " \t:="))
	if i < len(s) && (s[i] == '[' || s[i] == '(') {
		return secretList(s, i+1)
	}
	if i+1 < len(s) && s[i] == 'b' && (s[i+1] == '\'' || s[i+1] == '"') {
		i++
	}
	if i+1 < len(s) && s[i] == '\\' && (s[i+1] == '"' || s[i+1] == '\'') { // JSON in JSON
		end := strings.IndexAny(s[i+2:], "\\\n")
		if end < 0 {
			end = len(s) - i - 2
		}
		return i + 2, i + 2 + end
	}
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		return i + 1, stringEnd(s, i+1, s[i])
	}
	end := strings.IndexAny(s[i:], " \t\r\n'\",;)]}&\\")
	if end < 0 {
		end = len(s) - i
	}
	return i, i + end
}

// stringEnd is where a string in quotes ends, or the line where it was cut.
func stringEnd(s string, i int, quote byte) int {
	for ; i < len(s) && s[i] != '\n'; i++ {
		switch s[i] {
		case '\\':
			i++
		case quote:
			return i
		}
	}
	return min(i, len(s))
}

// secretList is the inside of a list of strings, from the first quote mark to
// the last.
func secretList(s string, i int) (from, to int) {
	end := strings.IndexAny(s[i:min(len(s), i+longestSecret)], "])\n")
	if end < 0 {
		end = min(len(s), i+longestSecret) - i
	}
	list := s[i : i+end]
	first := strings.IndexAny(list, `'"`)
	if first < 0 || strings.Trim(list[:first], " b") != "" {
		return i, i
	}
	rest := strings.TrimRight(list[first+1:], " '\"")
	return i + first + 1, i + first + 1 + len(rest)
}

// isSecret tells a secret from what else has such a name.
func isSecret(before, x string) bool {
	list := strings.TrimRight(before, `'"b `)
	if strings.HasSuffix(list, "[") || strings.HasSuffix(list, "(") {
		of, _ := splitKey(strings.TrimRight(list, "[( "))
		return of != "token" && strings.Trim(x, `'", `) != ""
	}
	return x != "" && secretValue(before, x, "")
}
