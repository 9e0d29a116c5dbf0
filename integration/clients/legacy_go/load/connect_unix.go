//go:build !windows

package main

import (
	"context"
	"flag"
	"fmt"
	"net"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"google.golang.org/grpc"
)

// dial connects to a socket as the released client connects to a pipe.
func dial(socket string) (*grpc.ClientConn, error) {
	return grpc.Dial(socket, grpc.WithInsecure(),
		grpc.WithContextDialer(func(ctx context.Context, path string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}))
}

// rpcs are the calls that a caller may repeat, each on the pipe of its group.
var rpcs = map[string]func(grpc.ClientConnInterface) call{
	"PathExists": func(c grpc.ClientConnInterface) call { return pathExists(filesystem.NewFilesystemClient(c)) },
	"GetDiskState": func(c grpc.ClientConnInterface) call {
		client := disk.NewDiskClient(c)
		return func() error {
			_, err := client.GetDiskState(context.Background(), &disk.GetDiskStateRequest{DiskNumber: 1})
			return err
		}
	},
}

// connector spreads the callers over connections to one socket, or places one at each pipe of a directory.
func connector() func() ([]call, func(), error) {
	callers := flag.Int("callers", 1, "how many at once")
	connections := flag.Int("connections", 1, "how many they share")
	socket := flag.String("socket", "", "where the rpc's v1 is served")
	rpc := flag.String("rpc", "PathExists", "what they call: PathExists or GetDiskState")
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
		bind, ok := rpcs[*rpc]
		if !ok {
			return nil, nil, fmt.Errorf("rpc %s is not known", *rpc)
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
			calls = append(calls, bind(opened[i%*connections]))
		}
		return calls, closeAll, nil
	}
}
