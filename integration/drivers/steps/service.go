package steps

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Service is csi-proxy with a simulated node, whose state is in memory. A restart passes the state on as a
// scenario.
type Service struct {
	Admin
	program   string
	directory string
	command   *exec.Cmd
	starts    int
	log       *os.File
}

// NewService prepares a service with scenarios and log in the directory.
func NewService(program, descriptors, directory string) (*Service, error) {
	admin, err := loadAdmin(descriptors)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(directory, "service.log"))
	if err != nil {
		return nil, err
	}
	return &Service{Admin: Admin{service: admin}, program: program, directory: directory, log: log}, nil
}

// Start starts the service with a scenario, given by name or text, and returns once all its pipes are open.
func (s *Service) Start(scenario string) error {
	if s.machine != "" {
		// The machine's service continues, with new disks and shares.
		return s.Call("Reset", struct{}{})
	}
	s.Kill()
	if scenario == "" || strings.Contains(scenario, ":") {
		s.starts++
		file := filepath.Join(s.directory, fmt.Sprintf("scenario-%d.textproto", s.starts%4))
		if err := os.WriteFile(file, []byte(scenario), 0o644); err != nil {
			return err
		}
		scenario = file
	}
	s.command = exec.Command(s.program, append([]string{"--host=simulated", "--scenario=" + scenario}, ServiceFlags...)...)
	output, err := s.command.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.command.Start(); err != nil {
		return err
	}
	serves := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			fmt.Fprintln(s.log, lines.Text())
			if strings.Contains(lines.Text(), " serves ") {
				serves <- true
			}
		}
		close(serves)
	}()
	select {
	case started := <-serves:
		if !started {
			return fmt.Errorf("the service did not start: see %s", s.log.Name())
		}
	case <-time.After(time.Minute):
		return fmt.Errorf("the service took more than a minute to start")
	}
	return s.dial()
}

// Kill kills the service, as a crash does.
func (s *Service) Kill() {
	if s.command == nil {
		return
	}
	if s.conn != nil {
		s.conn.Close()
	}
	s.command.Process.Kill()
	s.command.Wait()
	s.command = nil
}

// Restart kills the service and starts it on the same node.
func (s *Service) Restart() error {
	_, scenario, err := s.Dump()
	if err != nil {
		return err
	}
	return s.Start(scenario)
}

// Reboot restarts the whole node.
func (s *Service) Reboot() error {
	if err := s.Call("Reboot", struct{}{}); err != nil {
		return err
	}
	return s.Restart()
}
