package system

// GetBIOSSerialNumberRequest asks for the serial number of the machine.
type GetBIOSSerialNumberRequest struct{}

// GetBIOSSerialNumberResponse answers GetBIOSSerialNumberRequest.
type GetBIOSSerialNumberResponse struct{ SerialNumber string }

// StartServiceRequest asks for the start of a service. Name is the name of its registry key.
type StartServiceRequest struct{ Name string }

// StartServiceResponse answers StartServiceRequest.
type StartServiceResponse struct{}

// StopServiceRequest asks for the stop of a service. Name is the name of its registry key.
type StopServiceRequest struct {
	Name string
	// If true, services that depend on the service are stopped first.
	Force bool
}

// StopServiceResponse answers StopServiceRequest.
type StopServiceResponse struct{}

// ServiceStatus is the state of a service, with the numbers of Windows' SERVICE_STATUS.
type ServiceStatus uint32

const (
	SERVICE_STATUS_UNKNOWN ServiceStatus = iota
	SERVICE_STATUS_STOPPED
	SERVICE_STATUS_START_PENDING
	SERVICE_STATUS_STOP_PENDING
	SERVICE_STATUS_RUNNING
	SERVICE_STATUS_CONTINUE_PENDING
	SERVICE_STATUS_PAUSE_PENDING
	SERVICE_STATUS_PAUSED
)

// StartType is when a service starts, with the numbers of Windows' ChangeServiceConfig.
type StartType uint32

// Startype is the name that StartType had in v2.0.0-alpha.1.
type Startype = StartType

const (
	START_TYPE_BOOT StartType = iota
	START_TYPE_SYSTEM
	START_TYPE_AUTOMATIC
	START_TYPE_MANUAL
	START_TYPE_DISABLED
)

// GetServiceRequest asks for the state of a service. Name is the name of its registry key.
type GetServiceRequest struct{ Name string }

// GetServiceResponse answers GetServiceRequest.
type GetServiceResponse struct {
	// The name shown to people.
	DisplayName string
	StartType   StartType
	Status      ServiceStatus
}
