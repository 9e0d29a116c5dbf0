package main

import (
	"csi-proxy.example/integration/drivers/clients"
	"github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
)

// newClients creates the released clients by the pipes' names, in the drivers' order.
func newClients() (*clients.Clients, error) {
	files, err := filesystem.NewClient()
	if err != nil {
		return nil, err
	}
	disks, err := v1.NewClient()
	if err != nil {
		return nil, err
	}
	volumes, err := volume.NewClient()
	if err != nil {
		return nil, err
	}
	shares, err := smb.NewClient()
	if err != nil {
		return nil, err
	}
	return &clients.Clients{Files: files, Disks: disks, Volumes: volumes, Shares: shares}, nil
}

// newDiskClient creates another client, which the caller must close.
func newDiskClient() (diskClient, error) { return v1.NewClient() }
