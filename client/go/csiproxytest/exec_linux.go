package csiproxytest

import (
	"os/exec"
	"syscall"
)

// endWithThread makes Linux kill a command when the thread that starts it ends, as it does when the test is killed.
func endWithThread(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
