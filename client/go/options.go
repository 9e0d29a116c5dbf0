package csiproxy

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Severity is how grave a line of the log is.
type Severity int32

const (
	SeverityInfo    Severity = 0
	SeverityWarning Severity = 1
	SeverityError   Severity = 2
)

// Option is something Connect is told. Options that speak of one mode are ignored in the other, so
// that a driver may give all it has in Auto.
type Option func(*options)

type options struct {
	socketDir string
	library   string
	log       func(severity Severity, line string)
	node      nodeOptions
}

// nodeOptions is the JSON of csi_proxy_open.
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

// WithWorkingDirs sets the directories that the paths in calls may lead into: absolute, on a drive.
// The default is C:\var\lib\kubelet. Embedded mode; the service has its flag -working-dir.
func WithWorkingDirs(dirs ...string) Option {
	return func(o *options) { o.node.WorkingDirs = dirs }
}

// WithAllowedServices sets the Windows services that calls may start and stop. By default it is all
// of the node. Embedded mode.
func WithAllowedServices(names ...string) Option {
	return func(o *options) { o.node.AllowedServices = names }
}

// WithPlainSMB lets SMB mappings do without encryption. Embedded mode; the service has its flag
// -require-privacy.
func WithPlainSMB() Option {
	return func(o *options) { o.node.AllowPlainSMB = true }
}

// WithBoundSMBCredentials refuses a share that is mapped, by codes.PermissionDenied, to calls that do
// not give the credentials with which it was mapped. Embedded mode; the service has its flag
// -smb-bind-credentials.
func WithBoundSMBCredentials() Option {
	return func(o *options) { o.node.BindSMBCredentials = true }
}

// WithSimulatedNode acts on a Windows node in memory, also on Windows: as scenario, a textproto of
// csi_proxy.simulated.Node or the name of a built-in one, describes it, or a small node with a few raw disks, a file server and an
// iSCSI portal when it is empty. Off Windows there is no other node. Changes from outside, as a
// disk that is pulled out, are calls of /csi_proxy.simulated.Admin. Embedded mode.
func WithSimulatedNode(scenario string) Option {
	return func(o *options) { o.node.Node, o.node.Scenario = simulatedNode, scenario }
}

// Limits are those of each API group of an embedded node. Zero is the default.
type Limits struct {
	// The number of calls that work at once (16), and of those that may wait before
	// codes.ResourceExhausted (256).
	Calls, Queued int
	// The longest time that a call may take, whatever its own deadline says (10 minutes).
	CallDuration time.Duration
}

// WithLimits sets the limits of an embedded node.
func WithLimits(limits Limits) Option {
	return func(o *options) {
		o.node.MaxCalls, o.node.MaxQueued = limits.Calls, limits.Queued
		o.node.MaxCallSeconds = limits.CallDuration.Seconds()
	}
}

// WithLockDirectory names a directory, made when missing, through whose files processes take turns
// on a node. Embedded mode off Windows, where a simulated node is otherwise the connection's alone.
func WithLockDirectory(directory string) Option {
	return func(o *options) { o.node.LockDirectory = directory }
}

// WithMetricsBindAddress serves Prometheus metrics of the calls at an address, as 127.0.0.1:9090,
// under the service's names. Embedded mode.
func WithMetricsBindAddress(address string) Option {
	return func(o *options) { o.node.MetricsBindAddress = address }
}

// WithSocketDir says where the service's sockets stand. The default is the environment variable
// CSI_PROXY_SOCKET_DIR, else /run/csi-proxy. Not on Windows, where the pipes' names are fixed.
func WithSocketDir(directory string) Option {
	return func(o *options) { o.socketDir = directory }
}

// WithLibrary names the library of embedded mode by its full path. The default is the environment
// variable CSI_PROXY_LIBRARY, else csi_proxy.dll (libcsi_proxy.so.1 off Windows) beside the program
// or where the system keeps its libraries; never in the current directory.
func WithLibrary(path string) Option {
	return func(o *options) { o.library = path }
}

// WithLog takes the lines of the log: Auto's choice and, in embedded mode, an audit line for each
// call that changes the node. They hold no secrets. The function is called by many goroutines at
// once and must not call the Conn. Without it they go to standard error.
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

// openJSON is what csi_proxy_open is given.
func (o *options) openJSON() ([]byte, error) { return json.Marshal(o.node) }

// socketDirectory is where the service's sockets stand.
func (o *options) socketDirectory() string {
	return firstSet(o.socketDir, "CSI_PROXY_SOCKET_DIR", "/run/csi-proxy")
}

// firstSet returns the option, else the environment's word, else the default.
func firstSet(option, variable, fallback string) string {
	if option != "" {
		return option
	}
	if set := os.Getenv(variable); set != "" {
		return set
	}
	return fallback
}

// conditions are what Auto looks at with these options.
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
