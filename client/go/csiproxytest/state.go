package csiproxytest

// The messages of server/simulator/node.proto, as far as tests look at them. The tags are
// those of the fields there.

// State is all that a simulated node is, as [Node.State] returns it.
type State struct {
	BIOSSerialNumber string        `field:"1,bios_serial_number"`
	Disks            []Disk        `field:"3,disk"`
	SMBServers       []SMBServer   `field:"4,smb_server"`
	SMBMappings      []SMBMapping  `field:"5,smb_mapping"`
	ISCSIPortals     []ISCSIPortal `field:"6,iscsi_portal"`
	Services         []Service     `field:"8,service"`
}

// PartitionStyle is what kind of partition table a disk has.
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
	// GrownSizeBytes is what the hardware has grown to, and Windows has yet to notice; else 0.
	GrownSizeBytes uint64 `field:"3,grown_size_bytes"`
	// Location is as Windows spells it: `Integrated : Adapter 0 : Port 0 : Target 1 : LUN 0`.
	Location     string         `field:"4,location"`
	Page83       string         `field:"5,page83"`
	SerialNumber string         `field:"7,serial_number"`
	Style        PartitionStyle `field:"8,style"`
	Offline      bool           `field:"9,offline"`
	ReadOnly     bool           `field:"10,read_only"`
	// AwaitsRescan is true of a disk that Windows does not show before a rescan.
	AwaitsRescan bool        `field:"11,awaits_rescan"`
	Partitions   []Partition `field:"12,partition"`
}

// PartitionType is what a partition is for.
type PartitionType int32

const (
	Basic             PartitionType = 0
	MicrosoftReserved PartitionType = 1
	EFISystem         PartitionType = 2
)

// Partition is a part of a disk.
type Partition struct {
	Number      uint32        `field:"1,number"`
	Type        PartitionType `field:"2,type"`
	OffsetBytes uint64        `field:"3,offset_bytes"`
	SizeBytes   uint64        `field:"4,size_bytes"`
	// Volume is nil where there is none, as in a reserved partition.
	Volume *Volume `field:"5,volume"`
}

// Volume is what a partition holds.
type Volume struct {
	// ID is `\\?\Volume{guid}\`.
	ID string `field:"1,id"`
	// FileSystem is `NTFS`, `ReFS`, `FAT32` or `exFAT`; empty while it is not formatted.
	FileSystem  string `field:"2,file_system"`
	DriveLetter string `field:"3,drive_letter"`
	Files       []File `field:"4,file"`
}

// FileKind is what stands at a path.
type FileKind int32

const (
	Directory   FileKind = 0
	RegularFile FileKind = 1
	// Link is a symbolic link of a directory.
	Link FileKind = 2
	// Junction is what `mklink /J` makes.
	Junction FileKind = 3
)

// File is an entry of a volume or of a share. Directories that have entries may be left out.
type File struct {
	// Path is from the root of the volume or share: `var\lib\kubelet`.
	Path      string   `field:"1,path"`
	Kind      FileKind `field:"2,kind"`
	SizeBytes uint64   `field:"3,size_bytes"`
	ReadOnly  bool     `field:"4,read_only"`
	// Target is where a link or a junction leads.
	Target string `field:"5,target"`
	// MountedVolumeID is, of a directory, the volume that is mounted there.
	MountedVolumeID string `field:"6,mounted_volume_id"`
	// Dangling is true where the mounted volume is gone, as after its disk was pulled out.
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
	// Broken is true of one that cannot be read.
	Broken bool `field:"3,broken"`
}

// ISCSIPortal is a portal that the node can reach.
type ISCSIPortal struct {
	Address     string `field:"1,address"`
	Port        uint32 `field:"2,port"`
	Unreachable bool   `field:"3,unreachable"`
	// Registered is true of one that the node's initiator knows.
	Registered bool          `field:"4,registered"`
	Targets    []ISCSITarget `field:"5,target"`
}

// ISCSITarget is a target behind a portal. Its disks are the node's while it is connected.
type ISCSITarget struct {
	IQN       string `field:"1,iqn"`
	Connected bool   `field:"6,connected"`
	Disks     []Disk `field:"7,disk"`
}

// ServiceState is what a service does, by the numbers of Windows.
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
