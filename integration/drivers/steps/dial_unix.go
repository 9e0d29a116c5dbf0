//go:build !windows

package steps

import (
	"context"
	"net"
	"os"
	"path/filepath"
)

var socketDirectory = func() string {
	directory, err := os.MkdirTemp("", "drivers")
	if err != nil {
		panic(err)
	}
	return directory
}()

// PipePath is where the service has the pipe of this name: a socket, off Windows.
func PipePath(name string) string { return filepath.Join(socketDirectory, name+".sock") }

// DialPipe is for grpc.WithContextDialer.
func DialPipe(ctx context.Context, path string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", path)
}

var serviceFlags = []string{"--socket-dir=" + socketDirectory}
