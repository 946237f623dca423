package parsers

import "strings"

// Command lines of the Python programs whose options are spelled --like-this
// or --like_this: text-generation-webui, ComfyUI, AUTOMATIC1111, trainers.
var commandLines = Parser{Name: "command-lines", Context: commandWords, Parse: parseCommandLines}

var commandWords = []string{
	"server.py --", "webui.py --", "main.py --", "launch.py --", "app.py --", "chat.py -", "test_inference.py -", "test_benchmark_inference.py -",
	"Launching Web UI with arguments:", "COMMANDLINE_ARGS=", "CMD_FLAGS", "EXTRA_LAUNCH_ARGS=",
	"start_windows.bat --", "start_linux.sh --", "start_macos.sh --", "webui.sh --", "webui-user.bat --",
	"accelerate launch ", "torchrun ", "deepspeed --", "train_network.py --", "train.py --",
}

func parseCommandLines(l *Log, hits []Hit, f *Facts) {
	line := -1
	for _, h := range hits {
		if i := l.lineIndex(h.At); i != line {
			line = i
			f.Signals = append(f.Signals, Signal{ID: "command_line", Line: l.Lines[i].Number, Text: withoutSecrets(l.Lines[i].Text)})
			f.flags(l.Lines[i].Text, l.Lines[i].Number)
		}
	}
}

// flags reads the options of a command line, long and short, with the words
// that follow each as its value.
func (f *Facts) flags(command string, line int) {
	var flag string
	var value []string
	flush := func() {
		if name := settingName(flag); name != "" && !secret(name) {
			f.Settings = append(f.Settings, Setting{Name: name, Value: strings.Join(value, " "), Line: line, Flag: flag})
		}
		flag, value = "", nil
	}
	for _, word := range strings.Fields(command) {
		word = strings.Trim(word, "'\"`")
		switch {
		case isFlag(word):
			flush()
			name, v, ok := strings.Cut(word, "=")
			if flag = name; ok {
				value = append(value, strings.Trim(v, "'\""))
			}
		case word == "&&" || word == "|" || word == ";" || strings.HasPrefix(word, "#"):
			flush()
			return
		case word == "\\":
		case flag != "":
			value = append(value, word)
		}
	}
	flush()
}

func isFlag(word string) bool {
	name := strings.TrimLeft(word, "-")
	dashes := len(word) - len(name)
	return dashes >= 1 && dashes <= 2 && name != "" && (name[0]|0x20) >= 'a' && (name[0]|0x20) <= 'z'
}

// settingName normalises the spelling of an option.
func settingName(flag string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimLeft(flag, "-")), "-", "_")
}

// withoutSecrets is a command line to quote, its keys and passwords left out.
func withoutSecrets(text string) string {
	words := strings.Fields(text)
	hide := false
	for i, word := range words {
		name, _, given := strings.Cut(word, "=")
		switch {
		case isFlag(word) && secret(settingName(name)):
			if hide = !given; given {
				words[i] = name + "=..."
			}
		case isFlag(word):
			hide = false
		case hide:
			words[i] = "..."
			hide = false
		}
	}
	return strings.Join(words, " ")
}

// secret reports options whose value must not be repeated.
func secret(name string) bool {
	for _, word := range [...]string{"key", "token", "password", "auth", "secret"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
