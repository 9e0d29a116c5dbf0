package main

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/windows"
)

// attempt is an access to a pipe that Windows must allow or refuse to this account.
type attempt struct {
	name    string
	allowed bool
	make    func(path *uint16) (windows.Handle, error)
}

// opening returns a function that opens a client's end
// (https://learn.microsoft.com/windows/win32/ipc/named-pipe-security-and-access-rights).
func opening(access uint32) func(*uint16) (windows.Handle, error) {
	return func(path *uint16) (windows.Handle, error) {
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			handle, err := windows.CreateFile(path, access, 0, nil, windows.OPEN_EXISTING, 0, 0)
			if !errors.Is(err, windows.ERROR_PIPE_BUSY) || time.Since(began) > patience {
				return handle, err
			}
		}
	}
}

// makingInstance returns a function that creates an instance of the pipe, whose clients would reach
// this process.
func makingInstance(flags uint32) func(*uint16) (windows.Handle, error) {
	return func(path *uint16) (windows.Handle, error) {
		return windows.CreateNamedPipe(path, windows.PIPE_ACCESS_DUPLEX|flags, windows.PIPE_TYPE_BYTE,
			windows.PIPE_UNLIMITED_INSTANCES, 4096, 4096, 0, nil)
	}
}

// FILE_FLAG_FIRST_PIPE_INSTANCE
const firstPipeInstance = 0x80000

var attempts = []attempt{
	{"open it to call", true, opening(windows.FILE_READ_DATA | windows.FILE_WRITE_DATA | windows.SYNCHRONIZE)},
	{"open it as go-winio does", true, opening(windows.GENERIC_READ | windows.GENERIC_WRITE)},
	{"open it to change its access list (WRITE_DAC)", false, opening(windows.FILE_READ_DATA | windows.WRITE_DAC)},
	{"open it to take it (WRITE_OWNER)", false, opening(windows.FILE_READ_DATA | windows.WRITE_OWNER)},
	{"make a further instance", false, makingInstance(0)},
	{"make the first instance", false, makingInstance(firstPipeInstance)},
}

// rightsOnNode makes the attempts at a pipe of the service that runs on this node.
func rightsOnNode(api string) (passed bool, err error) {
	path, err := windows.UTF16PtrFromString(`\\.\pipe\csi-proxy-` + api)
	if err != nil {
		return false, err
	}
	passed = true
	for _, a := range attempts {
		handle, err := a.make(path)
		said := "allowed"
		if err != nil {
			said = "refused: " + err.Error()
		} else {
			windows.CloseHandle(handle)
		}
		// Other errors, e.g. of an absent pipe, prove nothing.
		if a.allowed && err != nil || !a.allowed && !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
			passed, said = false, "FAILED, "+said
		}
		fmt.Printf("%s: %s\n", a.name, said)
	}
	return passed, nil
}
