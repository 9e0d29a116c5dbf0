package csiproxytest

// The parts of the messages of server/simulator/node.proto that tests need. The tags are the
// numbers and names of the fields there.

// State is the state of a simulated node.
type State struct {
	BIOSSerialNumber string        `field:"1,bios_serial_number"`
	Disks            []Disk        `field:"3,disk"`
	SMBServers       []SMBServer   `field:"4,smb_server"`
	SMBMappings      []SMBMapping  `field:"5,smb_mapping"`
	ISCSIPortals     []ISCSIPortal `field:"6,iscsi_portal"`
	Services         []Service     `field:"8,service"`
}

// PartitionStyle is the kind of a disk's partition table.
type PartitionStyle int32

const (
	Raw PartitionStyle = 0
	MBR PartitionStyle = 1
	GPT PartitionStyle = 2
)

// Disk is a disk of the node.
type Disk struct {
	Number    uint32 `field:"1,number"`
	SizeBytes uint64 `field:"2,size_bytes"`
	// GrownSizeBytes is the hardware's size if Windows has yet to notice it, otherwise 0.
	GrownSizeBytes uint64 `field:"3,grown_size_bytes"`
	// Location is in the form of Windows: `Integrated : Adapter 0 : Port 0 : Target 1 : LUN 0`.
	Location     string         `field:"4,location"`
	Page83       string         `field:"5,page83"`
	SerialNumber string         `field:"7,serial_number"`
	Style        PartitionStyle `field:"8,style"`
	Offline      bool           `field:"9,offline"`
	ReadOnly     bool           `field:"10,read_only"`
	// AwaitsRescan is true until a rescan shows the disk to Windows.
	AwaitsRescan bool        `field:"11,awaits_rescan"`
	Partitions   []Partition `field:"12,partition"`
}

// PartitionType is the purpose of a partition.
type PartitionType int32

const (
	Basic             PartitionType = 0
	MicrosoftReserved PartitionType = 1
	EFISystem         PartitionType = 2
)

// Partition is a partition of a disk.
type Partition struct {
	Number      uint32        `field:"1,number"`
	Type        PartitionType `field:"2,type"`
	OffsetBytes uint64        `field:"3,offset_bytes"`
	SizeBytes   uint64        `field:"4,size_bytes"`
	// Volume is nil if the partition contains none, for example a reserved one.
	Volume *Volume `field:"5,volume"`
}

// Volume is the content of a partition.
type Volume struct {
	// ID is `\\?\Volume{guid}\`.
	ID string `field:"1,id"`
	// FileSystem is `NTFS`, `ReFS`, `FAT32` or `exFAT`; empty if the volume is not formatted.
	FileSystem  string `field:"2,file_system"`
	DriveLetter string `field:"3,drive_letter"`
	Files       []File `field:"4,file"`
}

// FileKind is the kind of a File.
type FileKind int32

const (
	Directory   FileKind = 0
	RegularFile FileKind = 1
	// Link is a symbolic link to a directory.
	Link FileKind = 2
	// Junction is a link that `mklink /J` makes.
	Junction FileKind = 3
)

// File is an entry of a volume or of a share. A directory that contains entries may be left out.
type File struct {
	// Path is relative to the root of the volume or share: `var\lib\kubelet`.
	Path      string   `field:"1,path"`
	Kind      FileKind `field:"2,kind"`
	SizeBytes uint64   `field:"3,size_bytes"`
	ReadOnly  bool     `field:"4,read_only"`
	// Target is the target of a link or a junction.
	Target string `field:"5,target"`
	// MountedVolumeID is the volume that is mounted at a directory.
	MountedVolumeID string `field:"6,mounted_volume_id"`
	// Dangling is true if the mounted volume is gone, for example because its disk was removed.
	Dangling bool `field:"7,dangling"`
}

// SMBServer is a file server that the node can reach.
type SMBServer struct {
	Name        string     `field:"1,name"`
	Unreachable bool       `field:"2,unreachable"`
	Shares      []SMBShare `field:"5,share"`
}

// SMBShare is a share of a server.
type SMBShare struct {
	Name  string `field:"1,name"`
	Files []File `field:"2,file"`
}

// SMBMapping is a global mapping of the node.
type SMBMapping struct {
	// RemotePath is `\\host\share`, in lower case.
	RemotePath string `field:"1,remote_path"`
	Username   string `field:"2,username"`
	// Broken is true if the mapping cannot be read.
	Broken bool `field:"3,broken"`
}

// ISCSIPortal is a portal that the node can reach.
type ISCSIPortal struct {
	Address     string `field:"1,address"`
	Port        uint32 `field:"2,port"`
	Unreachable bool   `field:"3,unreachable"`
	// Registered is true if the portal is registered with the node's initiator.
	Registered bool          `field:"4,registered"`
	Targets    []ISCSITarget `field:"5,target"`
}

// ISCSITarget is a target behind a portal. The node has its disks while it is connected.
type ISCSITarget struct {
	IQN       string `field:"1,iqn"`
	Connected bool   `field:"6,connected"`
	Disks     []Disk `field:"7,disk"`
}

// ServiceState is the state of a service, with the numbers of Windows.
type ServiceState int32

const (
	Stopped      ServiceState = 1
	StartPending ServiceState = 2
	StopPending  ServiceState = 3
	Running      ServiceState = 4
)

// Service is a Windows service of the node.
type Service struct {
	Name        string       `field:"1,name"`
	DisplayName string       `field:"2,display_name"`
	State       ServiceState `field:"4,state"`
}
