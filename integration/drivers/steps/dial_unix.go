//go:build !windows

package steps

import (
	"context"
	"net"
	"os"
	"path/filepath"
)

// Passes the directory to the programs that this program starts.
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

// PipePath returns the path of a pipe, which is a socket here.
func PipePath(name string) string { return filepath.Join(socketDirectory, name+".sock") }

// DialPipe is a dialer for grpc.WithContextDialer.
func DialPipe(ctx context.Context, path string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", path)
}

// ServiceFlags are the flags of every service that is started.
var ServiceFlags = []string{"--socket-dir=" + socketDirectory}
