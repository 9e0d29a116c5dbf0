//go:build !windows

package main

import (
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"csi-proxy.example/drivers/steps"
)

// The released client packages dial pipes and nothing else; what they generate for gRPC, in api/, goes over
// sockets as well.
func dial(group string) (*grpc.ClientConn, error) {
	return grpc.Dial(steps.PipePath("csi-proxy-"+group+"-v1"), grpc.WithContextDialer(steps.DialPipe),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
}

func newClients() (*clients, error) {
	var conns []*grpc.ClientConn
	for _, group := range []string{"filesystem", "disk", "volume", "smb"} {
		conn, err := dial(group)
		if err != nil {
			return nil, err
		}
		conns = append(conns, conn)
	}
	return &clients{filesystem.NewFilesystemClient(conns[0]), disk.NewDiskClient(conns[1]),
		volume.NewVolumeClient(conns[2]), smb.NewSmbClient(conns[3])}, nil
}

type ownDiskClient struct {
	disk.DiskClient
	conn *grpc.ClientConn
}

func (c ownDiskClient) Close() error { return c.conn.Close() }

func newDiskClient() (diskClient, error) {
	conn, err := dial("disk")
	if err != nil {
		return nil, err
	}
	return ownDiskClient{disk.NewDiskClient(conn), conn}, nil
}
