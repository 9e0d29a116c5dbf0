package csiproxy

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// mayManageStorage tells whether this process acts as an administrator, as SYSTEM does too. In a
// token that user account control has filtered, the group is there for denials only, and does not
// count.
func mayManageStorage() (bool, string) {
	administrators, err := windows.CreateWellKnownSid(windows.WinBuiltinAdministratorsSid)
	if err != nil {
		return false, fmt.Sprintf("the group Administrators cannot be named: %v", err)
	}
	// The zero token is the one this thread acts with.
	member, err := windows.Token(0).IsMember(administrators)
	if err != nil {
		return false, fmt.Sprintf("this process's token cannot be looked at: %v", err)
	}
	if !member {
		return false, "this process does not run as an administrator and may not manage storage"
	}
	return true, "this process is an administrator's"
}
