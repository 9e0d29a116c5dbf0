// Package api is the node's disks, as package disk asks for them.
package api

import (
	"context"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// Control codes of Windows for a disk's device.
const (
	IOCTL_STORAGE_GET_DEVICE_NUMBER = 0x2D1080
	IOCTL_STORAGE_QUERY_PROPERTY    = 0x002d1400
)

// HostAPI is what package disk needs of a node.
type HostAPI interface {
	// ListDiskLocations tells by a disk's number where it is attached.
	ListDiskLocations() (map[uint32]DiskLocation, error)
	// IsDiskInitialized tells whether a disk has a partition table.
	IsDiskInitialized(diskNumber uint32) (bool, error)
	// InitializeDisk writes a GPT to a disk.
	InitializeDisk(diskNumber uint32) error
	// BasicPartitionsExist tells whether a disk has a data partition.
	BasicPartitionsExist(diskNumber uint32) (bool, error)
	// CreateBasicPartition makes a data partition of what is free on a disk.
	CreateBasicPartition(diskNumber uint32) error
	// Rescan has Windows look for disks again.
	Rescan() error
	// ListDiskIDs tells by a disk's number how it is known.
	ListDiskIDs() (map[uint32]DiskIDs, error)
	// GetDiskStats returns a disk's size in bytes.
	GetDiskStats(diskNumber uint32) (int64, error)
	// SetDiskState takes a disk online or offline.
	SetDiskState(diskNumber uint32, isOnline bool) error
	// GetDiskState tells whether a disk is online.
	GetDiskState(diskNumber uint32) (bool, error)
}

// DiskAPI is the HostAPI of a node. The zero value is that of the node of this process.
type DiskAPI struct{ host host.Bound }

var _ HostAPI = &DiskAPI{}

// New returns the disks of the node of this process.
func New() DiskAPI { return DiskAPI{} }

// NewWithConn returns the disks of the node at the other end of a connection.
func NewWithConn(conn grpc.ClientConnInterface) DiskAPI { return DiskAPI{host.To(conn)} }

// WithContext returns the same disks, with calls that end with ctx.
func (imp DiskAPI) WithContext(ctx context.Context) HostAPI { return DiskAPI{imp.host.With(ctx)} }

func (imp DiskAPI) client() diskv1.DiskClient { return diskv1.NewDiskClient(imp.host.Conn()) }

func (imp DiskAPI) ListDiskLocations() (map[uint32]DiskLocation, error) {
	listed, err := imp.client().ListDiskLocations(imp.host.Context(), &diskv1.ListDiskLocationsRequest{})
	if err != nil {
		return nil, host.Error(err)
	}
	locations := make(map[uint32]DiskLocation, len(listed.DiskLocations))
	for number, at := range listed.DiskLocations {
		locations[number] = DiskLocation{Adapter: at.Adapter, Bus: at.Bus, Target: at.Target, LUNID: at.LUNID}
	}
	return locations, nil
}

const partitionInstead = "PartitionDisk does it all, once and safely"

// IsDiskInitialized is not supported: the node decides and acts in one step, PartitionDisk.
func (imp DiskAPI) IsDiskInitialized(diskNumber uint32) (bool, error) {
	return false, host.Unsupported("IsDiskInitialized by itself", partitionInstead)
}

// InitializeDisk is not supported: the node decides and acts in one step, PartitionDisk.
func (imp DiskAPI) InitializeDisk(diskNumber uint32) error {
	return host.Unsupported("InitializeDisk by itself", partitionInstead)
}

// BasicPartitionsExist is not supported: the node decides and acts in one step, PartitionDisk.
func (imp DiskAPI) BasicPartitionsExist(diskNumber uint32) (bool, error) {
	return false, host.Unsupported("BasicPartitionsExist by itself", partitionInstead)
}

// CreateBasicPartition is not supported: the node decides and acts in one step, PartitionDisk.
func (imp DiskAPI) CreateBasicPartition(diskNumber uint32) error {
	return host.Unsupported("CreateBasicPartition by itself", partitionInstead)
}

// PartitionDisk gives a disk a partition table and a data partition where it lacks them, while
// nobody else changes the disk.
func (imp DiskAPI) PartitionDisk(diskNumber uint32) error {
	_, err := imp.client().PartitionDisk(imp.host.Context(), &diskv1.PartitionDiskRequest{DiskNumber: diskNumber})
	return host.Error(err)
}

func (imp DiskAPI) Rescan() error {
	_, err := imp.client().Rescan(imp.host.Context(), &diskv1.RescanRequest{})
	return host.Error(err)
}

func (imp DiskAPI) ListDiskIDs() (map[uint32]DiskIDs, error) {
	listed, err := imp.client().ListDiskIDs(imp.host.Context(), &diskv1.ListDiskIDsRequest{})
	if err != nil {
		return nil, host.Error(err)
	}
	ids := make(map[uint32]DiskIDs, len(listed.DiskIDs))
	for number, id := range listed.DiskIDs {
		ids[number] = DiskIDs{Page83: id.Page83, SerialNumber: id.SerialNumber}
	}
	return ids, nil
}

// GetDiskNumberWithID returns the number of the disk that page 83 of its inquiry data names so.
func (imp DiskAPI) GetDiskNumberWithID(page83ID string) (uint32, error) {
	ids, err := imp.ListDiskIDs()
	if err != nil {
		return 0, err
	}
	for number, id := range ids {
		if id.Page83 == page83ID {
			return number, nil
		}
	}
	return 0, host.Errorf(codes.NotFound, "no disk has the page 83 id %q", page83ID)
}

// page83 returns how page 83 names a disk; one that has no such name has an empty one.
func (imp DiskAPI) page83(diskNumber uint32) (string, error) {
	ids, err := imp.ListDiskIDs()
	if err != nil {
		return "", err
	}
	id, known := ids[diskNumber]
	if !known {
		return "", host.Errorf(codes.NotFound, "there is no disk %d", diskNumber)
	}
	return id.Page83, nil
}

// GetDiskStats returns a disk's size in bytes, and -1 with an error.
func (imp DiskAPI) GetDiskStats(diskNumber uint32) (int64, error) {
	stats, err := imp.client().GetDiskStats(imp.host.Context(), &diskv1.GetDiskStatsRequest{DiskNumber: diskNumber})
	if err != nil {
		return -1, host.Error(err)
	}
	return stats.TotalBytes, nil
}

func (imp DiskAPI) SetDiskState(diskNumber uint32, isOnline bool) error {
	request := &diskv1.SetDiskStateRequest{DiskNumber: diskNumber, IsOnline: isOnline}
	_, err := imp.client().SetDiskState(imp.host.Context(), request)
	return host.Error(err)
}

func (imp DiskAPI) GetDiskState(diskNumber uint32) (bool, error) {
	state, err := imp.client().GetDiskState(imp.host.Context(), &diskv1.GetDiskStateRequest{DiskNumber: diskNumber})
	if err != nil {
		return false, host.Error(err)
	}
	return state.IsOnline, nil
}
