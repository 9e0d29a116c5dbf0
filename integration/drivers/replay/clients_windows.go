package main

import (
	"github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
)

// newClients makes the released clients, in the drivers' order, as they do: by the pipes' names.
func newClients() (*clients, error) {
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
	return &clients{files, disks, volumes, shares}, nil
}

// newDiskClient is one more, to be closed by the caller.
func newDiskClient() (diskClient, error) { return v1.NewClient() }
