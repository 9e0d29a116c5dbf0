// Package api is the interface between package system and a node.
package api

import (
	"context"

	systemv1 "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// HostAPI is the part of a node that package system uses.
type HostAPI interface {
	// GetBIOSSerialNumber returns the serial number of the machine.
	GetBIOSSerialNumber() (string, error)
	// GetService returns the state of a service.
	GetService(name string) (*ServiceInfo, error)
	// StartService starts a service and waits until it runs.
	StartService(name string) error
	// StopService stops a service. With force it first stops the services that depend on it.
	StopService(name string, force bool) error
}

type systemAPI struct{ host host.Bound }

var _ HostAPI = systemAPI{}

// New returns the host API of the node of this process.
func New() HostAPI { return systemAPI{} }

// NewWithConn returns the host API of the node that conn leads to.
func NewWithConn(conn grpc.ClientConnInterface) HostAPI { return systemAPI{host.To(conn)} }

func (imp systemAPI) WithContext(ctx context.Context) HostAPI { return systemAPI{imp.host.With(ctx)} }

func (imp systemAPI) client() systemv1.SystemClient { return systemv1.NewSystemClient(imp.host.Conn()) }

func (imp systemAPI) GetBIOSSerialNumber() (string, error) {
	bios, err := imp.client().GetBIOSSerialNumber(imp.host.Context(), &systemv1.GetBIOSSerialNumberRequest{})
	return bios.GetSerialNumber(), host.Error(err)
}

var startModes = map[systemv1.StartType]string{
	systemv1.StartType_BOOT:      "Boot",
	systemv1.StartType_SYSTEM:    "System",
	systemv1.StartType_AUTOMATIC: "Auto",
	systemv1.StartType_MANUAL:    "Manual",
	systemv1.StartType_DISABLED:  "Disabled",
}

var states = map[systemv1.ServiceStatus]string{
	systemv1.ServiceStatus_UNKNOWN:          "Unknown",
	systemv1.ServiceStatus_STOPPED:          "Stopped",
	systemv1.ServiceStatus_START_PENDING:    "Start Pending",
	systemv1.ServiceStatus_STOP_PENDING:     "Stop Pending",
	systemv1.ServiceStatus_RUNNING:          "Running",
	systemv1.ServiceStatus_CONTINUE_PENDING: "Continue Pending",
	systemv1.ServiceStatus_PAUSE_PENDING:    "Pause Pending",
	systemv1.ServiceStatus_PAUSED:           "Paused",
}

func (imp systemAPI) GetService(name string) (*ServiceInfo, error) {
	service, err := imp.client().GetService(imp.host.Context(), &systemv1.GetServiceRequest{Name: name})
	if err != nil {
		return nil, host.Error(err)
	}
	return &ServiceInfo{
		DisplayName: service.DisplayName,
		StartType:   startModes[service.StartType],
		Status:      states[service.Status],
	}, nil
}

func (imp systemAPI) StartService(name string) error {
	return host.ErrorOf(imp.client().StartService(imp.host.Context(), &systemv1.StartServiceRequest{Name: name}))
}

func (imp systemAPI) StopService(name string, force bool) error {
	return host.ErrorOf(imp.client().StopService(imp.host.Context(), &systemv1.StopServiceRequest{Name: name, Force: force}))
}

// ServiceInfo is a Windows service, in the terms of WMI's Win32_Service.
type ServiceInfo struct {
	// The name shown to people.
	DisplayName string `json:"DisplayName"`

	// Boot, System, Auto, Manual or Disabled.
	StartType string `json:"StartType"`

	// Stopped, Start Pending, Stop Pending, Running, Continue Pending, Pause Pending, Paused or Unknown.
	Status string `json:"Status"`
}
