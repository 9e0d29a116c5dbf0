package csiproxy

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Before elevation, a process has the Administrators group for denials only and may not manage
// storage.
func TestOnlyAnAdministratorMayManageStorage(t *testing.T) {
	if may, _ := mayManageStorage(); !may {
		t.Skip("the tests are not run by an administrator")
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var own, filtered, acting windows.Token
	must(windows.OpenProcessToken(windows.CurrentProcess(), windows.TOKEN_ALL_ACCESS, &own))
	defer own.Close()
	administrators, err := windows.CreateWellKnownSid(windows.WinBuiltinAdministratorsSid)
	must(err)
	denied := windows.SIDAndAttributes{Sid: administrators}
	restrict := windows.NewLazySystemDLL("advapi32.dll").NewProc("CreateRestrictedToken")
	if done, _, err := restrict.Call(uintptr(own), 0, 1, uintptr(unsafe.Pointer(&denied)), 0, 0, 0, 0,
		uintptr(unsafe.Pointer(&filtered))); done == 0 {
		t.Fatal(err)
	}
	defer filtered.Close()
	must(windows.DuplicateTokenEx(filtered, windows.TOKEN_ALL_ACCESS, nil, windows.SecurityImpersonation,
		windows.TokenImpersonation, &acting))
	defer acting.Close()
	must(windows.SetThreadToken(nil, acting))
	defer windows.RevertToSelf()
	if may, why := mayManageStorage(); may || !strings.Contains(why, "not run as an administrator") {
		t.Errorf("got %v: %s", may, why)
	}
}
