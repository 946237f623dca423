// Package internal holds what only this module may import:
//
//	scan, clean, units    the machine: finds, cleans and measures text
//	redact                takes out of a log and a report what should not leave a machine
//	cli                   the command: flags, input, output, the clipboard
//	workshop              for those who work here: the generated pages, what
//	                      suggested commands do, tables over labelled logs
package internal
