// Command glamour imports what the command needs for colours and does nothing:
// no program that can show Markdown starts faster. bench/run.sh start compares
// oomdoc with it.
package main

import _ "github.com/charmbracelet/glamour"

func main() {}
