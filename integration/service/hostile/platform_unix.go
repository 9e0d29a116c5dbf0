//go:build !windows

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// stoppable is a service process that SIGTERM stops.
type stoppable struct {
	program, log string
	flags        []string
	command      *exec.Cmd
}

func newStoppable(program, log string, flags []string) (*stoppable, error) {
	return &stoppable{program: program, log: log, flags: flags}, nil
}

func (s *stoppable) start() error {
	// Sanitizers report to stderr.
	output, err := os.OpenFile(s.log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer output.Close()
	s.command = exec.Command(s.program, s.flags...)
	s.command.Stderr = output
	return s.command.Start()
}

func (s *stoppable) stop() (code int, err error) {
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	err = s.command.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func (s *stoppable) remove() { s.command.Process.Kill() }

func lowerPriority() { syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19) }

func raceOnNode(options) (bool, error) { return false, fmt.Errorf("-raced needs Windows") }

func rightsOnNode(string) (bool, error) { return false, fmt.Errorf("-rights needs Windows") }
