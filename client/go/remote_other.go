//go:build !windows

package csiproxy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

func pipePath(directory, name string) string { return filepath.Join(directory, name+".sock") }

func dialPipe(ctx context.Context, path string) (net.Conn, error) {
	// The owner of a socket's file is the user of the process that bound it.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		if err := checkOwner(path, fmt.Sprint("user ", stat.Uid), stat.Uid == 0, fmt.Sprint("user ", os.Geteuid())); err != nil {
			return nil, err
		}
	}
	return new(net.Dialer).DialContext(ctx, "unix", path)
}

// isAbsent reports whether err means that no service listens. The socket file of a killed service
// stays, and refuses connections.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}
