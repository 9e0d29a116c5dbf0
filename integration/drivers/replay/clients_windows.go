package main

import (
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	filesystembeta "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1beta1"
	filesystembeta2 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1beta2"
	iscsi "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha2"
	smb "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	smbbeta "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1beta1"
	system "github.com/kubernetes-csi/csi-proxy/client/groups/system/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
	volumebeta2 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta2"
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

func newIscsiClient() (iscsiapi.IscsiClient, error) { return iscsi.NewClient() }

func newSystemClient() (systemapi.SystemClient, error) { return system.NewClient() }

func newBeta1Clients() (*filesystembeta.Client, *smbbeta.Client, error) {
	files, err := filesystembeta.NewClient()
	if err != nil {
		return nil, nil, err
	}
	shares, err := smbbeta.NewClient()
	return files, shares, err
}

func newLocalV1() (*localV1, error) {
	volumes, err := volume.NewClient()
	if err != nil {
		return nil, err
	}
	files, err := filesystem.NewClient()
	return &localV1{volumes, files}, err
}

func newLocalV1Beta() (*localV1Beta, error) {
	volumes, err := volumebeta2.NewClient()
	if err != nil {
		return nil, err
	}
	files, err := filesystembeta2.NewClient()
	return &localV1Beta{volumes, files}, err
}
