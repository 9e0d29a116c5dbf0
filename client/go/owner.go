package csiproxy

import "fmt"

// checkOwner returns an error unless a pipe belongs to the system or to self, the user of this process.
// Another owner has taken the pipe's name and is sent nothing. The administrators are refused as well,
// because a container's administrator makes pipes that belong to them.
func checkOwner(path, owner string, system bool, self string) error {
	if system || owner != "" && owner == self {
		return nil
	}
	if owner == "" {
		owner = "nobody"
	}
	return fmt.Errorf("the pipe %s belongs to %s, neither to the system nor to %s: another program, or another release of the service, has taken its name", path, owner, self)
}
