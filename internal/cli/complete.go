package cli

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
)

const completionHead = `oomdoc completion prints what a shell completes oomdoc by.

Usage:
  oomdoc completion bash|zsh|fish|powershell

To have it:
  bash:       oomdoc completion bash > ~/.local/share/bash-completion/completions/oomdoc
  zsh:        oomdoc completion zsh > "${fpath[1]}/_oomdoc"
  fish:       oomdoc completion fish > ~/.config/fish/completions/oomdoc.fish
  powershell: oomdoc completion powershell >> $PROFILE

Flags:
`

// shells are those that can be completed in.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// completion is the subcommand.
func (s *session) completion(_ context.Context, args []string) error {
	names, ok, err := s.bare("completion", args)
	if err != nil || !ok {
		return err
	}
	if len(names) != 1 || !slices.Contains(shells, names[0]) {
		wrong := ""
		if len(names) == 1 {
			wrong = meant(names[0], shells)
		}
		return trouble("completion needs a shell: %s%s", strings.Join(shells, ", "), wrong)
	}
	script := map[string]func() string{"bash": bash, "zsh": zsh, "fish": fish, "powershell": powershell}[names[0]]
	return s.print([]byte(script()))
}

// argWords are what completes an argument of a kind, nil where the shell knows.
func argWords(kind string) []string {
	switch kind {
	case "ids":
		return allIDs()
	case "shells":
		return shells
	case "commands":
		return commandNames()
	}
	return nil
}

