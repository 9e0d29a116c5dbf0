package csiproxytest

// The parts of server/simulator/node.proto's messages that tests need, with the same field names.

// State is the state of a simulated node.
type State struct {
	BIOSSerialNumber string        `json:"bios_serial_number"`
	Disks            []Disk        `json:"disk"`
	SMBServers       []SMBServer   `json:"smb_server"`
	SMBMappings      []SMBMapping  `json:"smb_mapping"`
	ISCSIPortals     []ISCSIPortal `json:"iscsi_portal"`
	Services         []Service     `json:"service"`
}

// PartitionStyle is the kind of a disk's partition table. A new disk without one is Raw.
type PartitionStyle string

const (
	Raw PartitionStyle = "RAW"
	MBR PartitionStyle = "MBR"
	GPT PartitionStyle = "GPT"
)

// Disk is a disk of the node.
type Disk struct {
	Number    uint32 `json:"number"`
	SizeBytes uint64 `json:"size_bytes,string"`
	// GrownSizeBytes is the hardware's size if Windows has yet to notice it, otherwise 0.
	GrownSizeBytes uint64 `json:"grown_size_bytes,string"`
	// Location is in the form of Windows: `Integrated : Adapter 0 : Port 0 : Target 1 : LUN 0`.
	Location     string         `json:"location"`
	Page83       string         `json:"page83"`
	SerialNumber string         `json:"serial_number"`
	Style        PartitionStyle `json:"style,omitempty"`
	Offline      bool           `json:"offline"`
	ReadOnly     bool           `json:"read_only"`
	// AwaitsRescan is true until a rescan shows the disk to Windows.
	AwaitsRescan bool        `json:"awaits_rescan"`
	Partitions   []Partition `json:"partition"`
}

// PartitionType is the purpose of a partition.
type PartitionType string

const (
	Basic             PartitionType = "BASIC"
	MicrosoftReserved PartitionType = "MICROSOFT_RESERVED"
	EFISystem         PartitionType = "EFI_SYSTEM"
)

// Partition is a partition of a disk.
type Partition struct {
	Number      uint32        `json:"number"`
	Type        PartitionType `json:"type,omitempty"`
	OffsetBytes uint64        `json:"offset_bytes,string"`
	SizeBytes   uint64        `json:"size_bytes,string"`
	// Volume is nil if the partition contains none, for example a reserved one.
	Volume *Volume `json:"volume"`
}

// Volume is the content of a partition.
type Volume struct {
	// ID is `\\?\Volume{guid}\`.
	ID string `json:"id"`
	// FileSystem is `NTFS`, `ReFS`, `FAT32` or `exFAT`; empty if the volume is not formatted.
	FileSystem  string `json:"file_system"`
	DriveLetter string `json:"drive_letter"`
	Files       []File `json:"file"`
}

// FileKind is the kind of a File.
type FileKind string

const (
	Directory   FileKind = "DIRECTORY"
	RegularFile FileKind = "FILE"
	// Link is a symbolic link to a directory.
	Link FileKind = "LINK"
	// Junction is a link that `mklink /J` makes.
	Junction FileKind = "JUNCTION"
)

// File is an entry of a volume or of a share. A directory that contains entries may be left out.
type File struct {
	// Path is relative to the root of the volume or share: `var\lib\kubelet`.
	Path      string   `json:"path"`
	Kind      FileKind `json:"kind,omitempty"`
	SizeBytes uint64   `json:"size_bytes,string"`
	ReadOnly  bool     `json:"read_only"`
	// Target is the target of a link or a junction.
	Target string `json:"target"`
	// MountedVolumeID is the volume that is mounted at a directory.
	MountedVolumeID string `json:"mounted_volume_id"`
	// Dangling is true if the mounted volume is gone, for example because its disk was removed.
	Dangling bool `json:"dangling"`
}

// SMBServer is a file server that the node can reach.
type SMBServer struct {
	Name        string     `json:"name"`
	Unreachable bool       `json:"unreachable"`
	Shares      []SMBShare `json:"share"`
}

// SMBShare is a share of a server.
type SMBShare struct {
	Name  string `json:"name"`
	Files []File `json:"file"`
}

// SMBMapping is a global mapping of the node.
type SMBMapping struct {
	// RemotePath is `\\host\share`, in lower case.
	RemotePath string `json:"remote_path"`
	Username   string `json:"username"`
	// Broken is true if the mapping cannot be read.
	Broken bool `json:"broken"`
}

// ISCSIPortal is a portal that the node can reach.
type ISCSIPortal struct {
	Address     string `json:"address"`
	Port        uint32 `json:"port"`
	Unreachable bool   `json:"unreachable"`
	// Registered is true if the portal is registered with the node's initiator.
	Registered bool          `json:"registered"`
	Targets    []ISCSITarget `json:"target"`
}

// ISCSITarget is a target behind a portal. The node has its disks while the target is connected.
type ISCSITarget struct {
	IQN       string `json:"iqn"`
	Connected bool   `json:"connected"`
	Disks     []Disk `json:"disk"`
}

// ServiceState is the state of a service.
type ServiceState string

const (
	Stopped      ServiceState = "STOPPED"
	StartPending ServiceState = "START_PENDING"
	StopPending  ServiceState = "STOP_PENDING"
	Running      ServiceState = "RUNNING"
)

// Service is a Windows service of the node.
type Service struct {
	Name        string       `json:"name"`
	DisplayName string       `json:"display_name"`
	State       ServiceState `json:"state,omitempty"`
}
