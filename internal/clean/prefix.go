package clean

import (
	"cmp"
	"strings"
)

// Strip takes the prefixes of loggers, containers and quotes off a line, as
// often as they are stacked, and returns the process or rank and the program
// they name.
func Strip(s string) (text, source, program string) {
	l := strip(s)
	return l.Text, l.Source, l.Program
}

func strip(s string) Line {
	var l Line
	for range 12 {
		n, src := prefixLen(s)
		if n == 0 {
			break
		}
		if s[0] == ' ' {
			s = s[n:]
			continue
		}
		if src != "" {
			l.Source = src
		}
		if name := programOf(s[:n]); name != "" {
			l.Program = name
		}
		l.Level = cmp.Or(levelOf(s[:n]), l.Level)
		l.Logged = l.Logged || s[0] < 0x80 && strings.IndexByte(">|#*", s[0]) < 0
		s = s[n:]
	}
	l.Text = strings.TrimRight(s, " ")
	return l
}

// programOf reads the unit of journald's "host ollama[1418]: " and the
// container of compose's "ollama  | ", which keeps its bar.
func programOf(prefix string) string {
	if name, ok := strings.CutSuffix(prefix, " | "); ok {
		return strings.TrimSpace(name) + " |"
	}
	open := strings.LastIndexByte(prefix, '[')
	if open < 1 || !strings.HasSuffix(prefix, "]: ") {
		return ""
	}
	return prefix[strings.LastIndexByte(prefix[:open], ' ')+1 : open]
}

// prefixLen returns the length of the one prefix that s starts with, or 0.
func prefixLen(s string) (n int, source string) {
	if s == "" {
		return 0, ""
	}
	switch c := s[0]; {
	case c == ' ':
		// Indentation says nothing that a parser needs, and hides prefixes.
		return len(s) - len(strings.TrimLeft(s, " ")), ""
	case c == '>' || c == '|':
		return 1, ""
	case c == '#':
		if t := strings.TrimLeft(s, "#"); strings.HasPrefix(t, " ") {
			return len(s) - len(t) + 1, ""
		}
	case c == '*':
		if t := strings.TrimLeft(s, "*"); len(s)-len(t) <= 3 {
			return len(s) - len(t), ""
		}
	case c == '(':
		return processPrefix(s)
	case c == '[':
		return bracketPrefix(s)
	case c >= '0' && c <= '9':
		if n := timePrefix(s); n > 0 {
			return n, ""
		}
		return journaldPrefix(s), ""
	case c >= 0x80:
		if n := boxPrefix(s); n > 0 {
			return n, ""
		}
		return journaldPrefix(s), ""
	default:
		return wordPrefix(s)
	}
	return 0, ""
}

// boxPrefix covers rich boxes ("│ ", "╭──") and Ollama's spinner ("⠦ ").
func boxPrefix(s string) int {
	t := strings.TrimLeftFunc(s, func(r rune) bool { return r >= 0x2500 && r <= 0x257f || r >= 0x2800 && r <= 0x28ff || r == '❱' })
	return len(s) - len(t)
}

// processPrefix covers vLLM's and Ray's "(Worker_TP0 pid=160) ",
// "(RayWorkerWrapper pid=1054, ip=10.0.0.1) ", "(EngineCore pid=7) ".
func processPrefix(s string) (int, string) {
	end := strings.IndexByte(s, ')')
	if end < 0 || end > 80 {
		return 0, ""
	}
	inside := s[1:end]
	if !strings.Contains(inside, "pid=") && inside != "raylet" && inside != "autoscaler" && inside != "Process" { // Process: what Lemonade starts
		return 0, ""
	}
	name, _, _ := strings.Cut(inside, " pid=")
	if strings.ContainsAny(strings.Replace(name, " rank=", " ", 1), "\"'`/=") { // vLLM 0.8: "VllmWorker rank=1"
		return 0, ""
	}
	source, _, _ := strings.Cut(inside, ",")
	return skipBlanks(s, end+1), source
}

// bracketPrefix covers "[rank0]: ", "[2025-07-02 07:41:58 TP0] ", "[INFO] ",
// "[TensorRT-LLM][ERROR] ", "[pod/x] ", "[53193] ", "[multiproc_executor.py:492] ".
func bracketPrefix(s string) (int, string) {
	end := strings.IndexByte(s, ']')
	if end < 1 || end > 64 {
		return 0, ""
	}
	inside, after := s[1:end], s[end+1:]
	if rank, ok := strings.CutPrefix(inside, "rank"); ok && digits(rank) {
		return skipBlanks(s, end+1+len(after)-len(strings.TrimPrefix(after, ":"))), inside
	}
	if after != "" && after[0] != ' ' && after[0] != '[' && after[0] != ':' {
		return 0, ""
	}
	if !loggerTag(inside) && !beforeLevel(inside, after) && !strings.HasPrefix(after, " (Process) ") {
		return 0, ""
	}
	n := end + 1
	if strings.HasPrefix(after, ":") {
		n++
	}
	return skipBlanks(s, n), bracketSource(inside)
}

