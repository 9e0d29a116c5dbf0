package orders

// Portal is where targets are found.
type Portal struct {
	Address string
	Port    uint32
}

// Targets answers the calls of the group iscsi, by which a driver brings a volume's disk to the node itself.
type Targets interface {
	AddTargetPortal(portal Portal) error
	// DiscoverTargetPortal is the names of the portal's targets.
	DiscoverTargetPortal(portal Portal) ([]string, error)
	ConnectTarget(portal Portal, iqn string) error
	DisconnectTarget(portal Portal, iqn string) error
	// GetTargetDisks is the numbers of the disks, as text.
	GetTargetDisks(portal Portal, iqn string) ([]string, error)
}

// TargetNode is what answers the calls of a driver of iSCSI volumes.
type TargetNode interface {
	Files
	Targets
	// RmdirEmpty is Rmdir without force.
	RmdirEmpty(path string) error
	Rescan() error
	PartitionDisk(disk uint32) error
	SetDiskState(disk uint32, online bool) error
	GetDiskStats(disk uint32) (int64, error)

	ListVolumesOnDisk(disk, partition uint32) ([]string, error)
	IsVolumeFormatted(id string) (bool, error)
	FormatVolume(id string) error
	MountVolume(id, path string) error
	UnmountVolume(id, path string) error
	WriteVolumeCache(id string) error
	GetVolumeIDFromTargetPath(path string) (string, error)
	GetDiskNumberFromVolumeID(id string) (uint32, error)
	GetVolumeStats(id string) (total, used int64, err error)
	ResizeVolume(id string, size int64) error
}

// TargetDriver is a node server for volumes that are iSCSI targets with one disk each.
type TargetDriver interface {
	Stage(portal Portal, iqn, stage string) error
	Publish(stage, target string) error
	Stats(portal Portal, iqn, target string) (total, used int64, err error)
	Unpublish(target string) error
	Unstage(portal Portal, iqn, stage string) error
}

func mkdirIfMissing(n Files, path string) error {
	exists, err := n.PathExists(path)
	if err != nil || exists {
		return err
	}
	return n.Mkdir(path)
}
