package steps

import (
	"context"
	"net"
	"time"

	"github.com/Microsoft/go-winio"
)

// PipePath returns the path of a pipe.
func PipePath(name string) string { return `\\.\pipe\` + name }

// DialPipe is a dialer for grpc.WithContextDialer.
func DialPipe(ctx context.Context, path string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, path)
}

// ServiceFlags are the flags of every service that is started. They open the pipes to everyone, because Wine's
// user is not in the groups that may use them.
var ServiceFlags = []string{"--pipe-sddl=D:P(A;;GA;;;WD)"}

// A ticker keeps timers expiring: under Wine 8 an answer sometimes does not wake a Go program that waits in its
// network poller, until its next timer, which may be the deadline of the call.
func init() {
	go func() {
		for range time.Tick(20 * time.Millisecond) {
		}
	}()
}
