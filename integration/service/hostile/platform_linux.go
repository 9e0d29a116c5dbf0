package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
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

// lowerPriority leaves this process only the time that other programs do not need. Linux keeps a policy for each thread;
// new threads inherit it (https://man7.org/linux/man-pages/man7/sched.7.html).
func lowerPriority() {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		id, _ := strconv.Atoi(thread.Name())
		unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
	}
}

func raceOnNode(options) (bool, error) { return false, fmt.Errorf("-raced needs Windows") }

func rightsOnNode(string) (bool, error) { return false, fmt.Errorf("-rights needs Windows") }
