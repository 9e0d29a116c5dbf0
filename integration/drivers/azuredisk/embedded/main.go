// Runs azuredisk-csi-driver's mounter, changed as its page in client/drivers says, as a HostProcess pod would:
// with the library and without a service.
package main

import (
	"errors"
	"os"

	"sigs.k8s.io/azuredisk-csi-driver/pkg/mounter"

	"csi-proxy.example/integration/drivers/steps"
)

const (
	kubelet = `C:\var\lib\kubelet`
	stage   = kubelet + `\plugins\kubernetes.io\csi\disk.csi.azure.com\0123abcd\globalmount`
	pod     = kubelet + `\pods\6ad43b88\volumes\kubernetes.io~csi\pvc-1`
	target  = pod + `\mount`
	gib     = 1 << 30
)

func life(run *steps.Run) {
	var proxy mounter.CSIProxyMounter
	run.Step("the mounter", func() error {
		made, err := mounter.NewSafeMounter(true, false, true, 0, 0)
		if err == nil {
			proxy = made.Interface.(mounter.CSIProxyMounter)
			// The driver's own code for HostProcess has no clients, and therefore no versions.
			err = steps.Equal(proxy.GetAPIVersions(), "API Versions filesystem: v1, disk: v1, volume: v1", nil)
		}
		return err
	})
	// The second round must find the volume that the first left.
	for range 2 {
		var disk, volume string
		run.Step("find", func() (err error) {
			if err = proxy.Rescan(); err == nil {
				disk, err = proxy.FindDiskByLun("1")
			}
			return steps.Equal(disk, "2", err)
		})
		run.Step("stage", func() error {
			if err := os.MkdirAll(stage, 0o777); err != nil {
				return err
			}
			if err := proxy.FormatAndMount(disk, stage, "ntfs", nil); err != nil {
				return err
			}
			// NodeStageVolume passes the disk's number, too.
			return proxy.ResizeVolume(disk)
		})
		run.Step("publish", func() error {
			if err := os.MkdirAll(pod, 0o777); err != nil {
				return err
			}
			return proxy.Mount(stage, target, "", []string{"bind"})
		})
		run.Step("stats", func() error {
			usage, err := proxy.GetVolumeStats(steps.Background, target)
			return steps.Equal(usage.GetTotal() > 19*gib, true, err)
		})
		run.Step("expand", func() (err error) {
			if volume, err = proxy.GetDeviceNameFromMount(target, ""); err != nil {
				return err
			}
			return proxy.ResizeVolume(volume)
		})
		run.Step("unpublish", func() error { return proxy.Rmdir(target) })
		run.Step("unstage", func() error { return proxy.Unmount(stage) })
		run.Step("unstage again", func() error { return proxy.Unmount(stage) })
		run.Step("nothing is left", func() error {
			exists, err := proxy.ExistsPath(stage)
			return steps.Equal(exists, false, err)
		})
	}
	run.Step("stage a cloned volume, whose disk is offline", func() error {
		disk, err := proxy.FindDiskByLun("30")
		if err != nil {
			return err
		}
		if err := os.MkdirAll(stage, 0o777); err != nil {
			return err
		}
		return proxy.FormatAndMount(disk, stage, "ntfs", nil)
	})
	run.Step("unstage it", func() error { return proxy.Unmount(stage) })
	run.Step("a disk that is not attached", func() error {
		if disk, err := proxy.FindDiskByLun("77"); err == nil {
			return errors.New("found: " + disk)
		}
		return nil
	})
}

func main() {
	steps.Embedded("disk.csi.azure.com", "sigs.k8s.io/azuredisk-csi-driver", life)
}
