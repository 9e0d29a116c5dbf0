package csiproxy

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// mayManageStorage reports whether this process acts as an administrator (SYSTEM does) on the node
// rather than in a container, and if not, why. A deny-only group, as Administrators is before
// elevation, does not count.
func mayManageStorage() (bool, string) {
	administrators, err := windows.CreateWellKnownSid(windows.WinBuiltinAdministratorsSid)
	if err != nil {
		return false, fmt.Sprintf("the group Administrators cannot be named: %v", err)
	}
	// Token 0 means the thread's token or, if the thread has none, the process's.
	member, err := windows.Token(0).IsMember(administrators)
	if err != nil {
		return false, fmt.Sprintf("this process's token cannot be looked at: %v", err)
	}
	if !member {
		return false, "this process does not run as an administrator and may not manage storage"
	}
	if outside, why := lookForContainer().outside(); !outside {
		return false, why
	}
	return true, "this process is an administrator's"
}

// lookForContainer reads the registry and the process's token.
func lookForContainer() containerSigns {
	var signs containerSigns
	if key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Control`, registry.QUERY_VALUE); err == nil {
		defer key.Close()
		_, _, err := key.GetValue("ContainerType", nil)
		signs.containerType = err == nil || errors.Is(err, registry.ErrShortBuffer)
		signs.known = signs.containerType || errors.Is(err, registry.ErrNotExist)
	}
	if user, err := windows.GetCurrentProcessToken().GetTokenUser(); err == nil {
		signs.user = user.User.Sid.String()
	}
	return signs
}
