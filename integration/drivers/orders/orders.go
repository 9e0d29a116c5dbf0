// Package orders has the calls of drivers whose code is not to be had as a Go module, in their order,
// with what they make of the answers. The user of the package says where the calls go.
package orders

// DiskIDs are the names of a disk.
type DiskIDs struct{ Page83, SerialNumber string }

// Node is what answers the calls.
type Node interface {
	PathExists(path string) (bool, error)
	IsSymlink(path string) (bool, error)
	Mkdir(path string) error
	Rmdir(path string) error
	CreateSymlink(source, target string) error

	ListDiskIDs() (map[uint32]DiskIDs, error)
	PartitionDisk(disk uint32) error
	SetDiskState(disk uint32, online bool) error
	// GetDiskStats is the disk's size.
	GetDiskStats(disk uint32) (int64, error)
	Rescan() error

	ListVolumesOnDisk(disk uint32) ([]string, error)
	IsVolumeFormatted(id string) (bool, error)
	FormatVolume(id string) error
	MountVolume(id, path string) error
	UnmountVolume(id, path string) error
	GetVolumeIDFromTargetPath(path string) (string, error)
	GetDiskNumberFromVolumeID(id string) (uint32, error)
	GetVolumeStats(id string) (total, used int64, err error)
	// ResizeVolume is to the maximum.
	ResizeVolume(id string) error
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

// formatAndMount is alike in aws-ebs, gcp-pd and vsphere.
func formatAndMount(n Node, disk uint32, path string) error {
	if err := n.PartitionDisk(disk); err != nil {
		return err
	}
	if err := n.SetDiskState(disk, true); err != nil {
		return err
	}
	volumes, err := n.ListVolumesOnDisk(disk)
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

// unmount likewise.
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

func stats(n Node, path string) (total, used int64, err error) {
	id, err := n.GetVolumeIDFromTargetPath(path)
	if err != nil {
		return 0, 0, err
	}
	return n.GetVolumeStats(id)
}
