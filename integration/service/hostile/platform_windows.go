package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"
)

// stoppable is a service of the service control manager.
type stoppable struct {
	manager *mgr.Mgr
	service *mgr.Service
}

func newStoppable(program, _ string, flags []string) (*stoppable, error) {
	const name = "csi-proxy-hostile"
	manager, err := mgr.Connect()
	if err != nil {
		return nil, err
	}
	// Removes the service of an interrupted run.
	if old, err := manager.OpenService(name); err == nil {
		old.Control(svc.Stop)
		old.Delete()
		old.Close()
	}
	service, err := manager.CreateService(name, program, mgr.Config{StartType: mgr.StartManual},
		append([]string{"-windows-service"}, flags...)...)
	return &stoppable{manager, service}, err
}

func (s *stoppable) start() error {
	if err := s.service.Start(); err != nil {
		return err
	}
	_, err := s.await(svc.Running)
	return err
}

func (s *stoppable) stop() (code int, err error) {
	if _, err := s.service.Control(svc.Stop); err != nil {
		return 0, err
	}
	status, err := s.await(svc.Stopped)
	return int(status.Win32ExitCode), err
}

func (s *stoppable) await(state svc.State) (status svc.Status, err error) {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if status, err = s.service.Query(); err != nil || status.State == state {
			return status, err
		}
	}
	return status, fmt.Errorf("the service is in state %d, not %d", status.State, state)
}

func (s *stoppable) remove() {
	s.service.Control(svc.Stop)
	s.service.Delete()
	s.service.Close()
	s.manager.Disconnect()
}

func lowerPriority() {
	windows.SetPriorityClass(windows.CurrentProcess(), windows.IDLE_PRIORITY_CLASS)
}
