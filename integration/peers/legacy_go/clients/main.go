// The clients of a release: every version it has.
package main

import (
	"csi-proxy.example/legacy_go/suite"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	diskv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1alpha1"
	diskv1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta1"
	diskv1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta2"
	diskv1beta3 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta3"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	filesystemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1alpha1"
	filesystemv1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1beta1"
	filesystemv1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1beta2"
	iscsiv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha1"
	iscsiv1alpha2 "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha2"
	smbv1 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	smbv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1alpha1"
	smbv1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1beta1"
	smbv1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1beta2"
	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/system/v1alpha1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
	volumev1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1alpha1"
	volumev1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta1"
	volumev1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta2"
	volumev1beta3 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta3"
)

var clients = []suite.Client{
	{"disk", "v1", diskv1.NewClient},
	{"disk", "v1alpha1", diskv1alpha1.NewClient},
	{"disk", "v1beta1", diskv1beta1.NewClient},
	{"disk", "v1beta2", diskv1beta2.NewClient},
	{"disk", "v1beta3", diskv1beta3.NewClient},
	{"filesystem", "v1", filesystemv1.NewClient},
	{"filesystem", "v1alpha1", filesystemv1alpha1.NewClient},
	{"filesystem", "v1beta1", filesystemv1beta1.NewClient},
	{"filesystem", "v1beta2", filesystemv1beta2.NewClient},
	{"iscsi", "v1alpha1", iscsiv1alpha1.NewClient},
	{"iscsi", "v1alpha2", iscsiv1alpha2.NewClient},
	{"smb", "v1", smbv1.NewClient},
	{"smb", "v1alpha1", smbv1alpha1.NewClient},
	{"smb", "v1beta1", smbv1beta1.NewClient},
	{"smb", "v1beta2", smbv1beta2.NewClient},
	{"system", "v1alpha1", systemv1alpha1.NewClient},
	{"volume", "v1", volumev1.NewClient},
	{"volume", "v1alpha1", volumev1alpha1.NewClient},
	{"volume", "v1beta1", volumev1beta1.NewClient},
	{"volume", "v1beta2", volumev1beta2.NewClient},
	{"volume", "v1beta3", volumev1beta3.NewClient},
}

func main() { suite.Main(clients) }
