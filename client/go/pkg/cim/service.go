// Package cim has the one type of the Go library's package of that name that others' declarations need.
package cim

// ServiceInterface is a Windows service. Win32_Service of WMI names the states and start modes, and
// numbers the results.
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