// allIDs are what explain takes and reports print, but for messages of programs.
func allIDs() []string {
	ids := slices.DeleteFunc(causeIDs(), func(id string) bool { return id == anyCause || id == cause.NotSaid.ID })
	for id := range fix.Fixes() {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// values are what completes the value of a flag: its choices, or nil.
func values(f *flag.Flag) []string {
	if f.Name == "fail-on" {
		return causeIDs()
	}
	name, _ := flag.UnquoteUsage(f)
	if isBool(f) || !strings.Contains(name, " or ") {
		return nil
	}
	return strings.FieldsFunc(strings.ReplaceAll(name, " or ", ","), func(r rune) bool { return r == ',' || r == ' ' })
}

// told is a flag's usage without quotes and what a shell would read in it.
func told(f *flag.Flag) string {
	_, usage := flag.UnquoteUsage(f)
	return strings.NewReplacer(`"`, "", "'", "", "[", "(", "]", ")", ":", ",", "`", "", "$", "").Replace(usage)
}

func dashes(flags []*flag.Flag) []string {
	var out []string
	for _, f := range flags {
		out = append(out, dashed(f.Name))
	}
	return out
}

// bash completes with what bash itself has; _command_offset comes with the
// package bash-completion.
func bash() string {
	var flags, choices, args strings.Builder
	for _, c := range commands() {
		fmt.Fprintf(&flags, "    %q) flags=%q ;;\n", c.name, strings.Join(dashes(c.listed()), " "))
		for _, f := range c.listed() {
			if list := values(f); list != nil {
				fmt.Fprintf(&choices, "    %q) COMPREPLY=($(compgen -W %q -- \"$cur\")); return ;;\n", c.name+" "+dashed(f.Name), strings.Join(list, " "))
			} else if !isBool(f) {
				fmt.Fprintf(&choices, "    %q) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", c.name+" "+dashed(f.Name))
			}
		}
		if list := argWords(c.args); list != nil {
			fmt.Fprintf(&args, "    %q) COMPREPLY=($(compgen -W %q -- \"$cur\")) ;;\n", c.name, strings.Join(list, " "))
		}
	}
	return `# bash completion for oomdoc, made by: oomdoc completion bash
_oomdoc() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= flags= i
  COMPREPLY=()
  case ${COMP_WORDS[1]} in
    ` + strings.Join(commandNames(), "|") + `) [ "$COMP_CWORD" -gt 1 ] && command=${COMP_WORDS[1]} ;;
  esac
  if [ "$command" = run ]; then
    for ((i = 2; i < COMP_CWORD; i++)); do
      if [ "${COMP_WORDS[i]}" = -- ]; then
        if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); return; fi
        if [ "$i" -eq $((COMP_CWORD - 1)) ]; then COMPREPLY=($(compgen -c -- "$cur")); else COMPREPLY=($(compgen -f -- "$cur")); fi
        return
      fi
    done
  fi
  case "$command $prev" in
` + choices.String() + `  esac
  case "$command" in
` + flags.String() + `  esac
  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$cur")); return; fi
  case "$command" in
` + args.String() + `    run) COMPREPLY=($(compgen -W -- -- "$cur") $(compgen -c -- "$cur")) ;;
    *) COMPREPLY=($(compgen -f -- "$cur"))
       if [ -z "$command" ] && [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY+=($(compgen -W "` + strings.Join(commandNames(), " ") + `" -- "$cur")); fi ;;
  esac
}
complete -o filenames -F _oomdoc oomdoc
`
}

// zsh completes with _arguments.
func zsh() string {
	var b strings.Builder
	b.WriteString("#compdef oomdoc\n# zsh completion for oomdoc, made by: oomdoc completion zsh\n_oomdoc() {\n  local -a commands=(\n")
	for _, c := range commands()[1:] {
		fmt.Fprintf(&b, "    '%s:%s'\n", c.name, plainWords(c.about))
	}
	b.WriteString("  )\n  local command=\n  (( CURRENT > 2 )) && [[ -n ${commands[(r)${words[2]}:*]} ]] && command=${words[2]}\n  if [[ -n $command ]]; then shift words; (( CURRENT-- )); fi\n  case \"$command\" in\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "    '%s') _arguments", c.name)
		for _, f := range c.listed() {
			fmt.Fprintf(&b, " \\\n      '%s[%s]%s'", dashed(f.Name), told(f), zshValue(f))
		}
		switch list := argWords(c.args); {
		case list != nil:
			fmt.Fprintf(&b, " \\\n      '*:%s:(%s)'", c.args, strings.Join(list, " "))
		case c.args == "programs":
			b.WriteString(" \\\n      '(-)1:program:_command_names -e' '*::argument:_normal'")
		case c.name == "":
			b.WriteString(" \\\n      '1: :{ _describe command commands; _files }' '*:file:_files'")
		case c.args == "files":
			b.WriteString(" \\\n      '*:file:_files'")
		}
		b.WriteString(" ;;\n")
	}
	b.WriteString("  esac\n}\nif [ \"$funcstack[1]\" = _oomdoc ]; then _oomdoc \"$@\"; else compdef _oomdoc oomdoc; fi\n")
	return b.String()
}

func zshValue(f *flag.Flag) string {
	switch list := values(f); {
	case isBool(f):
		return ""
	case list != nil:
		return ":value:(" + strings.Join(list, " ") + ")"
	}
	return ":value:_files"
}

func plainWords(s string) string { return strings.NewReplacer("'", "", ":", ",").Replace(s) }

// fish completes with a line for each flag.
func fish() string {
	var b strings.Builder
	all := strings.Join(commandNames(), " ")
	b.WriteString("# fish completion for oomdoc, made by: oomdoc completion fish\n")
	for _, c := range commands() {
		when := fmt.Sprintf("__fish_seen_subcommand_from %s", c.name)
		if c.name == "" {
			when = "not __fish_seen_subcommand_from " + all
		} else {
			fmt.Fprintf(&b, "complete -c oomdoc -n 'not __fish_seen_subcommand_from %s' -a %s -d '%s'\n", all, c.name, plainWords(c.about))
		}
		for _, f := range c.listed() {
			kind := "-l"
			if len(f.Name) == 1 {
				kind = "-s"
			}
			fmt.Fprintf(&b, "complete -c oomdoc -n '%s' %s %s -d '%s'", when, kind, f.Name, told(f))
			if list := values(f); list != nil {
				fmt.Fprintf(&b, " -x -a '%s'", strings.Join(list, " "))
			} else if !isBool(f) {
				b.WriteString(" -r")
			}
			b.WriteString("\n")
		}
		if list := argWords(c.args); list != nil {
			fmt.Fprintf(&b, "complete -c oomdoc -n '%s' -f -a '%s'\n", when, strings.Join(list, " "))
		} else if c.args == "programs" {
			fmt.Fprintf(&b, "complete -c oomdoc -n '%s' -a '(__fish_complete_subcommand --fcs-skip=2)'\n", when)
		} else if c.args == "" {
			fmt.Fprintf(&b, "complete -c oomdoc -n '%s' -f\n", when)
		}
	}
	return b.String()
}

// powershell completes with a script block; files come from PowerShell itself.
func powershell() string {
	var b strings.Builder
	b.WriteString("# PowerShell completion for oomdoc, made by: oomdoc completion powershell\nRegister-ArgumentCompleter -Native -CommandName oomdoc, oomdoc.exe -ScriptBlock {\n  param($word, $ast, $position)\n  $table = @{\n")
	for _, c := range commands() {
		list := append(dashes(c.listed()), argWords(c.args)...)
		if c.name == "" {
			list = append(list, commandNames()...)
		}
		fmt.Fprintf(&b, "    '%s' = '%s'\n", c.name, strings.Join(list, " "))
		for _, f := range c.listed() {
			if v := values(f); v != nil {
				fmt.Fprintf(&b, "    '%s %s' = '%s'\n", c.name, dashed(f.Name), strings.Join(v, " "))
			}
		}
	}
	b.WriteString(`  }
  $typed = @($ast.CommandElements | ForEach-Object { "$_" })
  if ($word) { $typed = @($typed | Select-Object -SkipLast 1) }
  $command = ''
  if ($typed.Count -gt 1 -and $table.ContainsKey($typed[1])) { $command = $typed[1] }
  $key = "$command $($typed[-1])"
  if (-not $table.ContainsKey($key)) { $key = $command }
  $table[$key] -split ' ' | Where-Object { $_ -and $_.StartsWith($word) } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`)
	return b.String()
}
