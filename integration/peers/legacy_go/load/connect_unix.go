//go:build !windows

package main

import (
	"context"
	"flag"
	"net"

	v1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"google.golang.org/grpc"
)

// As the released client connects to a pipe.
func dial(socket string) (*grpc.ClientConn, error) {
	return grpc.Dial(socket, grpc.WithInsecure(),
		grpc.WithContextDialer(func(ctx context.Context, path string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}))
}

// The callers are spread over connections to one socket, or stand one at each pipe of a directory.
func connector() func() ([]call, func(), error) {
	callers := flag.Int("callers", 1, "how many at once")
	connections := flag.Int("connections", 1, "how many they share")
	socket := flag.String("socket", "", "where filesystem v1 is served")
	pipes := flag.String("pipes", "", "instead: the directory whose every pipe gets one caller")
	return func() ([]call, func(), error) {
		var opened []*grpc.ClientConn
		closeAll := func() {
			for _, c := range opened {
				c.Close()
			}
		}
		var calls []call
		if *pipes != "" {
			err := eachPipe(*pipes, func(path string, bind func(grpc.ClientConnInterface) call) error {
				c, err := dial(path)
				if err == nil {
					opened = append(opened, c)
					calls = append(calls, bind(c))
				}
				return err
			})
			if err != nil {
				closeAll()
			}
			return calls, closeAll, err
		}
		for i := 0; i < *connections; i++ {
			c, err := dial(*socket)
			if err != nil {
				closeAll()
				return nil, nil, err
			}
			opened = append(opened, c)
		}
		for i := 0; i < *callers; i++ {
			calls = append(calls, pathExists(v1.NewFilesystemClient(opened[i%*connections])))
		}
		return calls, closeAll, nil
	}
}
