package csiproxy

import "fmt"

// checkOwner returns an error unless a pipe belongs to an administrator, or to one of own: the user
// of this process, and who owns what it creates. Whoever else serves the pipe has taken its name, and
// is sent nothing.
func checkOwner(path, owner string, administrator bool, own ...string) error {
	if administrator {
		return nil
	}
	for _, self := range own {
		if owner != "" && owner == self {
			return nil
		}
	}
	if owner == "" {
		owner = "nobody"
	}
	return fmt.Errorf("the pipe %s belongs to %s, who is not an administrator: another program has taken its name", path, owner)
}
