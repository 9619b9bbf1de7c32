//go:build unix

package source

import (
	"os/exec"
	"syscall"
)

// withChildren makes that a command is killed with all that it has started.
func withChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
