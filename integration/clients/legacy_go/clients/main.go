// The clients of every version that a release has. The other files add the versions that came after v0.2.2.
package main

import (
	"csi-proxy.example/legacy_go/suite"

	diskv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1alpha1"
	diskv1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta1"
	diskv1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta2"
	filesystemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1alpha1"
	filesystemv1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1beta1"
	iscsiv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha1"
	smbv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1alpha1"
	smbv1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1beta1"
	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/system/v1alpha1"
	volumev1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1alpha1"
	volumev1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta1"
	volumev1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta2"
)

var clients = []suite.Client{
	{"disk", "v1alpha1", diskv1alpha1.NewClient},
	{"disk", "v1beta1", diskv1beta1.NewClient},
	{"disk", "v1beta2", diskv1beta2.NewClient},
	{"filesystem", "v1alpha1", filesystemv1alpha1.NewClient},
	{"filesystem", "v1beta1", filesystemv1beta1.NewClient},
	{"iscsi", "v1alpha1", iscsiv1alpha1.NewClient},
	{"smb", "v1alpha1", smbv1alpha1.NewClient},
	{"smb", "v1beta1", smbv1beta1.NewClient},
	{"system", "v1alpha1", systemv1alpha1.NewClient},
	{"volume", "v1alpha1", volumev1alpha1.NewClient},
	{"volume", "v1beta1", volumev1beta1.NewClient},
	{"volume", "v1beta2", volumev1beta2.NewClient},
}

func main() { suite.Main(clients) }
