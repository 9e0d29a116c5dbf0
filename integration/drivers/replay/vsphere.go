package main

import (
	"fmt"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"

	"csi-proxy.example/drivers/steps"
)

// vsphere is pkg/csi/service/node.go with mounter/mounter_windows.go and osutils/windows_os_utils.go. Today's
// release makes these calls of the Go library v2; up to v3.4 they went over the v1 pipes, as here.
type vsphere struct {
	*clients
	run *steps.Run
}

// As the publish context's diskUUID.
func (d vsphere) Identify(disk *steps.Disk) string { return disk.Page83 }

func (d vsphere) Find(volume *steps.BlockVolume) (uint32, error) {
	listed, err := d.disks.ListDiskIDs(background, &disk.ListDiskIDsRequest{})
	if err != nil {
		return 0, err
	}
	for number, id := range listed.DiskIDs {
		if id.Page83 == volume.ID {
			return number, nil
		}
	}
	return 0, errNoDisk
}

func (d vsphere) NodeStage(volume *steps.BlockVolume) error {
	path := steps.Normalize(volume.Stage)
	exists, err := d.pathExists(path)
	if err != nil {
		return err
	}
	if !exists {
		return fmt.Errorf("failed precondition: %s does not exist", path)
	}
	number, err := d.Find(volume)
	if err != nil {
		return err
	}
	// The driver's own Lstat and ReadDir.
	mounted, readable := false, false
	err = d.run.Then(func(node *steps.Node) error {
		entry, _ := node.At(path)
		mounted = entry != nil && (entry.MountedVolumeID != "" || entry.Kind == "LINK")
		readable = node.ReadDir(path) == nil
		return nil
	})
	if err != nil || mounted && readable {
		return err
	}
	if mounted {
		if exists, err := d.pathExists(path); err != nil || !exists {
			return err
		}
		if err := d.unmount(path); err != nil {
			return err
		}
	}
	return d.formatAndMount(number, path)
}

func (d vsphere) NodePublish(volume *steps.BlockVolume) error {
	target := steps.Normalize(volume.Target)
	exists, err := d.pathExists(target)
	if err != nil {
		return err
	}
	if exists {
		if err := d.rmdir(target); err != nil {
			return err
		}
	}
	if err := d.mkdir(parent(target)); err != nil {
		return err
	}
	return d.createSymlink(steps.Normalize(volume.Stage), target)
}

func (d vsphere) NodeStats(volume *steps.BlockVolume) (total, used int64, err error) {
	id, err := d.volumeAt(volume.Target)
	if err != nil {
		return 0, 0, err
	}
	return d.volumeStats(id)
}

func (d vsphere) NodeExpand(volume *steps.BlockVolume) error {
	id, err := d.volumeAt(steps.Normalize(volume.Target))
	if err != nil {
		return err
	}
	if _, _, err := d.volumeStats(id); err != nil {
		return err
	}
	if err := d.rescan(); err != nil {
		return err
	}
	number, err := d.diskOf(id)
	if err != nil {
		return err
	}
	if _, err := d.diskSize(number); err != nil {
		return err
	}
	if number, err = d.diskOf(id); err != nil {
		return err
	}
	if err := d.setOnline(number, true); err != nil {
		return err
	}
	return d.resize(id)
}

func (d vsphere) NodeUnpublish(volume *steps.BlockVolume) error {
	return d.rmdir(steps.Normalize(volume.Target))
}

func (d vsphere) NodeUnstage(volume *steps.BlockVolume) error {
	path := steps.Normalize(volume.Stage)
	for range 2 {
		if exists, err := d.pathExists(path); err != nil || !exists {
			return err
		}
	}
	return d.unmount(path)
}
