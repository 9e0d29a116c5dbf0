package api

// ServiceInfo is a Windows service, in the terms of WMI's Win32_Service.
type ServiceInfo struct {
	// The name shown to people.
	DisplayName string `json:"DisplayName"`

	// Boot, System, Auto, Manual or Disabled.
	StartType string `json:"StartType"`

	// Stopped, Start Pending, Stop Pending, Running, Continue Pending, Pause Pending, Paused or Unknown.
	Status string `json:"Status"`
}
