// Package cim contains the only type of the Go library's package cim that declarations in other
// packages need.
package cim

// ServiceInterface is a Windows service with the states, modes and results of WMI's Win32_Service.
type ServiceInterface interface {
	GetPropertyName() (string, error)
	GetPropertyDisplayName() (string, error)
	GetPropertyState() (string, error)
	GetPropertyStartMode() (string, error)
	GetDependents() ([]ServiceInterface, error)
	StartService() (result uint32, err error)
	StopService() (result uint32, err error)
	Refresh() error
}
