//go:build !windows

package main

import (
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"csi-proxy.example/integration/drivers/clients"
	"csi-proxy.example/integration/drivers/steps"
)

// dial connects generated gRPC clients to a socket, because the released client packages dial only pipes. Like
// those packages, it fails if nothing listens.
func dial(api string) (*grpc.ClientConn, error) {
	path := steps.PipePath("csi-proxy-" + api)
	probe, err := steps.DialPipe(background, path)
	if err != nil {
		return nil, err
	}
	probe.Close()
	return grpc.Dial(path, grpc.WithContextDialer(steps.DialPipe), grpc.WithTransportCredentials(insecure.NewCredentials()))
}

func newClients() (*clients.Clients, error) {
	var conns []*grpc.ClientConn
	for _, api := range []string{"filesystem-v1", "disk-v1", "volume-v1", "smb-v1"} {
		conn, err := dial(api)
		if err != nil {
			return nil, err
		}
		conns = append(conns, conn)
	}
	return &clients.Clients{
		Files:   filesystem.NewFilesystemClient(conns[0]),
		Disks:   disk.NewDiskClient(conns[1]),
		Volumes: volume.NewVolumeClient(conns[2]),
		Shares:  smb.NewSmbClient(conns[3]),
	}, nil
}

type ownDiskClient struct {
	disk.DiskClient
	conn *grpc.ClientConn
}

func (c ownDiskClient) Close() error { return c.conn.Close() }

func newDiskClient() (diskClient, error) {
	conn, err := dial("disk-v1")
	if err != nil {
		return nil, err
	}
	return ownDiskClient{disk.NewDiskClient(conn), conn}, nil
}
