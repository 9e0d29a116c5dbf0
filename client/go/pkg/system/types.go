package system

// GetBIOSSerialNumberRequest asks for the serial number of the machine.
type GetBIOSSerialNumberRequest struct{}

// GetBIOSSerialNumberResponse has it.
type GetBIOSSerialNumberResponse struct{ SerialNumber string }

// StartServiceRequest asks that a service runs. Name is that of its registry key.
type StartServiceRequest struct{ Name string }

// StartServiceResponse says that it does.
type StartServiceResponse struct{}

// StopServiceRequest asks that a service is stopped. Name is that of its registry key.
type StopServiceRequest struct {
	Name string
	// Services that depend on it are stopped before.
	Force bool
}

// StopServiceResponse says that it is.
type StopServiceResponse struct{}

// ServiceStatus is what a service does, in the numbers of Windows' SERVICE_STATUS.
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

// StartType is when a service is started, in the numbers of Windows' ChangeServiceConfig.
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

// GetServiceRequest asks for the state of a service. Name is that of its registry key.
type GetServiceRequest struct{ Name string }

// GetServiceResponse has it.
type GetServiceResponse struct {
	// The name that people are shown.
	DisplayName string
	StartType   StartType
	Status      ServiceStatus
}
