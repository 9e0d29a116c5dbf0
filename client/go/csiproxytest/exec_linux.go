package csiproxytest

import (
	"os/exec"
	"syscall"
)

// endWithThread lets a command end with the thread that starts it, and so with a test that is killed.
func endWithThread(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
