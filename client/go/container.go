package csiproxy

import "strings"

// containerSigns tell an ordinary Windows container from the node. In one, even an administrator
// manages the container's own files and disks.
type containerSigns struct {
	// The value ContainerType of HKLM\SYSTEM\CurrentControlSet\Control is there, and whether that is
	// known. Windows sets it in a container's own registry; a HostProcess container sees the node's.
	containerType, known bool
	// The SID of the user that the process runs as.
	user string
}

const howToEmbed = "; " + modeVariable + "=embedded embeds all the same, as does asking for that mode in the program"

// outside tells whether the process is certainly in no ordinary container, and if not, why.
func (s containerSigns) outside() (bool, string) {
	// ContainerAdministrator and ContainerUser.
	if s.known && s.containerType || strings.HasPrefix(s.user, "S-1-5-93-") {
		return false, "this process runs in a container, whose files and disks are not the node's" + howToEmbed
	}
	if !s.known || s.user == "" {
		return false, "it cannot be told whether this process runs in a container" + howToEmbed
	}
	return true, ""
}
