//go:build !windows

package csiproxy

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"syscall"
)

func pipePath(directory, name string) string { return filepath.Join(directory, name+".sock") }

func dialPipe(ctx context.Context, path string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", path)
}

// A socket outlives a service that was killed: nobody listens on it.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}