// beforeLevel reports a logger's name in front of the level: "[llm] [ERROR] ".
func beforeLevel(name, after string) bool {
	next, ok := strings.CutPrefix(after, " [")
	word, _, closed := strings.Cut(next, "]")
	return ok && closed && levels[word] != 0 && !strings.ContainsAny(name, " \"'`")
}

// loggerTag tells a logger's bracket from one that belongs to the message.
func loggerTag(s string) bool {
	switch {
	case s == "":
		return false
	case digits(s) && len(s) > 2, strings.Count(s, ":") >= 2 && digits(strings.Map(dropTimePunctuation, s)):
		return true
	case strings.HasPrefix(s, "20") && len(s) >= 19 && (s[10] == ' ' || s[10] == 'T'):
		return true
	case level(s), strings.HasPrefix(s, "pod/"), s == "TensorRT-LLM", s == "TRT-LLM", s == "vllm", s == "host", s == "kernel":
		return true
	}
	// "[engine.py:160]", "[utils.py:802:see_memory_usage]", "[RANK 1]", "[gpu_id=0]".
	if file, line, ok := strings.Cut(s, ".py:"); ok && !strings.ContainsAny(file, " '\"") && line != "" && line[0] >= '0' && line[0] <= '9' {
		return true
	}
	if file, line, ok := strings.Cut(s, ".cpp:"); ok && !strings.Contains(file, " ") && digits(line) {
		return true
	}
	return strings.HasPrefix(s, "RANK ") || strings.HasPrefix(s, "gpu_id=") || strings.HasPrefix(s, "gpu=") || strings.HasPrefix(s, "Stage-")
}

func dropTimePunctuation(r rune) rune {
	if strings.ContainsRune(":.-/, ", r) {
		return -1
	}
	return r
}

// bracketSource returns the rank or program that a logger's bracket names.
func bracketSource(inside string) string {
	if rank, ok := strings.CutPrefix(inside, "RANK "); ok && digits(rank) {
		return "TRT-LLM rank" + rank
	}
	if inside == "TRT-LLM" || inside == "TensorRT-LLM" {
		return "TRT-LLM"
	}
	return sglangRank(inside)
}

// sglangRank finds "TP5" in "2025-10-16 09:06:22 TP5".
func sglangRank(inside string) string {
	if i := strings.LastIndexByte(inside, ' '); i >= 0 && strings.HasPrefix(inside[i+1:], "TP") && digits(inside[i+3:]) {
		return inside[i+1:]
	}
	return ""
}

// timePrefix covers ISO stamps ("2024-06-28T06:11:52.685300953Z "), dates with
// times ("2023-07-31 14:51:30 "), rich's and textgen's "09:45:47-104233 " and
// llama.cpp's "1.06.520.077 E ".
func timePrefix(s string) int {
	end := strings.IndexByte(s, ' ')
	word := s
	if end > 0 {
		word = s[:end]
	}
	switch {
	case len(word) >= 19 && isDate(word) && (word[10] == 'T' || word[10] == '_'):
		return skipBlanks(s, len(word))
	case len(word) == 10 && isDate(word) && end > 0:
		rest := s[end+1:]
		clock, _, _ := strings.Cut(rest, " ")
		if !isClock(clock) {
			return 0
		}
		return skipBlanks(s, end+1+len(clock))
	case isClock(word) && end > 0:
		return skipBlanks(s, len(word))
	case isLlamaClock(word) && end > 0 && len(s) > end+2 && strings.IndexByte("IWEDT", s[end+1]) >= 0 && s[end+2] == ' ':
		return skipBlanks(s, end+2)
	}
	return 0
}

func isDate(s string) bool {
	return len(s) >= 10 && (s[4] == '-' && s[7] == '-' || s[4] == '/' && s[7] == '/') && digits(s[:4]) && digits(s[5:7]) && digits(s[8:10])
}

// isClock covers "14:51:30", "14:51:30,123", "09:45:47-104233", "3:44PM".
func isClock(s string) bool {
	if len(s) < 6 || len(s) > 20 || strings.Count(s, ":") == 0 || s[0] < '0' || s[0] > '9' {
		return false
	}
	colons := strings.Count(s, ":")
	if colons == 1 {
		return strings.HasSuffix(s, "AM") || strings.HasSuffix(s, "PM")
	}
	return colons == 2 && digits(strings.Map(dropTimePunctuation, s))
}

// isLlamaClock covers minutes.seconds.milliseconds.microseconds.
func isLlamaClock(s string) bool {
	return strings.Count(s, ".") == 3 && len(s) >= 10 && digits(strings.ReplaceAll(s, ".", ""))
}

