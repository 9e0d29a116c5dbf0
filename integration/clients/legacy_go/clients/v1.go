//go:build !v0.2.2

package main

import (
	"csi-proxy.example/legacy_go/suite"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	diskv1beta3 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta3"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	filesystemv1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1beta2"
	iscsiv1alpha2 "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha2"
	smbv1 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	smbv1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1beta2"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
	volumev1beta3 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta3"
)

func init() {
	clients = append(clients, []suite.Client{
		{"disk", "v1", diskv1.NewClient},
		{"disk", "v1beta3", diskv1beta3.NewClient},
		{"filesystem", "v1", filesystemv1.NewClient},
		{"filesystem", "v1beta2", filesystemv1beta2.NewClient},
		{"iscsi", "v1alpha2", iscsiv1alpha2.NewClient},
		{"smb", "v1", smbv1.NewClient},
		{"smb", "v1beta2", smbv1beta2.NewClient},
		{"volume", "v1", volumev1.NewClient},
		{"volume", "v1beta3", volumev1beta3.NewClient},
	}...)
}
