package host

import (
	"regexp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// A bare kill can also be kill -9, an orchestrator or a time limit.
var shellKilled = fact.Failure{Kind: fact.ShellKilled, Framework: "linux-oom-killer", Backend: "cpu", Weak: true}

// explainedCode is an explanation, not a report.
var explainedCode = text.NewPattern(`137\)?(?:means|indicates|isusually|typically)`)

// readExitCode reads exit code 137 (128 + SIGKILL), which a container whose
// OOMKilled is false got from a person.
func readExitCode(m text.Message) int {
	s := m.Log.Squeezed()
	if _, _, after, _ := m.Log.Around(m.At, m.End); after != "" && after[0] >= '0' && after[0] <= '9' || m.Mentions(`oomkilled":false`, `oomkilled:false`, "failedlivenessprobe") || s[m.At] == '"' && m.Mentions(`oomkilled":`) {
		return m.End
	}
	if m.Find(explainedCode, 60).Ok() || m.Precedes("c", 1) && strings.HasPrefix(s[m.At:], "rc=") {
		return m.End
	}
	x := shellKilled
	if m.Mentions("laststate:terminated", "containerstatuses", "lastfailureinfo", "restartcount", "podfailed", ").reason[") {
		x.Framework = "kubernetes"
	}
	return text.Fails(x)(m)
}

// killedWords are "Killed" in glibc's and bash's catalogues, without short ones such as "Mort".
var killedWords = []string{"Killed", "已杀死", "強制結束", "強制終了", "죽었음", "Getötet", "Abgebrochen (Killed)", "Tué", "Processus arrêté", "Terminado (killed)", "Matado", "Ucciso", "Morto", "Geëlimineerd", "Unicestwiony", "Убито", "Убит", "Вбито", "Вбитий", "Dödad", "Slået ihjel", "Tapettu", "Zabit (SIGKILL)", "Kilőve", "Öldürüldü", "Süreç durduruldu", "Terbunuh", "Dibunuh", "Omorât", "Bị giết", "Bị buộc kết thúc"}

// overprinted is "Killed" over the head of a counter that redraws its line:
// "Killedg in train batch: 127 / 263", "Killed██▌    | 450/1000".
var overprinted = regexp.MustCompile(`^Killed[^\sA-Z:].*\d ?/ ?\d`)

// zshJob is zsh's "[1]  + 78030 killed     python run.py", also behind a bar that
// was not ended.
var zshJob = regexp.MustCompile(`(?:^|\D)\[\d\]  (?:  |\+ )\s*\d+ killed `)

// readShell reads the word that a shell prints for signal 9: alone on its line
// (dash, an interactive bash, PyTorch's launcher), or after script, line and
// PID; zsh has "zsh: killed     python x.py".
func readShell(m text.Message) int {
	line := strings.TrimSpace(m.Log.LineText(m.At))
	if !shellKill(line) && !m.Precedes("it]", 3) && !m.Precedes("it/s]", 5) { // or behind a progress bar
		return m.End
	}
	return text.Fails(shellKilled)(m)
}

func shellKill(line string) bool {
	line = strings.TrimPrefix(line, "[build] ") // Visual Studio Code's CMake Tools
	switch word := strings.Trim(line, ".!* "); {
	case word == "Killed: 9", word == "강제 종료됨", overprinted.MatchString(line), slices.Contains(killedWords, word):
		return true
	case strings.HasPrefix(line, "make") && strings.HasSuffix(line, "] Killed"), strings.HasPrefix(line, "zsh: killed "), zshJob.MatchString(line):
		return true
	}
	// "bash: line 1:  1374 Killed    python x.py", "x.sh : ligne 30 : 7 Tué".
	before, after, found := cutKilled(line)
	if !found || after != "" && after[0] != ' ' {
		return false
	}
	pid := before[strings.LastIndexAny(before, " ]\t")+1:]
	_, isNumber := text.WholeNumber(pid)
	colons := strings.Count(before, ":") + strings.Count(before, "：") // one behind the script, one behind its line
	return isNumber && (colons > 1 || strings.Contains(before, "line ") || strings.Contains(before, "行") || strings.HasPrefix(before, "[") || before == pid)
}

func cutKilled(line string) (before, after string, found bool) {
	for _, word := range killedWords {
		if before, after, found = strings.Cut(line, word); found {
			return strings.TrimSpace(before), after, true
		}
	}
	return "", "", false
}
