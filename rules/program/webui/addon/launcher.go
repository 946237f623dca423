package addon

import (
	"strings"

	"github.com/oomdoc/oomdoc/rules/ledger"
)

// launchers start web UIs for their readers; their folders are among the paths,
// and options go into their own pages.
var launchers = []struct{ folder, where string }{
	{"ComfyUI-Zluda/", "ComfyUI-ZLUDA: in `comfyui.bat` (or the copy of it that you start), at the end of the line COMMANDLINE_ARGS; one of the same name there is replaced."},
	{"@comfyorgcomfyui-electron", "Desktop app: Settings, Server-Config, or Extra Arguments there."},
	{"StabilityMatrix/", "Stability Matrix: the gear beside Launch, Extra Launch Arguments."},
	{"Data/Packages/", "Stability Matrix: the gear beside Launch, Extra Launch Arguments."},
	{"pinokio/api/", "Pinokio: in the app's folder, at the end of the command in `start.js` (its tab Files)."},
}

// Launcher says where its options go, "" where the log shows no launcher.
func Launcher(c *ledger.Case) string {
	for _, x := range c.Facts.Code {
		for _, l := range launchers {
			if strings.Contains(x.File, l.folder) {
				return l.where
			}
		}
	}
	return ""
}
