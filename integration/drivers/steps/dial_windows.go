package steps

import (
	"context"
	"net"

	"github.com/Microsoft/go-winio"
)

// PipePath is where the service has the pipe of this name.
func PipePath(name string) string { return `\\.\pipe\` + name }

// DialPipe is for grpc.WithContextDialer.
func DialPipe(ctx context.Context, path string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, path)
}

// ServiceFlags are those of every service that is started: Wine's user is not in the groups that the pipes
// are for.
var ServiceFlags = []string{"--pipe-sddl=D:P(A;;GA;;;WD)"}
