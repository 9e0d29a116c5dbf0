package csiproxy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"unsafe"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

func pipePath(_, name string) string { return `\\.\pipe\` + name }

func dialPipe(ctx context.Context, path string) (net.Conn, error) {
	conn, err := winio.DialPipeContext(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := checkPipe(conn, path); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// checkPipe returns an error when whoever made the pipe is not to be trusted.
func checkPipe(conn net.Conn, path string) error {
	file, ok := conn.(interface{ Fd() uintptr })
	if !ok {
		return fmt.Errorf("the pipe %s: %T has no handle", path, conn)
	}
	security, err := windows.GetSecurityInfo(windows.Handle(file.Fd()), windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Errorf("the pipe %s: reading its owner: %w", path, err)
	}
	owner := ""
	administrator := false
	if sid, _, err := security.Owner(); err == nil && sid != nil {
		owner = sid.String()
		administrator = sid.IsWellKnown(windows.WinLocalSystemSid) || sid.IsWellKnown(windows.WinBuiltinAdministratorsSid)
	}
	own, err := ownSids()
	if err != nil {
		return fmt.Errorf("the pipe %s: %w", path, err)
	}
	return checkOwner(path, owner, administrator, own...)
}

// ownSids returns the user of this process, and who owns what it creates.
func ownSids() ([]string, error) {
	token := windows.GetCurrentProcessToken()
	user, err := token.GetTokenUser()
	if err != nil {
		return nil, fmt.Errorf("reading the user of this process: %w", err)
	}
	// A structure that begins with the pointer to a SID, which stands behind it.
	buffer := make([]byte, 256)
	var size uint32
	if err := windows.GetTokenInformation(token, windows.TokenOwner, &buffer[0], uint32(len(buffer)), &size); err != nil {
		return nil, fmt.Errorf("reading the owner of what this process creates: %w", err)
	}
	owner := *(**windows.SID)(unsafe.Pointer(&buffer[0]))
	return []string{user.User.Sid.String(), owner.String()}, nil
}

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
