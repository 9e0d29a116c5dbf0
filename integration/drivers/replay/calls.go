package main

import (
	"context"

	"csi-proxy.example/drivers/clients"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type diskClient interface {
	disk.DiskClient
	Close() error
}

var background = context.Background()

// ready makes a call with each client.
func ready(c *clients.Clients) error {
	_, err := c.PathExists(`c:\var\lib\kubelet`)
	if err == nil {
		err = c.Rescan()
	}
	if err == nil {
		_, err = c.ListVolumesOnDisk(0, 0)
	}
	if err == nil {
		// Any answer shows that the service runs.
		err = c.RemoveSmbGlobalMapping(`\\none\none`)
		if status.Code(err) != codes.Unavailable {
			err = nil
		}
	}
	return err
}
