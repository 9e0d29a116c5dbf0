package main

import (
	"errors"

	"csi-proxy.example/integration/drivers/clients"
	"github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
)

// newClients creates the released clients by the pipes' names, in the drivers' order.
func newClients() (*clients.Clients, error) {
	files, noFiles := filesystem.NewClient()
	disks, noDisks := v1.NewClient()
	volumes, noVolumes := volume.NewClient()
	shares, noShares := smb.NewClient()
	return &clients.Clients{Files: files, Disks: disks, Volumes: volumes, Shares: shares},
		errors.Join(noFiles, noDisks, noVolumes, noShares)
}

// newDiskClient creates another client, which the caller must close.
func newDiskClient() (diskClient, error) { return v1.NewClient() }
