package quote

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// hostile are values that a target may take for more than themselves.
var hostile = []string{
	`$(touch pwned)`, "`touch pwned`", `'; touch pwned; '`, `"; touch pwned; "`, "a\ntouch pwned", "a\u2028touch pwned", `x'"$(touch pwned)"'`, `\$(touch pwned)`, `\\"$(touch pwned)`, `${IFS}`, `$PATH`, `$'\x41'`, `\`, `\\`, `a\`,
	"&& touch pwned", "| touch pwned", "; touch pwned", "> pwned", "< /etc/passwd", "#x", "a #x", "*", "?", "[a-z]*", "~", "~root", "{a,b}", "!!", "!x", `a!"b`, "-x", "--x=$(touch pwned)", "@x", "=x", "%s%n", "",
	`%PATH%`, `%PATH:~0,1%`, `%%PATH%%`, `^%PATH^%`, `100%`, `%1`, `%*`, `!PATH!`, `& calc`, `"& calc`, `"&calc&"`, `^& calc`, `^^& calc`, `^`, `a^`, `(calc)`, `|calc`, `"|calc`, `>x`, `"`, `""`, `"""`, `'`, `''`, `'''`, `\"& calc`, `\\"& calc`,
	`C:\Program Files\llama\x.gguf`, `C:\dir\`, `C:\dir with blanks\`, `C:\a\\`, `\\server\share\x`, `C:\R&D\100%\m.gguf`, `D:\it's\m.gguf`, "C:\\new\\table",
	"$env:PATH", "$(calc)", "`$(calc)", "'; calc; '", "\u2018; calc; \u2019", "\u201c; calc; \u201d", "\u201b\u201a; calc", "@(calc)", ";calc", ",", "a,b",
	"yes", "null", "1.0", "0x10", "- a", "a: b", "a: [b", "{a: b}", "&anchor", "*alias", "!tag", "|", ">", "%YAML 1.2", "key = 1", "[table]", "\\u0041", "\\x41", "{{ .Env }}", "\u00a0x", "модель", "\U0001f999 x", "%n%h", "$${X}", "<|file|>", "/m/a$(touch x)",
}

// meant is the value that is to arrive.
func meant(s, dashed string) string {
	s = Printable(s)
	if strings.HasPrefix(s, "-") {
		s = dashed + s
	}
	return s
}

// TestShells gives every value to the shells that are here.
func TestShells(t *testing.T) {
	for _, shell := range []string{"bash", "dash", "zsh", "busybox"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Log("there is no", shell)
			continue
		}
		t.Run(shell, func(t *testing.T) {
			var script, want strings.Builder
			for _, s := range hostile {
				script.WriteString("printf '%s\\0' " + Shell(s) + "\nprintf '%s\\0' \"" + Double(s) + "\"\n")
				want.WriteString(meant(s, "./") + "\x00" + meant(s, "") + "\x00")
			}
			args := []string{"-c", script.String()}
			if shell == "busybox" {
				args = append([]string{"sh"}, args...)
			}
			cmd := exec.Command(path, args...)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Equal(t, strings.Split(want.String(), "\x00"), strings.Split(string(out), "\x00"))
			left, err := os.ReadDir(cmd.Dir)
			require.NoError(t, err)
			assert.Empty(t, left, "something ran")
		})
	}
}

// TestTypedIntoBash: at a prompt "!" recalls commands.
func TestTypedIntoBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	for _, s := range []string{"!!", "!x", `a!"b`, "!echo", "x!"} {
		cmd := exec.Command(bash, "--norc", "-i")
		cmd.Env = append(os.Environ(), "HISTFILE=", "PS1=")
		cmd.Stdin = strings.NewReader("set -o history -o histexpand\necho before\nprintf '<%s>\\n' " + Shell(s) + "\nprintf '<%s>\\n' \"" + Double(s) + "\"\n")
		out, err := cmd.Output()
		require.NoError(t, err)
		assert.Equal(t, 2, strings.Count(string(out), "<"+s+">"), "%s", out)
	}
}

