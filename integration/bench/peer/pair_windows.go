package main

import (
	"os"
	"os/exec"

	"csi-proxy.example/integration/bench/peer/figures"
)

const pairUsage = "peer windows OURS.exe THEIRS.exe LOAD.exe RESULT [SECONDS [TURNS]]"

// measurePair runs both services on this machine, which is their node.
func measurePair(arguments []string) bool {
	if len(arguments) < 5 || arguments[0] != "windows" {
		return false
	}
	length, turns := figures.LengthAndTurns(arguments[5:])
	on := platform{
		command: func(words ...string) *exec.Cmd { return exec.Command(words[0], words[1:]...) },
		process: func(_ string, started *exec.Cmd) figures.Process { return figures.Process(started.Process.Pid) },
		kill: func(process figures.Process) {
			found, err := os.FindProcess(int(process))
			figures.Must(err)
			figures.Must(found.Kill())
		},
	}
	pair(on, []string{arguments[1]}, arguments[2], arguments[3], arguments[4], length, turns)
	return true
}

// A storm needs a simulated node.
const stormUsage = ""

func measureStorm([]string) bool { return false }
