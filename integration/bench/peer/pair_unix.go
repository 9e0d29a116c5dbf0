//go:build !windows

package main

import (
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"csi-proxy.example/integration/bench/peer/figures"
)

// pidOf finds the process in which Wine runs a program.
func pidOf(exe string) figures.Process {
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	figures.Must(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(filepath.Base(strings.SplitN(string(text), "\x00", 2)[0]), filepath.Base(exe)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		figures.Must(err)
		return figures.Process(pid)
	}
	log.Fatalf("%s does not run", exe)
	return 0
}

const pairUsage = "peer wine RUN OURS.exe THEIRS.exe LOAD.exe RESULT [SECONDS [TURNS]]"

// measurePair runs both services under Wine, ours with a simulated node.
func measurePair(arguments []string) bool {
	if len(arguments) < 6 || arguments[0] != "wine" {
		return false
	}
	run := arguments[1]
	length, turns := figures.LengthAndTurns(arguments[6:])
	// Creates the Wine prefix, which takes seconds that are not part of a server's start.
	figures.Must(exec.Command(run, "cmd.exe", "/c", "exit").Run())
	// Keeps a program running, because otherwise Wine restarts for each program.
	keeper := exec.Command(run, "cmd.exe", "/c", "pause")
	in, err := keeper.StdinPipe()
	figures.Must(err)
	figures.Must(keeper.Start())
	defer in.Close()
	time.Sleep(3 * time.Second)
	on := platform{
		command: func(words ...string) *exec.Cmd {
			command := exec.Command(run, words...)
			command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			return command
		},
		process: func(exe string, _ *exec.Cmd) figures.Process { return pidOf(exe) },
		kill:    func(process figures.Process) { figures.Must(syscall.Kill(int(process), syscall.SIGKILL)) },
	}
	pair(on, []string{arguments[2], "--host=simulated", "--pipe-sddl=D:P(A;;GA;;;WD)"}, arguments[3], arguments[4], arguments[5],
		length, turns)
	return true
}
