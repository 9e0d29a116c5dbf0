package sidecars

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// call makes one call over a connection of its own to a Unix socket, as the two programs do for each
// probe: so it shows that connections are still accepted.
func call(ctx context.Context, path, method string, reply message) error {
	conn, err := grpc.NewClient("passthrough:///sidecars",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", path)
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"),
		grpc.WithNoProxy())
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Invoke(ctx, method, &empty{}, reply, grpc.ForceCodec(codec{}))
}

// errAnswered marks what the driver has answered, which asking again would not change.
var errAnswered = errors.New("it answers")

// driverName asks the driver for its name.
func driverName(ctx context.Context, path string, timeout time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var info driverInfo
	if err := call(ctx, path, "/csi.v1.Identity/GetPluginInfo", &info); err != nil {
		switch status.Code(err) {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
			return "", err
		}
		return "", fmt.Errorf("%w: %v", errAnswered, err)
	}
	if err := checkName(info.name); err != nil {
		return "", fmt.Errorf("%w: its name %v", errAnswered, err)
	}
	return info.name, nil
}

// probeDriver asks the driver whether it is ready.
func probeDriver(ctx context.Context, path string) (bool, error) {
	var response probeResponse
	if err := call(ctx, path, "/csi.v1.Identity/Probe", &response); err != nil {
		return false, err
	}
	return !response.notReady, nil
}
