package steps

import (
	"context"
	"net"
	"time"

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

// Under Wine 8 an answer now and then does not wake a Go program that waits in its network poller: nothing
// moves until its next timer, which may be the deadline of a call that was answered ten seconds before. So
// there is always a timer.
func init() {
	go func() {
		for range time.Tick(20 * time.Millisecond) {
		}
	}()
}
