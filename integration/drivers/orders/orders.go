// Package orders makes the calls of the node servers of aws-ebs, vsphere and csi-driver-smb, whose code is not
// available as a Go module, in the driver's order, and uses their answers as the driver does. The user of the package
// decides where the calls go.
package orders

import "errors"

// ErrorOf returns the error of a call whose response is not needed.
func ErrorOf[T any](_ T, err error) error { return err }

// DiskIDs are a disk's identifiers.
type DiskIDs struct{ Page83, SerialNumber string }

// Location is where a disk is attached.
type Location struct{ Adapter, Target, LUN string }

// Files has the calls of the group filesystem.
type Files interface {
	PathExists(path string) (bool, error)
	IsSymlink(path string) (bool, error)
	Mkdir(path string) error
	Rmdir(path string) error
	CreateSymlink(source, target string) error
}

// Disks has the calls of the groups disk and volume.
type Disks interface {
	ListDiskIDs() (map[uint32]DiskIDs, error)
	PartitionDisk(disk uint32) error
	SetDiskState(disk uint32, online bool) error
	// GetDiskStats returns the disk's size.
	GetDiskStats(disk uint32) (int64, error)
	Rescan() error

	// ListVolumesOnDisk lists the volumes of one partition, or of all if partition is 0.
	ListVolumesOnDisk(disk, partition uint32) ([]string, error)
	IsVolumeFormatted(id string) (bool, error)
	FormatVolume(id string) error
	MountVolume(id, path string) error
	UnmountVolume(id, path string) error
	GetVolumeIDFromTargetPath(path string) (string, error)
	GetDiskNumberFromVolumeID(id string) (uint32, error)
	GetVolumeStats(id string) (total, used int64, err error)
	// ResizeVolume grows the volume to size, or to the maximum if size is 0.
	ResizeVolume(id string, size int64) error
}

// Node has the calls of a driver of disks.
type Node interface {
	Files
	Disks
}

// Driver is a node server for volumes that are disks. id is the volume's id in the cloud.
type Driver interface {
	Find(id string) (uint32, error)
	Stage(id, stage string) error
	Publish(stage, target string) error
	Stats(target string) (total, used int64, err error)
	Expand(id, path string) error
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

// formatAndMount formats and mounts a disk. aws-ebs and vsphere make the same calls.
func formatAndMount(n Disks, disk uint32, path string) error {
	if err := n.PartitionDisk(disk); err != nil {
		return err
	}
	if err := n.SetDiskState(disk, true); err != nil {
		return err
	}
	volumes, err := n.ListVolumesOnDisk(disk, 0)
	if err != nil {
		return err
	}
	// Like the drivers, does not check that there is a volume.
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

// unmount unmounts a volume. aws-ebs and vsphere make the same calls.
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

// Stats returns the size and use of the volume at a path, by the calls of the drivers that get them
// from csi-proxy.
func Stats(n Disks, path string) (total, used int64, err error) {
	id, err := n.GetVolumeIDFromTargetPath(path)
	if err != nil {
		return 0, 0, err
	}
	return n.GetVolumeStats(id)
}

func removeIfThere(n Files, path string) error {
	exists, err := n.PathExists(path)
	if err != nil || !exists {
		return err
	}
	return n.Rmdir(path)
}

// mounted is the drivers' IsLikelyNotMountPoint, negated.
func mounted(n Files, path string) (bool, error) {
	exists, err := n.PathExists(path)
	if err != nil || !exists {
		return false, err
	}
	return n.IsSymlink(path)
}