// wordPrefix covers what begins with a letter: levels, vLLM's "INFO 11-18
// 18:07:17 worker.py:267] ", compose's "vllm-1  | ", journald's "Jan 26
// 17:48:20 host ollama[1418]: ", klog's "E1103 02:59:01.152656 81041 x.cc:553] ".
func wordPrefix(s string) (int, string) {
	if n := levelPrefix(s); n > 0 {
		return n, ""
	}
	if n := composePrefix(s); n > 0 {
		return n, ""
	}
	if n := journaldPrefix(s); n > 0 {
		return n, ""
	}
	if n := klogPrefix(s); n > 0 {
		return n, ""
	}
	// "rank4]: " and "RayWorkerWrapper pid=1861983) ", whose opening was lost.
	if strings.HasPrefix(s, "rank") {
		if i := strings.Index(s[:min(len(s), 12)], "]: "); i > 4 && digits(s[4:i]) {
			return i + 3, s[:i]
		}
	}
	if i := strings.Index(s[:min(len(s), 61)], ") "); i > 0 && strings.Contains(s[:i], " pid=") && !strings.ContainsAny(s[:i], "(/") {
		return i + 2, s[:i]
	}
	return 0, ""
}

func level(s string) bool {
	s = strings.TrimSpace(s)
	return levels[s] != 0 || s == "stderr" || s == "stdout"
}

var levels = map[string]byte{
	"CRITICAL": 'E', "FATAL": 'E', "ERROR": 'E', "ERR": 'E', "E": 'E', "error": 'E',
	"WARNING": 'W', "WARN": 'W', "W": 'W', "warn": 'W',
	"INFO": 'I', "DEBUG": 'I', "DBG": 'I', "I": 'I', "D": 'I', "info": 'I', "debug": 'I',
}

// levelOf reads the level in a prefix that was taken off.
func levelOf(prefix string) byte {
	const between = " []():"
	words := strings.Trim(prefix, between)
	first, last := words, words[strings.LastIndexAny(words, between)+1:]
	if i := strings.IndexAny(words, between); i >= 0 {
		first = words[:i]
	}
	if len(first) == 5 && digits(first[1:]) { // klog's "E1103"; F is fatal
		first = strings.Replace(first[:1], "F", "E", 1)
	}
	return cmp.Or(levels[first], levels[last])
}

// levelPrefix takes "ERROR 04-01 23:46:56 [engine.py:160] " up to the bracket,
// "INFO:", "ERROR:    ", "INFO     " and a lone pytest "E   ".
func levelPrefix(s string) int {
	end := 0
	for end < len(s) && end < 9 && (s[end] >= 'A' && s[end] <= 'Z') {
		end++
	}
	if end == 0 || !level(s[:end]) {
		return 0
	}
	rest := s[end:]
	if end == 1 && !strings.HasPrefix(rest, "   ") {
		return 0 // "D:" may be a drive
	}
	if strings.HasPrefix(rest, ":") {
		return skipBlanks(s, end+1)
	}
	if !strings.HasPrefix(rest, " ") {
		return 0
	}
	n := skipBlanks(s, end)
	// vLLM: "04-01 23:46:56 [file.py:1] " or "11-18 18:07:17 file.py:267] ".
	if isShortStamp(s[n:]) {
		n = skipBlanks(s, n+len("04-01 23:46:56"))
		if i := strings.IndexByte(s[n:], ']'); i > 0 && i < 64 && !strings.Contains(s[n:n+i], " ") {
			n = skipBlanks(s, n+i+1)
		}
	}
	return n
}

// isShortStamp covers "04-01 23:46:56 ", a date without its year.
func isShortStamp(s string) bool {
	const shape = "00-00 00:00:00 "
	if len(s) < len(shape) {
		return false
	}
	for i := range len(shape) {
		if digit := s[i] >= '0' && s[i] <= '9'; digit != (shape[i] == '0') || !digit && s[i] != shape[i] {
			return false
		}
	}
	return true
}

// composePrefix covers "ollama  | " and "vllm-1  | ".
func composePrefix(s string) int {
	i := strings.Index(s[:min(len(s), 43)], " | ")
	if i < 1 {
		return 0
	}
	name := strings.TrimRight(s[:i], " ")
	aligned := len(name) < i // compose pads names, a table's cell may not be
	if strings.ContainsAny(name, " :=()'\"|%") || !aligned && !strings.ContainsAny(name, "-_0123456789") {
		return 0
	}
	return i + 3
}

// journaldPrefix covers "Jan 26 17:48:20 host ollama[1418]: " and its
// translations ("12月 03 18:13:23 host ollama[3235]: ", "jun 18 13:23:19
// ollama[22256]: ").
func journaldPrefix(s string) int {
	i := strings.Index(s[:min(len(s), 99)], "]: ")
	if i < 0 {
		return 0
	}
	open := strings.LastIndexByte(s[:i], '[')
	if open < 0 || !digits(s[open+1:i]) {
		return 0
	}
	if colon := strings.Index(s[:open], ":"); colon < 1 || colon+3 >= open || !digits(s[colon-1:colon]) || !digits(s[colon+1:colon+3]) {
		return 0
	}
	return i + 3
}

// klogPrefix covers glog lines: level letter, month and day, time, thread, file.
func klogPrefix(s string) int {
	if len(s) < 24 || strings.IndexByte("IWEF", s[0]) < 0 || !digits(s[1:5]) || s[5] != ' ' {
		return 0
	}
	if i := strings.Index(s, "] "); i > 0 && i < 80 {
		return i + 2
	}
	return 0
}

func skipBlanks(s string, i int) int {
	for i < len(s) && s[i] == ' ' {
		i++
	}
	return i
}

func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
