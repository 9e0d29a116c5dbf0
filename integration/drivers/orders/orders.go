// Package orders has the calls of each driver's node server, in their order, with what it makes of the
// answers. The user of the package says where the calls go.
package orders

import "errors"

// DiskIDs are the names of a disk.
type DiskIDs struct{ Page83, SerialNumber string }

// Location is where a disk is attached.
type Location struct{ Adapter, Target, LUN string }

// Files answers the calls of the group filesystem.
type Files interface {
	PathExists(path string) (bool, error)
	IsSymlink(path string) (bool, error)
	Mkdir(path string) error
	Rmdir(path string) error
	CreateSymlink(source, target string) error
}

// Disks answers the calls of the groups disk and volume.
type Disks interface {
	ListDiskIDs() (map[uint32]DiskIDs, error)
	PartitionDisk(disk uint32) error
	SetDiskState(disk uint32, online bool) error
	// GetDiskStats is the disk's size.
	GetDiskStats(disk uint32) (int64, error)
	Rescan() error

	// ListVolumesOnDisk is of all partitions when 0 is given for one.
	ListVolumesOnDisk(disk, partition uint32) ([]string, error)
	IsVolumeFormatted(id string) (bool, error)
	FormatVolume(id string) error
	MountVolume(id, path string) error
	UnmountVolume(id, path string) error
	GetVolumeIDFromTargetPath(path string) (string, error)
	GetDiskNumberFromVolumeID(id string) (uint32, error)
	GetVolumeStats(id string) (total, used int64, err error)
	// ResizeVolume is to the maximum when 0 is given for the size.
	ResizeVolume(id string, size int64) error
}

// Node is what answers the calls of a driver of disks.
type Node interface {
	Files
	Disks
}

// Driver is a node server for volumes that are disks. A volume's id is the cloud's.
type Driver interface {
	Find(id string) (uint32, error)
	Stage(id, stage string) error
	Publish(stage, target string) error
	Stats(target string) (total, used int64, err error)
	Expand(id, path string, requested int64) error
	Unpublish(target string) error
	Unstage(stage string) error
}

func find(n Disks, is func(DiskIDs) bool) (uint32, error) {
	listed, err := n.ListDiskIDs()
	if err != nil {
		return 0, err
	}
	for number, ids := range listed {
		if is(ids) {
			return number, nil
		}
	}
	return 0, errors.New("no disk has the volume's id")
}

// formatAndMount is alike in aws-ebs, gcp-pd and vsphere.
func formatAndMount(n Disks, disk uint32, path string) error {
	if err := n.PartitionDisk(disk); err != nil {
		return err
	}
	if err := n.SetDiskState(disk, true); err != nil {
		return err
	}
	return mountFirst(n, disk, path)
}

func mountFirst(n Disks, disk uint32, path string) error {
	volumes, err := n.ListVolumesOnDisk(disk, 0)
	if err != nil {
		return err
	}
	// The drivers do not look whether there is one.
	id := volumes[0]
	formatted, err := n.IsVolumeFormatted(id)
	if err != nil {
		return err
	}
	if !formatted {
		if err := n.FormatVolume(id); err != nil {
			return err
		}
	}
	return n.MountVolume(id, path)
}

// unmount is alike in the same three.
func unmount(n Node, path string) error {
	id, err := n.GetVolumeIDFromTargetPath(path)
	if err != nil {
		return err
	}
	if err := n.UnmountVolume(id, path); err != nil {
		return err
	}
	if err := n.Rmdir(path); err != nil {
		return err
	}
	disk, err := n.GetDiskNumberFromVolumeID(id)
	if err != nil {
		return err
	}
	return n.SetDiskState(disk, false)
}

// Stats is alike in all drivers that ask csi-proxy.
func Stats(n Disks, path string) (total, used int64, err error) {
	id, err := n.GetVolumeIDFromTargetPath(path)
	if err != nil {
		return 0, 0, err
	}
	return n.GetVolumeStats(id)
}

func resize(n Disks, path string) error {
	id, err := n.GetVolumeIDFromTargetPath(path)
	if err != nil {
		return err
	}
	return n.ResizeVolume(id, 0)
}

func removeIfThere(n Files, path string) error {
	exists, err := n.PathExists(path)
	if err != nil || !exists {
		return err
	}
	return n.Rmdir(path)
}

// mounted is IsLikelyNotMountPoint.
func mounted(n Files, path string) (bool, error) {
	exists, err := n.PathExists(path)
	if err != nil || !exists {
		return false, err
	}
	return n.IsSymlink(path)
}

// publish is alike in aws-ebs and azuredisk.
func publish(n Files, stage, target string) error {
	if err := removeIfThere(n, target); err != nil {
		return err
	}
	if mounted, err := mounted(n, target); err != nil || mounted {
		return err
	}
	return n.CreateSymlink(stage, target)
}
