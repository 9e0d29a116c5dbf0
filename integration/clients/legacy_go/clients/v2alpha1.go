//go:build !v0.2.2 && !v1.0.1

package main

import (
	"csi-proxy.example/legacy_go/suite"

	filesystemv2alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v2alpha1"
	volumev2alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v2alpha1"
)

func init() {
	clients = append(clients, suite.Client{"filesystem", "v2alpha1", filesystemv2alpha1.NewClient},
		suite.Client{"volume", "v2alpha1", volumev2alpha1.NewClient})
}
