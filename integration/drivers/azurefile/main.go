// Runs azurefile-csi-driver's own mounter over the pipes, in the order of pkg/azurefile/nodeserver.go. The
// driver's code, not drivers/orders, calls csi-proxy.
package main

import (
	"errors"
	"os"

	"k8s.io/mount-utils"
	"sigs.k8s.io/azurefile-csi-driver/pkg/mounter"

	"csi-proxy.example/integration/drivers/steps"
)

type driver struct {
	run     *steps.Run
	mounter *mount.SafeFormatAndMount
	proxy   mounter.CSIProxyMounter
}

// ensureMountPoint returns true if something is mounted at target; otherwise it creates the directory, as the
// driver does with os.MkdirAll.
func (d *driver) ensureMountPoint(target string) (bool, error) {
	notMounted, err := d.mounter.IsLikelyNotMountPoint(target)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		// The driver's IsCorruptedDir distinguishes a link whose server is lost from other failures by a stat.
		if d.run.ReadDir(target) == nil {
			return !notMounted, err
		}
		notMounted = false
	}
	if !notMounted {
		if d.run.ReadDir(target) == nil {
			return true, nil
		}
		return false, d.mounter.Unmount(target)
	}
	return false, d.run.MakeDirectory(target)
}

// removeDir removes a directory before staging and publishing.
func (d *driver) removeDir(path string) error {
	exists, err := d.proxy.ExistsPath(path)
	if err != nil || !exists {
		return err
	}
	return d.proxy.Rmdir(path)
}

func (d *driver) NodeStage(volume *steps.ShareVolume) error {
	if mounted, err := d.ensureMountPoint(volume.Stage); err != nil || mounted {
		return err
	}
	if err := d.removeDir(volume.Stage); err != nil {
		return err
	}
	return d.proxy.SMBMount(volume.Remote, volume.Stage, "cifs", []string{volume.User}, []string{volume.Password})
}

func (d *driver) NodePublish(volume *steps.ShareVolume) error {
	if mounted, err := d.ensureMountPoint(volume.Target); err != nil || mounted {
		return err
	}
	if err := d.removeDir(volume.Target); err != nil {
		return err
	}
	return d.mounter.Mount(volume.Stage, volume.Target, "", []string{"bind"})
}

func (d *driver) NodeUnpublish(volume *steps.ShareVolume) error { return d.proxy.Rmdir(volume.Target) }

func (d *driver) NodeUnstage(volume *steps.ShareVolume) error { return d.proxy.Rmdir(volume.Stage) }

// ready makes a call with each of the mounter's clients.
func (d *driver) ready() error {
	if _, err := d.proxy.ExistsPath(`\var\lib\kubelet`); err != nil {
		return err
	}
	return steps.Unreachable(d.proxy.SMBMount(`\\none\none`, `\var\lib\kubelet\none`, "", []string{"none"}, []string{"none"}))
}

func main() {
	steps.Main(func(run *steps.Run) error {
		if err := run.Start(""); err != nil {
			return err
		}
		made, err := mounter.NewSafeMounter(false)
		if err != nil {
			return err
		}
		own := &driver{run, made, made.Interface.(mounter.CSIProxyMounter)}
		run.Ready = own.ready
		life := &steps.ShareLife{Run: run, Driver: own}
		life.All("file.csi.azure.com", steps.Version("sigs.k8s.io/azurefile-csi-driver"))
		return nil
	})
}
