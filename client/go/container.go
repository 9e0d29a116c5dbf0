package csiproxy

import "strings"

// containerSigns are the signs of an ordinary Windows container. In one, even an administrator
// manages the container's files and disks, not the node's.
type containerSigns struct {
	// Whether the value ContainerType of HKLM\SYSTEM\CurrentControlSet\Control exists, and whether
	// that is known. Windows sets it in a container's registry; a HostProcess container sees the
	// node's.
	containerType, known bool
	// The SID of the process's user; "" if unknown.
	user string
}

const howToEmbed = "; " + modeVariable + "=embedded embeds all the same, as does asking for that mode in the program"

// outside reports whether the process is certainly in no ordinary container, and if not, why.
func (s containerSigns) outside() (bool, string) {
	// The SIDs of ContainerAdministrator and ContainerUser begin like this.
	if s.known && s.containerType || strings.HasPrefix(s.user, "S-1-5-93-") {
		return false, "this process runs in a container, whose files and disks are not the node's" + howToEmbed
	}
	if !s.known || s.user == "" {
		return false, "it cannot be told whether this process runs in a container" + howToEmbed
	}
	return true, ""
}
