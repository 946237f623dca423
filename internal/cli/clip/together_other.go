//go:build !unix

package clip

import (
	"os/exec"
	"strconv"
)

// together makes a program and all that it starts end together.
func together(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		// Windows has it; elsewhere the program ends alone.
		if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() == nil {
			return nil
		}
		return cmd.Process.Kill()
	}
}
