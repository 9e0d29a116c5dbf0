package api

import (
	"errors"
	"fmt"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/cim"
)

type stateCheckFunc func(cim.ServiceInterface, string) (bool, string, error)
type stateTransitionFunc func(cim.ServiceInterface) error

var errTimedOut = errors.New("timed out")

// ServiceManager waits for services and finds the services that depend on one.
type ServiceManager interface {
	WaitUntilServiceState(cim.ServiceInterface, stateTransitionFunc, stateCheckFunc, time.Duration, time.Duration) (string, error)
	GetDependentsForService(string) ([]string, error)
}

// ServiceFactory finds services by name.
type ServiceFactory interface {
	GetService(name string) (cim.ServiceInterface, error)
}

// ServiceManagerImpl is a ServiceManager for the caller's services. HostAPI handles the node's own.
type ServiceManagerImpl struct{}

var _ ServiceManager = ServiceManagerImpl{}

// WaitUntilServiceState requests a change of a service unless stateCheck is already satisfied, and
// waits until it is satisfied. stateCheck gets the state that its last call returned, "" the first
// time. Returns the last state, even if it returns an error.
func (impl ServiceManagerImpl) WaitUntilServiceState(service cim.ServiceInterface, stateTransition stateTransitionFunc, stateCheck stateCheckFunc, interval time.Duration, timeout time.Duration) (string, error) {
	check := func(before string) (bool, string, error) {
		done, state, err := stateCheck(service, before)
		if err != nil {
			err = fmt.Errorf("service %v: state check failed: %w", service, err)
		}
		return done, state, err
	}
	done, state, err := check("")
	if done || err != nil {
		return state, err
	}
	if err := stateTransition(service); err != nil {
		return state, fmt.Errorf("service %v: state transition failed: %w", service, err)
	}
	for end := time.Now().Add(timeout); ; {
		left := time.Until(end)
		if left > interval {
			left = interval
		}
		if left > 0 {
			time.Sleep(left)
		}
		if done, state, err = check(state); done || err != nil {
			return state, err
		}
		if !time.Now().Before(end) {
			return state, errTimedOut
		}
	}
}

// GetDependentsForService is not supported: the node finds dependent services when it stops one.
func (impl ServiceManagerImpl) GetDependentsForService(name string) ([]string, error) {
	return nil, host.Unsupported("GetDependentsForService by itself", "StopService with force stops what depends on a service")
}
