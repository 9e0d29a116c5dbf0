package csiproxytest

import (
	"os/exec"
	"syscall"
)

// endWithThread makes Linux kill a command when the thread that starts it ends, so that a killed test leaves no
// process behind.
func endWithThread(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
