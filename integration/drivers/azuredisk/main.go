// Runs azuredisk-csi-driver's own mounter over the pipes, in the order of pkg/azuredisk/nodeserver.go. The
// driver's code, not drivers/orders, calls csi-proxy.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/mount-utils"
	"sigs.k8s.io/azuredisk-csi-driver/pkg/mounter"

	"csi-proxy.example/integration/drivers/steps"
)

type driver struct {
	run     *steps.Run
	mounter *mount.SafeFormatAndMount
	proxy   mounter.CSIProxyMounter
}

var locatedLUN = regexp.MustCompile(`LUN (\d+)$`)

// Identify returns the LUN. On NVMe the namespace id is LUN+1, because the OS disk is namespace 1.
func (d *driver) Identify(disk *steps.Disk) string {
	if found := locatedLUN.FindStringSubmatch(disk.Location); found != nil {
		return found[1]
	}
	return strconv.Itoa(int(disk.LUN) - 1)
}

// find is the driver's getDevicePathWithLUN.
func (d *driver) find(volume *steps.BlockVolume) (string, error) {
	if err := d.proxy.Rescan(); err != nil {
		log.Print(err)
	}
	return d.proxy.FindDiskByLun(volume.ID)
}

func (d *driver) Find(volume *steps.BlockVolume) (uint32, error) {
	return steps.DiskNumber(d.find(volume))
}

// ensureMountPoint returns true if something is mounted at target. Unmounts a mount that leads nowhere.
func (d *driver) ensureMountPoint(target string) (bool, error) {
	notMounted, err := d.mounter.IsLikelyNotMountPoint(target)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return !notMounted, err
	}
	if notMounted {
		return false, nil
	}
	if d.run.ReadDir(target) == nil {
		return true, nil
	}
	return false, d.mounter.Unmount(target)
}

func (d *driver) NodeStage(volume *steps.BlockVolume) error {
	source, err := d.find(volume)
	if err != nil {
		return err
	}
	if mounted, err := d.ensureMountPoint(volume.Stage); err != nil || mounted {
		return err
	}
	if err := d.proxy.FormatAndMount(source, volume.Stage, "ntfs", nil); err != nil {
		return err
	}
	// The driver passes the disk's number where the rpc expects a volume id.
	return d.proxy.ResizeVolume(source)
}

func (d *driver) NodePublish(volume *steps.BlockVolume) error {
	exists, err := d.proxy.ExistsPath(volume.Target)
	if err != nil {
		return err
	}
	if exists {
		if err := d.proxy.Rmdir(volume.Target); err != nil {
			return err
		}
	}
	if mounted, err := d.ensureMountPoint(volume.Target); err != nil || mounted {
		return err
	}
	return d.mounter.Mount(volume.Stage, volume.Target, "", []string{"bind"})
}

func (d *driver) NodeStats(volume *steps.BlockVolume) (total, used int64, err error) {
	usage, err := d.proxy.GetVolumeStats(steps.Background, volume.Target)
	return usage.GetTotal(), usage.GetUsed(), err
}

func (d *driver) NodeExpand(volume *steps.BlockVolume) error {
	device, err := d.proxy.GetDeviceNameFromMount(volume.Target, "")
	if err != nil {
		return err
	}
	resized := d.proxy.ResizeVolume(device)
	got, err := d.proxy.GetVolumeSizeInBytes(device)
	if err != nil {
		return err
	}
	const gib = 1 << 30
	if (got+gib-1)/gib < int64(volume.SizeBytes+gib-1)/gib {
		return fmt.Errorf("%d bytes after resizing (%v), not %d", got, resized, volume.SizeBytes)
	}
	return nil
}

func (d *driver) NodeUnpublish(volume *steps.BlockVolume) error { return d.proxy.Rmdir(volume.Target) }

func (d *driver) NodeUnstage(volume *steps.BlockVolume) error { return d.proxy.Unmount(volume.Stage) }

// adapterZero covers the disks of Windows, which Azure attaches to adapter 0. The driver compares only the LUN
// and finds these disks until the volume's own disk has arrived
// (github.com/kubernetes-sigs/azuredisk-csi-driver/issues/2661).
func (d *driver) adapterZero() {
	d.run.Scenario("azure-scsi", func() error { return nil })
	stage := func(lun string) (at string, err error) {
		at = `\var\lib\kubelet\plugins\lun` + lun
		if err := d.run.MakeDirectory(at); err != nil {
			return at, err
		}
		return at, d.NodeStage(&steps.BlockVolume{ID: lun, Stage: at})
	}
	d.run.Step("LUN 0 is the disk of Windows, which is not mounted", func() error {
		at, err := stage("0")
		if err == nil || !strings.Contains(err.Error(), "code = FailedPrecondition") {
			return fmt.Errorf("not refused: %v", err)
		}
		return d.run.Then(func(node *steps.Node) error {
			if entry := node.At(at); entry == nil || entry.MountedVolumeID != "" {
				return fmt.Errorf("%s is %+v, not a directory", at, entry)
			}
			return nil
		})
	})
	d.run.Step("LUN 1 is the temporary disk, which is mounted and not changed", func() error {
		// The release then fails to resize the volume by the disk's number; the driver changed by its page does not.
		at, staged := stage("1")
		err := d.run.Then(func(node *steps.Node) error {
			if entry := node.At(at); entry == nil || entry.MountedVolumeID == "" {
				return fmt.Errorf("%s is %+v: %v", at, entry, staged)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return d.NodeUnstage(&steps.BlockVolume{Stage: at})
	})
}

// ready makes a call with each of the mounter's clients.
func (d *driver) ready() error {
	if _, err := d.proxy.ExistsPath(`\var\lib\kubelet`); err != nil {
		return err
	}
	if err := d.proxy.Rescan(); err != nil {
		return err
	}
	_, err := d.proxy.GetVolumeStats(steps.Background, `C:\`)
	return steps.Unreachable(err)
}

func main() {
	steps.Main(func(run *steps.Run) error {
		if err := run.Start(""); err != nil {
			return err
		}
		made, err := mounter.NewSafeMounter(false, false, true, 0, 0)
		if err != nil {
			return err
		}
		own := &driver{run, made, made.Interface.(mounter.CSIProxyMounter)}
		run.Ready = own.ready
		// Every release of csi-proxy refuses to resize by a disk's number. The volume is mounted by then, so the
		// second attempt succeeds.
		life := &steps.BlockLife{Run: run, Driver: own, Traits: steps.BlockTraits{StageAttempts: 2}}
		life.More = own.adapterZero
		life.All("disk.csi.azure.com", steps.Version("sigs.k8s.io/azuredisk-csi-driver"))
		return nil
	})
}
