package api

// ServiceInfo is a Windows service, in the words of Win32_Service of WMI.
type ServiceInfo struct {
	// The name that people are shown.
	DisplayName string `json:"DisplayName"`

	// Boot, System, Auto, Manual or Disabled.
	StartType string `json:"StartType"`

	// Stopped, Start Pending, Stop Pending, Running, Continue Pending, Pause Pending, Paused or Unknown.
	Status string `json:"Status"`
}
