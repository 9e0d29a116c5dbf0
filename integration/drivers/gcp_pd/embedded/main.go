// Runs gcp-pd's mounter, changed as its page in client/drivers says, as a HostProcess pod would: with the
// library and without a service.
package main

import (
	"os"

	mountmanager "sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/mount-manager"
	"sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/resizefs"

	"csi-proxy.example/drivers/steps"
	"k8s.io/mount-utils"
)

const (
	// The kubelet passes paths in this form, and the driver passes some of them on unchanged.
	stage  = `\var\lib\kubelet\plugins\kubernetes.io\csi\pd.csi.storage.gke.io\0123abcd\globalmount`
	pod    = `\var\lib\kubelet\pods\6ad43b88\volumes\kubernetes.io~csi\pvc-3`
	target = pod + `\mount`
	drive  = `C:`
	gib    = 1 << 30
)

func life(run *steps.Run) {
	var made *mount.SafeFormatAndMount
	var proxy mountmanager.CSIProxyMounter
	run.Step("the mounter", func() (err error) {
		if made, err = mountmanager.NewSafeMounter(0, 0); err == nil {
			proxy = made.Interface.(mountmanager.CSIProxyMounter)
		}
		return err
	})
	for range 2 {
		var disk string
		run.Step("find, without a metadata server", func() (err error) {
			disk, err = proxy.GetDiskNumber("pvc-1f2e3d4c", "", "")
			return steps.Equal(disk, "3", err)
		})
		run.Step("stage", func() error {
			if err := os.MkdirAll(drive+stage, 0o777); err != nil {
				return err
			}
			return proxy.FormatAndMount(disk, stage, "ntfs", nil)
		})
		run.Step("grow", func() error {
			_, err := resizefs.NewResizeFs(made).Resize(disk, stage)
			return err
		})
		run.Step("publish", func() error {
			if err := os.MkdirAll(drive+pod, 0o777); err != nil {
				return err
			}
			return proxy.Mount(drive+stage, drive+target, "ntfs", []string{"bind"})
		})
		run.Step("stats", func() error {
			_, total, _, _, _, _, err := mountmanager.NewStatter(made).StatFS(target)
			return steps.Equal(total > 4*gib, true, err)
		})
		run.Step("unpublish", func() error { return proxy.RemovePodDir(drive + target) })
		run.Step("unstage", func() error { return proxy.UnmountDevice(drive + stage) })
		run.Step("nothing is left", func() error {
			exists, err := proxy.ExistsPath(drive + stage)
			return steps.Equal(exists, false, err)
		})
	}
}

func main() {
	// No metadata server answers there, and the connection fails at once.
	os.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
	steps.Embedded("pd.csi.storage.gke.io", "sigs.k8s.io/gcp-compute-persistent-disk-csi-driver", life)
}
