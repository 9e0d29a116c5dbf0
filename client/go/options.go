package csiproxy

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Severity is the severity of a log line.
type Severity int32

const (
	SeverityInfo    Severity = 0
	SeverityWarning Severity = 1
	SeverityError   Severity = 2
)

// Option configures Connect. Options for one mode are ignored in the other, so that a driver can
// give all options with Auto.
type Option func(*options)

type options struct {
	socketDir string
	library   string
	log       func(severity Severity, line string)
	node      nodeOptions
}

// nodeOptions is the JSON for csi_proxy_open.
type nodeOptions struct {
	Node               string   `json:"node,omitempty"`
	Scenario           string   `json:"scenario,omitempty"`
	WorkingDirs        []string `json:"workingDirs,omitempty"`
	AllowedServices    []string `json:"allowedServices,omitempty"`
	AllowPlainSMB      bool     `json:"allowPlainSmb,omitempty"`
	BindSMBCredentials bool     `json:"bindSmbCredentials,omitempty"`
	MaxCalls           int      `json:"maxCalls,omitempty"`
	MaxQueued          int      `json:"maxQueued,omitempty"`
	MaxCallSeconds     float64  `json:"maxCallSeconds,omitempty"`
	LockDirectory      string   `json:"lockDirectory,omitempty"`
	MetricsBindAddress string   `json:"metricsBindAddress,omitempty"`
}

const simulatedNode = "SIMULATED"

// WithWorkingDirs sets the directories that paths in calls must lead into: absolute, on a drive.
// The default is C:\var\lib\kubelet. Only for embedded mode; the service has the flag -working-dir.
func WithWorkingDirs(dirs ...string) Option {
	return func(o *options) { o.node.WorkingDirs = dirs }
}

// WithAllowedServices sets the Windows services that calls may start and stop. Only for embedded
// mode.
func WithAllowedServices(names ...string) Option {
	return func(o *options) { o.node.AllowedServices = names }
}

// WithPlainSMB permits unencrypted SMB mappings. Only for embedded mode; the service has the flag
// -require-privacy.
func WithPlainSMB() Option {
	return func(o *options) { o.node.AllowPlainSMB = true }
}

// WithBoundSMBCredentials refuses calls for a mapped share with codes.PermissionDenied unless they
// give the credentials of the mapping. Only for embedded mode; the service has the flag
// -smb-bind-credentials.
func WithBoundSMBCredentials() Option {
	return func(o *options) { o.node.BindSMBCredentials = true }
}

// WithSimulatedNode selects a Windows node in memory, on Windows too. scenario is a textproto of
// csi_proxy.simulated.Node or the name of a built-in one; "" is a small node with raw disks, a file
// server and an iSCSI portal. On other systems every embedded node is simulated. Tests change the
// node, for example remove a disk, by calls of /csi_proxy.simulated.Admin. Only for embedded mode.
func WithSimulatedNode(scenario string) Option {
	return func(o *options) { o.node.Node, o.node.Scenario = simulatedNode, scenario }
}

// Limits are the limits of each API group of an embedded node. Zero is the default.
type Limits struct {
	// The maximum numbers of calls that run at the same time (16) and that wait (384). Further calls
	// get codes.ResourceExhausted.
	Calls, Queued int
	// How long a call may take, even if its deadline is later (10 minutes).
	CallDuration time.Duration
}

// WithLimits sets the limits of an embedded node.
func WithLimits(limits Limits) Option {
	return func(o *options) {
		o.node.MaxCalls, o.node.MaxQueued = limits.Calls, limits.Queued
		o.node.MaxCallSeconds = limits.CallDuration.Seconds()
	}
}

// WithLockDirectory names a directory, created if necessary. Processes that name the same directory
// exclude each other's calls. Only for embedded mode, and not on Windows.
func WithLockDirectory(directory string) Option {
	return func(o *options) { o.node.LockDirectory = directory }
}

// WithMetricsBindAddress serves Prometheus metrics of the calls at an address, for example
// 127.0.0.1:9090, under the names of the service's metrics. Only for embedded mode.
func WithMetricsBindAddress(address string) Option {
	return func(o *options) { o.node.MetricsBindAddress = address }
}

// WithSocketDir sets the directory of the service's sockets. The default is the environment
// variable CSI_PROXY_SOCKET_DIR, or /run/csi-proxy if that is unset. It has no effect on Windows,
// where the names of pipes are fixed.
func WithSocketDir(directory string) Option {
	return func(o *options) { o.socketDir = directory }
}

// WithLibrary sets the full path of the library for embedded mode. The default is the environment
// variable CSI_PROXY_LIBRARY; if that is unset, csi_proxy.dll (libcsi_proxy.so.1 on other systems)
// beside the program or in the system's directories, never in the current directory.
func WithLibrary(path string) Option {
	return func(o *options) { o.library = path }
}

// WithLog sets the function that receives log lines: the choice of Auto and, in embedded mode, an
// audit line for each call that changes the node. Lines contain no secrets. Many goroutines call
// the function concurrently. It must not call the Conn. The default is standard error.
func WithLog(log func(severity Severity, line string)) Option {
	return func(o *options) { o.log = log }
}

func (o *options) logLine(severity Severity, line string) {
	if o.log != nil {
		o.log(severity, line)
		return
	}
	fmt.Fprintln(os.Stderr, line)
}

// openJSON returns the options for csi_proxy_open.
func (o *options) openJSON() ([]byte, error) { return json.Marshal(o.node) }

// socketDirectory returns the directory of the service's sockets.
func (o *options) socketDirectory() string {
	return firstSet(o.socketDir, "CSI_PROXY_SOCKET_DIR", "/run/csi-proxy")
}

// firstSet returns the option, the environment variable or the default: the first that is not "".
func firstSet(option, variable, fallback string) string {
	if option != "" {
		return option
	}
	if set := os.Getenv(variable); set != "" {
		return set
	}
	return fallback
}

// conditions returns the facts by which Auto chooses with these options.
func (o *options) conditions() conditions {
	return conditions{
		pipe: func() string { return firstPipe(o.socketDirectory()) },
		mayManage: func() (bool, string) {
			if o.node.Node == simulatedNode {
				return true, "the node is simulated"
			}
			return mayManageStorage()
		},
	}
}
