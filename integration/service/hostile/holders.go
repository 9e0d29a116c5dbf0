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

// running is a program that has been started, with what it reads and writes.
type running struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
}

// start starts the program of that name, which lies beside this program.
func start(name string, log *os.File, arguments ...string) (running, error) {
	own, err := os.Executable()
	if err != nil {
		return running{}, err
	}
	command := exec.Command(filepath.Join(filepath.Dir(own), name), arguments...)
	command.Stderr = log
	input, err := command.StdinPipe()
	if err != nil {
		return running{}, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return running{}, err
	}
	return running{command, input, bufio.NewReader(output)}, command.Start()
}

// ready waits for the line with which the program begins.
func (r running) ready() error {
	if line, err := r.output.ReadString('\n'); err != nil {
		return fmt.Errorf("%s said %q: %w", r.command.Path, line, err)
	}
	return nil
}

// holder is a process of hold/*.c: one more client, whose start costs the machine next to nothing.
type holder struct{ running }

var holders []*holder

// startHolder returns once it is ready to dial.
func startHolder(arguments ...string) (*holder, error) {
	program, err := start("hold.exe", os.Stderr, arguments...)
	if err != nil {
		return nil, err
	}
	h := &holder{program}
	holders = append(holders, h)
	return h, h.ready()
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
