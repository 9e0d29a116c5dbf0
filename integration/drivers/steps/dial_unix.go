//go:build !windows

package steps

import (
	"context"
	"net"
	"os"
	"path/filepath"
)

// Programs that this program starts find the directory in the environment.
const socketDirectoryVariable = "CSI_PROXY_SOCKET_DIR"

var socketDirectory = func() string {
	if directory := os.Getenv(socketDirectoryVariable); directory != "" {
		return directory
	}
	directory, err := os.MkdirTemp("", "drivers")
	if err != nil {
		panic(err)
	}
	os.Setenv(socketDirectoryVariable, directory)
	return directory
}()

// PipePath is where the service has the pipe of this name: a socket, off Windows.
func PipePath(name string) string { return filepath.Join(socketDirectory, name+".sock") }

// DialPipe is for grpc.WithContextDialer.
func DialPipe(ctx context.Context, path string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", path)
}

// ServiceFlags are those of every service that is started.
var ServiceFlags = []string{"--socket-dir=" + socketDirectory}
