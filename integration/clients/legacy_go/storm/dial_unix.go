//go:build !windows

package main

import (
	"context"
	"net"
	"path/filepath"
)

func dialer(directory string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, name string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(directory, name+".sock"))
	}
}