func TestPythonReads(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	script := "import sys\n"
	want := ""
	for _, s := range hostile {
		script += "sys.stdout.buffer.write((" + Python(s) + " + '\\0').encode())\n"
		want += Printable(s) + "\x00"
	}
	cmd := exec.Command(python, "-c", script)
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.Equal(t, want, string(out))
}

func TestYAMLAndTOML(t *testing.T) {
	for _, s := range hostile {
		var y, m map[string]string
		require.NoError(t, yaml.Unmarshal([]byte("a: "+JSON(s)+"\nb: {c: "+JSON(s)+"}\n"), new(any)), s)
		require.NoError(t, yaml.Unmarshal([]byte("a: "+JSON(s)+"\n"), &y), s)
		assert.Equal(t, Printable(s), y["a"])
		_, err := toml.Decode("a = "+JSON(s)+"\n", &m)
		require.NoError(t, err, s)
		assert.Equal(t, Printable(s), m["a"])
	}
}

// TestSmallGrammars holds values to what these programs do with them, as far as
// it concerns one value.
func TestSmallGrammars(t *testing.T) {
	for _, s := range hostile {
		assert.Equal(t, strings.ReplaceAll(strings.TrimSpace(Printable(s)), leadingQuote(s), ""), ollamaValue(t, Modelfile(s)), "Modelfile: %s", s)
		assert.Equal(t, Printable(s), systemdValue(t, Systemd(s)), "systemd: %s", s)
		assert.Equal(t, Printable(s), dockerValue(t, Dockerfile(s)), "Dockerfile: %s", s)
		assert.Equal(t, meant(s, "./"), powerShellString(t, PowerShell(s)), "PowerShell: %s", s)
	}
}

func leadingQuote(s string) string {
	if strings.HasPrefix(s, `"`) {
		return `"` // no name has one, and three begin a text of several lines
	}
	return "\x00"
}

// ollamaValue is unquote of ollama/parser/parser.go on one line.
func ollamaValue(t *testing.T, s string) string {
	t.Helper()
	require.NotContains(t, s, "\n")
	for _, quote := range []string{`"""`, `"`} {
		if strings.HasPrefix(s, quote) {
			require.True(t, strings.HasSuffix(s, quote) && len(s) >= 2*len(quote), "%s stays open", s)
			return s[len(quote) : len(s)-len(quote)]
		}
	}
	return s
}

// systemdValue is what stands within double quotes of Environment=: specifiers
// and C escapes (systemd.syntax(7), systemd.unit(5)).
func systemdValue(t *testing.T, s string) string {
	t.Helper()
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"', '\n':
			t.Fatalf("%s ends within", s)
		case '\\', '%':
			require.Less(t, i+1, len(s))
			require.True(t, s[i] == '%' && s[i+1] == '%' || s[i] == '\\' && strings.IndexByte(`\"`, s[i+1]) >= 0, "%s has another escape", s)
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// dockerValue is a double-quoted word as BuildKit's shell/lex.go reads it.
func dockerValue(t *testing.T, s string) string {
	t.Helper()
	require.True(t, len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"')
	s = s[1 : len(s)-1]
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"', '$', '\n':
			t.Fatalf("%s is more than a text", s)
		case '\\':
			require.Less(t, i+1, len(s))
			if strings.IndexByte(`"$\`, s[i+1]) >= 0 {
				i++
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// powerShellString is a string in single quotes: any of five quotes ends it, and
// two of them are one (about_Quoting_Rules; tokenizer.cs, IsSingleQuote).
func powerShellString(t *testing.T, s string) string {
	t.Helper()
	r := []rune(s)
	require.True(t, len(r) >= 2 && r[0] == '\'' && r[len(r)-1] == '\'')
	var b strings.Builder
	for r = r[1 : len(r)-1]; len(r) > 0; r = r[1:] {
		if strings.ContainsRune("'‘’‚‛", r[0]) {
			require.Greater(t, len(r), 1, s)
			require.True(t, strings.ContainsRune("'‘’‚‛", r[1]), s)
			b.WriteRune(r[0])
			r = r[1:]
			continue
		}
		b.WriteRune(r[0])
	}
	return b.String()
}
