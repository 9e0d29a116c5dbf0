// Runs azurefile-csi-driver's mounter, changed as its page in client/drivers says, as a HostProcess pod would:
// with the library and without a service.
package main

import (
	"os"

	"sigs.k8s.io/azurefile-csi-driver/pkg/mounter"

	"csi-proxy.example/integration/drivers/steps"
)

const (
	kubelet = `C:\var\lib\kubelet`
	stage   = kubelet + `\plugins\kubernetes.io\csi\file.csi.azure.com\0123abcd\globalmount`
	pod     = kubelet + `\pods\6ad43b88\volumes\kubernetes.io~csi\pvc-2`
	target  = pod + `\mount`
	share   = `\\fileserver.example\data`
	user    = `EXAMPLE\storage`
)

func life(run *steps.Run) {
	var proxy mounter.CSIProxyMounter
	run.Step("the mounter", func() error {
		made, err := mounter.NewSafeMounter(true)
		if err == nil {
			proxy = made.Interface.(mounter.CSIProxyMounter)
			err = steps.Equal(proxy.GetAPIVersions(), "API Versions filesystem: v1, SMB: v1", nil)
		}
		return err
	})
	for range 2 {
		run.Step("stage", func() error {
			return proxy.SMBMount(share, stage, "", []string{user}, []string{"correct horse"})
		})
		run.Step("the staged directory is a link", func() error {
			to, err := os.Readlink(stage)
			return steps.Equal(to, share+`\`, err)
		})
		run.Step("publish", func() error {
			if err := os.MkdirAll(pod, 0o777); err != nil {
				return err
			}
			return proxy.Mount(stage, target, "", []string{"bind"})
		})
		run.Step("unpublish", func() error { return proxy.Rmdir(target) })
		run.Step("unstage", func() error { return proxy.Rmdir(stage) })
		run.Step("unstage again", func() error { return proxy.Rmdir(stage) })
		run.Step("nothing is left", func() error {
			exists, err := proxy.ExistsPath(stage)
			return steps.Equal(exists, false, err)
		})
	}
}

func main() {
	steps.Embedded("file.csi.azure.com", "sigs.k8s.io/azurefile-csi-driver", life)
}
