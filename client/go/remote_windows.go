package csiproxy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"

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

// checkPipe returns an error if the pipe's owner may not be trusted.
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
	system := false
	if sid, _, err := security.Owner(); err == nil && sid != nil {
		owner = sid.String()
		system = sid.IsWellKnown(windows.WinLocalSystemSid)
	}
	self, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return fmt.Errorf("the pipe %s: reading the user of this process: %w", path, err)
	}
	return checkOwner(path, owner, system, self.User.Sid.String())
}

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
