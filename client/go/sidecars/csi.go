package sidecars

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
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

// driverName asks the driver for its name.
func driverName(ctx context.Context, path string, timeout time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var info driverInfo
	if err := call(ctx, path, "/csi.v1.Identity/GetPluginInfo", &info); err != nil {
		return "", err
	}
	if err := checkName(info.name); err != nil {
		return "", fmt.Errorf("the driver's name: %w", err)
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
