// Package internal holds what only this module may import:
//
//	scan, clean, units    the machine: finds, cleans and measures text
//	redact                takes out of a log and a report what should not leave a machine
//	cli                   the command: flags, input, output, the clipboard
//	child, watch, follow  a program as it runs: its streams and signals, its
//	                      memory over time; a file as it grows
//	live                  what this machine says: kernel, cards, RAM, processes
//	workshop              for those who work here: the generated pages, what
//	                      suggested commands do, tables over labelled logs
package internal
