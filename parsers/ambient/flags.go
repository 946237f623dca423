package ambient

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/redact"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Command lines of the Python programs whose options are spelled --like-this
// or --like_this: text-generation-webui, ComfyUI, AUTOMATIC1111, trainers.
var CommandLines = text.Parser{Name: "command-lines", Context: commandWords, Parse: parseCommandLines}

var commandWords = []string{
	"server.py --", "webui.py --", "main.py --", "launch.py --", "app.py --", "chat.py -", "test_inference.py -", "test_benchmark_inference.py -",
	"Launching Web UI with arguments:", "COMMANDLINE_ARGS=", "CMD_FLAGS", "EXTRA_LAUNCH_ARGS=", "start_windows.bat --", "start_linux.sh --", "start_macos.sh --", "webui.sh --", "webui-user.bat --", "accelerate launch ", "torchrun ", "deepspeed --", "train_network.py --", "train.py --", "inference_realesrgan.py -", "inference_gfpgan.py -", "inference_codeformer.py -", "wgp.py -", "entry_with_update.py -", "facefusion.py run", "run.py -", "mlx_lm.lora ", "mlx_lm.server ", "mlx_lm.generate ", "mlx_vlm.lora ", "', '--", "cmd = ",
}

func parseCommandLines(l *text.Log, hits []text.Hit, f *fact.Facts) {
	line := -1
	for _, h := range hits {
		if i := l.LineIndex(h.At); i != line {
			line = i
			command, words := l.Lines[i].Text, listed(l.Lines[i].Text)
			if words != "" {
				command = words
				l.Type(i)
			} else if !l.Typed(h.At) && !launched(command) {
				continue
			}
			for ; strings.HasSuffix(command, "\\") && i+1 < len(l.Lines) && len(command) < 4000; i++ {
				command = strings.TrimSuffix(command, "\\") + l.Lines[i+1].Text // typed on over several lines
			}
			f.Signals = append(f.Signals, fact.Signal{ID: "command_line", Line: l.Lines[line].Number, Text: redact.CommandLine(command, "MY")})
			flags(f, redact.CommandLine(command, "MY"), l.Lines[line].Number)
		}
	}
}

// comfyArguments begins the line of ComfyUI's error report.
const comfyArguments = "- **Arguments:** "

// launched reports the line in which a program prints its own arguments.
func launched(line string) bool {
	return strings.HasPrefix(line, "Launching Web UI with arguments:") || strings.HasPrefix(line, "CMD_FLAGS") || strings.HasPrefix(line, comfyArguments) || strings.HasPrefix(line, "cmd = ") // DeepSpeed's runner.py
}

// listed is the command that a launcher prints as Python's list, "" if the line
// has none: DeepSpeed's launch.py ("['/usr/bin/python', '-u', 'train.py',
// '--local_rank=0'] exits with return code = 1"), CalledProcessError of
// subprocess, by which accelerate and torch.distributed.launch end.
func listed(line string) string {
	_, list, found := strings.Cut(line, "['")
	if !found {
		return ""
	}
	list, _, _ = strings.Cut(list, "']")
	words := strings.Split(list, "', '")
	if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, ".py") || strings.Contains(w, "python") }) {
		return ""
	}
	for i, word := range words {
		if strings.ContainsAny(word, " \t") {
			words[i] = `"` + word + `"`
		}
	}
	return strings.Join(words, " ")
}

// flags reads the options of a command line, long and short, with the words
// that follow each as its value.
func flags(f *fact.Facts, command string, line int) {
	var flag string
	var value []string
	flush := func() {
		if name := text.SettingName(flag); name != "" {
			f.Settings = append(f.Settings, fact.Setting{Name: name, Value: strings.Join(value, " "), Words: value, Line: line, Flag: flag})
		}
		flag, value = "", nil
	}
	for _, word := range quotedFields(command) {
		word = strings.Trim(word, "'\"`")
		switch {
		case text.IsFlag(word):
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

// mostInQuotes is how many words a value in quotes has: what stays open is a quote.
const mostInQuotes = 12

// quotedFields splits at blanks, but not within the quotes of one value: paths of
// Windows have blanks.
func quotedFields(command string) []string {
	words := strings.Fields(command)
	out := make([]string, 0, len(words))
	for i := 0; i < len(words); i++ {
		word := words[i]
		if quote := opened(word); quote != 0 {
			for k := i + 1; k < min(len(words), i+mostInQuotes); k++ {
				if words[k][len(words[k])-1] == quote {
					word, i = strings.Join(words[i:k+1], " "), k
					break
				}
			}
		}
		out = append(out, word)
	}
	return out
}

// opened is the quote with which a word or its value begins and does not end, 0
// if there is none.
func opened(word string) byte {
	flag, value, joined := strings.Cut(word, "=")
	if !joined {
		value = flag
	}
	if value == "" || value[0] != '"' && value[0] != '\'' || len(value) > 1 && value[len(value)-1] == value[0] {
		return 0
	}
	return value[0]
}
