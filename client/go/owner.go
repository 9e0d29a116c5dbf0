package csiproxy

import "fmt"

// checkOwner returns an error unless the pipe belongs to the system or to self, the user of this
// process. Nothing may be sent to another owner, who has taken the pipe's name. The Administrators
// group is refused too, because pipes that a container's administrator makes belong to it.
func checkOwner(path, owner string, system bool, self string) error {
	if system || owner != "" && owner == self {
		return nil
	}
	if owner == "" {
		owner = "nobody"
	}
	return fmt.Errorf("the pipe %s belongs to %s, neither to the system nor to %s: another program, or another release of the service, has taken its name", path, owner, self)
}
