package csiproxy

import (
	"fmt"
	"strings"
)

// Mode is where the calls of a connection are carried out.
type Mode int

const (
	// Auto chooses when Connect is called, and logs the choice with its reason. The environment
	// variable CSI_PROXY_MODE (remote or embedded) decides if it is set to one of them. If it is unset
	// or auto: Remote if any of the service's pipes exists; otherwise Embedded if this process may
	// manage storage (on Windows: as an administrator, and not in an ordinary container, whose files
	// and disks are not the node's); otherwise Remote, and calls wait for the service to start.
	Auto Mode = iota
	// Remote sends calls to the service, over its pipes.
	Remote
	// Embedded runs the service's code in this process.
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

// Set sets m to the mode of that name. It makes *Mode a [flag.Value].
func (m *Mode) Set(name string) error {
	for mode, known := range modeNames {
		if name == known {
			*m = Mode(mode)
			return nil
		}
	}
	return fmt.Errorf("%q is not one of auto, remote, embedded", name)
}

// conditions are the facts by which Auto chooses.
type conditions struct {
	// pipe returns a pipe of the service that exists, or "".
	pipe func() string
	// mayManage reports whether this process may manage storage, and the reason.
	mayManage func() (bool, string)
}

// choose returns Remote or Embedded, and the reason if Auto chose.
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
			return mode, modeVariable + " requests it", nil
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

// containerSigns are the signs of an ordinary Windows container. In one, even an administrator
// manages the container's files and disks, not the node's.
type containerSigns struct {
	// Whether the value ContainerType of HKLM\SYSTEM\CurrentControlSet\Control exists, and whether
	// that is known. Windows sets it in a container's registry; a HostProcess container sees the
	// node's registry.
	containerType, known bool
	// The SID of the process's user; "" if unknown.
	user string
}

const howToEmbed = "; to embed nevertheless, set " + modeVariable + "=embedded or request that mode in the program"

// outside reports whether the process is certainly in no ordinary container, and if not, why.
func (s containerSigns) outside() (bool, string) {
	// The SIDs of ContainerAdministrator and ContainerUser begin like this.
	if s.known && s.containerType || strings.HasPrefix(s.user, "S-1-5-93-") {
		return false, "this process runs in a container, whose files and disks are not the node's" + howToEmbed
	}
	if !s.known || s.user == "" {
		return false, "Windows does not say whether this process runs in a container" + howToEmbed
	}
	return true, ""
}
