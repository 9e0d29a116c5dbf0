// Package system starts and stops the services of a Windows node.
package system

import (
	"context"

	systemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// The words of WMI's Win32_Service, with this package's constants.
var (
	startTypes = map[string]StartType{
		"Boot":     START_TYPE_BOOT,
		"System":   START_TYPE_SYSTEM,
		"Auto":     START_TYPE_AUTOMATIC,
		"Manual":   START_TYPE_MANUAL,
		"Disabled": START_TYPE_DISABLED,
	}
	statuses = map[string]ServiceStatus{
		"Unknown":          SERVICE_STATUS_UNKNOWN,
		"Stopped":          SERVICE_STATUS_STOPPED,
		"Start Pending":    SERVICE_STATUS_START_PENDING,
		"Stop Pending":     SERVICE_STATUS_STOP_PENDING,
		"Running":          SERVICE_STATUS_RUNNING,
		"Continue Pending": SERVICE_STATUS_CONTINUE_PENDING,
		"Pause Pending":    SERVICE_STATUS_PAUSE_PENDING,
		"Paused":           SERVICE_STATUS_PAUSED,
	}
)

// System manages the services of a node and reads its BIOS.
type System struct {
	hostAPI systemapi.HostAPI
}

// Interface is implemented by System.
type Interface interface {
	// GetBIOSSerialNumber returns the serial number of the machine.
	GetBIOSSerialNumber(context.Context, *GetBIOSSerialNumberRequest) (*GetBIOSSerialNumberResponse, error)
	// GetService returns the state of a service.
	GetService(context.Context, *GetServiceRequest) (*GetServiceResponse, error)
	// StartService starts a service, which other drivers may use too.
	StartService(context.Context, *StartServiceRequest) (*StartServiceResponse, error)
	// StopService stops a service, which other drivers may use too.
	StopService(context.Context, *StopServiceRequest) (*StopServiceResponse, error)
}

var _ Interface = &System{}

// New returns a System on a host API. The error is always nil.
func New(hostAPI systemapi.HostAPI) (*System, error) { return &System{hostAPI: hostAPI}, nil }

func (s *System) api(ctx context.Context) systemapi.HostAPI { return host.Bind(ctx, s.hostAPI) }

func (s *System) GetBIOSSerialNumber(ctx context.Context, _ *GetBIOSSerialNumberRequest) (*GetBIOSSerialNumberResponse, error) {
	serial, err := s.api(ctx).GetBIOSSerialNumber()
	return &GetBIOSSerialNumberResponse{SerialNumber: serial}, err
}

func (s *System) GetService(ctx context.Context, request *GetServiceRequest) (*GetServiceResponse, error) {
	response := &GetServiceResponse{}
	if request == nil {
		return response, host.NoRequest("GetService")
	}
	service, err := s.api(ctx).GetService(request.Name)
	if err != nil {
		return response, err
	}
	response.DisplayName = service.DisplayName
	response.StartType = startTypes[service.StartType]
	response.Status = statuses[service.Status]
	return response, nil
}

func (s *System) StartService(ctx context.Context, request *StartServiceRequest) (*StartServiceResponse, error) {
	response := &StartServiceResponse{}
	if request == nil {
		return response, host.NoRequest("StartService")
	}
	return response, s.api(ctx).StartService(request.Name)
}

func (s *System) StopService(ctx context.Context, request *StopServiceRequest) (*StopServiceResponse, error) {
	response := &StopServiceResponse{}
	if request == nil {
		return response, host.NoRequest("StopService")
	}
	return response, s.api(ctx).StopService(request.Name, request.Force)
}
