package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

const isLinux = runtime.GOOS == "linux"

// holder is a process of hold_*.c: one more client, whose start costs the machine next to nothing.
type holder struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
}

var holders []*holder

// startHolder returns once it is ready to dial.
func startHolder(arguments ...string) (*holder, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(filepath.Join(filepath.Dir(own), "hold.exe"), arguments...)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	h := &holder{command, input, bufio.NewReader(output)}
	holders = append(holders, h)
	if line, err := h.output.ReadString('\n'); err != nil {
		return nil, fmt.Errorf("%s said %q: %w", command.Path, line, err)
	}
	return h, nil
}

// send has it dial, and send the bytes.
func (h *holder) send(bytes []byte) {
	h.input.Write(bytes)
	h.input.Close()
}

// dialled waits until it has dialled, and is how often.
func (h *holder) dialled() (times int) {
	fmt.Fscanln(h.output, &times)
	return times
}

// endHolders ends all of this process.
func endHolders() {
	for _, h := range holders {
		h.command.Process.Kill()
		h.command.Wait()
	}
}
