package csiproxy

import "fmt"

// Mode says where a connection's calls are carried out.
type Mode int

const (
	// Auto does what the environment variable CSI_PROXY_MODE says (auto, remote or embedded). If the
	// variable is unset or auto: Remote when any of the service's pipes is there, else Embedded when
	// this process may manage storage (on Windows: acts as an administrator, and not in an ordinary
	// container, whose files and disks are not the node's), else Remote, for a service that is still
	// to come. Connect decides this once, and logs the choice with its reason.
	Auto Mode = iota
	// Remote is the service, over its pipes.
	Remote
	// Embedded is the same code in this process.
	Embedded
)

const modeVariable = "CSI_PROXY_MODE"

var modeNames = [...]string{Auto: "auto", Remote: "remote", Embedded: "embedded"}

// String returns auto, remote or embedded.
func (m Mode) String() string {
	if m < 0 || int(m) >= len(modeNames) {
		return fmt.Sprintf("Mode(%d)", int(m))
	}
	return modeNames[m]
}

// Set makes m the mode of that name. With it a *Mode is a [flag.Value].
func (m *Mode) Set(name string) error {
	for mode, known := range modeNames {
		if name == known {
			*m = Mode(mode)
			return nil
		}
	}
	return fmt.Errorf("%q is not one of auto, remote, embedded", name)
}

// conditions are what Auto looks at.
type conditions struct {
	// pipe returns a pipe of the service that is there, or nothing.
	pipe func() string
	// mayManage tells whether this process may manage storage, and why or why not.
	mayManage func() (bool, string)
}

// choose returns Remote or Embedded, and why where the choice was Auto's.
func choose(mode Mode, environment string, node conditions) (chosen Mode, reason string, err error) {
	switch mode {
	case Remote, Embedded:
		return mode, "", nil
	case Auto:
	default:
		return 0, "", fmt.Errorf("there is no %v", mode)
	}
	if environment != "" {
		if err := mode.Set(environment); err != nil {
			return 0, "", fmt.Errorf("%s: %w", modeVariable, err)
		}
		if mode != Auto {
			return mode, modeVariable + " says so", nil
		}
	}
	if pipe := node.pipe(); pipe != "" {
		return Remote, "there is a pipe " + pipe, nil
	}
	may, why := node.mayManage()
	if !may {
		return Remote, why, nil
	}
	return Embedded, "there is no pipe of the service, and " + why, nil
}
