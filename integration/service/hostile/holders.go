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

// running is a started program with its standard input and output.
type running struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
}

// start starts the program `name` from the folder of this program.
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

// ready waits for the program's first line.
func (r running) ready() error {
	if line, err := r.output.ReadString('\n'); err != nil {
		return fmt.Errorf("%s said %q: %w", r.command.Path, line, err)
	}
	return nil
}

// holder is a process of hold/*.c: another client at next to no cost for the machine.
type holder struct{ running }

var holders []*holder

// startHolder starts a holder and waits until it can dial.
func startHolder(arguments ...string) (*holder, error) {
	program, err := start("hold.exe", os.Stderr, arguments...)
	if err != nil {
		return nil, err
	}
	h := &holder{program}
	holders = append(holders, h)
	return h, h.ready()
}

// send lets the holder dial and send bytes.
func (h *holder) send(bytes []byte) {
	h.input.Write(bytes)
	h.input.Close()
}

// dialled waits until the holder has dialled and returns the number of its connections.
func (h *holder) dialled() (times int) {
	fmt.Fscanln(h.output, &times)
	return times
}

// endHolders kills all holders that this process started.
func endHolders() {
	for _, h := range holders {
		h.command.Process.Kill()
		h.command.Wait()
	}
}
