// Package api is the interface between package disk and a node.
package api

import (
	"context"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	storagev1alpha1 "github.com/kubernetes-csi/csi-proxy/v2/api/storage/v1alpha1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// Control codes of Windows for a disk's device.
const (
	IOCTL_STORAGE_GET_DEVICE_NUMBER = 0x2D1080
	IOCTL_STORAGE_QUERY_PROPERTY    = 0x002d1400
)

// HostAPI is the part of a node that package disk uses.
type HostAPI interface {
	// ListDiskLocations returns the locations of all disks, by disk number.
	ListDiskLocations() (map[uint32]DiskLocation, error)
	// IsDiskInitialized reports whether a disk has a partition table.
	IsDiskInitialized(diskNumber uint32) (bool, error)
	// InitializeDisk writes a GPT to a disk.
	InitializeDisk(diskNumber uint32) error
	// BasicPartitionsExist reports whether a disk has a data partition.
	BasicPartitionsExist(diskNumber uint32) (bool, error)
	// CreateBasicPartition makes a data partition of a disk's free space.
	CreateBasicPartition(diskNumber uint32) error
	// Rescan makes Windows look for new and changed disks.
	Rescan() error
	// ListDiskIDs returns the identifiers of all disks, by disk number.
	ListDiskIDs() (map[uint32]DiskIDs, error)
	// GetDiskStats returns a disk's size in bytes.
	GetDiskStats(diskNumber uint32) (int64, error)
	// SetDiskState brings a disk online or takes it offline.
	SetDiskState(diskNumber uint32, isOnline bool) error
	// GetDiskState reports whether a disk is online.
	GetDiskState(diskNumber uint32) (bool, error)
	// SetDiskReadOnly sets or clears a disk's read-only attribute.
	SetDiskReadOnly(diskNumber uint32, isReadOnly bool) error
	// GetDiskReadOnly returns a disk's read-only attribute.
	GetDiskReadOnly(diskNumber uint32) (bool, error)
}

// DiskAPI is the HostAPI of a node. Its zero value is for the node of this process.
type DiskAPI struct{ host host.Bound }

var _ HostAPI = &DiskAPI{}

// New returns the host API of the node of this process.
func New() DiskAPI { return DiskAPI{} }

// NewWithConn returns the host API of the node that conn leads to.
func NewWithConn(conn grpc.ClientConnInterface) DiskAPI { return DiskAPI{host.To(conn)} }

// WithContext returns the host API with ctx as the context of its calls.
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

// IsDiskInitialized is not supported, because PartitionDisk checks and acts in one step.
func (imp DiskAPI) IsDiskInitialized(diskNumber uint32) (bool, error) {
	return false, host.Unsupported("IsDiskInitialized by itself", partitionInstead)
}

// InitializeDisk is not supported, because PartitionDisk checks and acts in one step.
func (imp DiskAPI) InitializeDisk(diskNumber uint32) error {
	return host.Unsupported("InitializeDisk by itself", partitionInstead)
}

// BasicPartitionsExist is not supported, because PartitionDisk checks and acts in one step.
func (imp DiskAPI) BasicPartitionsExist(diskNumber uint32) (bool, error) {
	return false, host.Unsupported("BasicPartitionsExist by itself", partitionInstead)
}

// CreateBasicPartition is not supported, because PartitionDisk checks and acts in one step.
func (imp DiskAPI) CreateBasicPartition(diskNumber uint32) error {
	return host.Unsupported("CreateBasicPartition by itself", partitionInstead)
}

// PartitionDisk gives a disk a GPT and a data partition, unless it has them. No other call can
// change the disk in between.
func (imp DiskAPI) PartitionDisk(diskNumber uint32) error {
	return host.ErrorOf(imp.client().PartitionDisk(imp.host.Context(), &diskv1.PartitionDiskRequest{DiskNumber: diskNumber}))
}

func (imp DiskAPI) Rescan() error {
	return host.ErrorOf(imp.client().Rescan(imp.host.Context(), &diskv1.RescanRequest{}))
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

// GetDiskNumberWithID returns the number of the disk with that page 83 identifier.
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

// page83 returns the page 83 identifier of a disk, or "" if it has none.
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
	return host.ErrorOf(imp.client().SetDiskState(imp.host.Context(), request))
}

func (imp DiskAPI) GetDiskState(diskNumber uint32) (bool, error) {
	state, err := imp.client().GetDiskState(imp.host.Context(), &diskv1.GetDiskStateRequest{DiskNumber: diskNumber})
	return state.GetIsOnline(), host.Error(err)
}

func (imp DiskAPI) storage() storagev1alpha1.StorageClient {
	return storagev1alpha1.NewStorageClient(imp.host.Conn())
}

func (imp DiskAPI) SetDiskReadOnly(diskNumber uint32, isReadOnly bool) error {
	request := &storagev1alpha1.SetDiskReadOnlyRequest{DiskNumber: diskNumber, ReadOnly: isReadOnly}
	return host.ErrorOf(imp.storage().SetDiskReadOnly(imp.host.Context(), request))
}

func (imp DiskAPI) GetDiskReadOnly(diskNumber uint32) (bool, error) {
	listed, err := imp.storage().ListDisks(imp.host.Context(), &storagev1alpha1.ListDisksRequest{})
	if err != nil {
		return false, host.Error(err)
	}
	for _, disk := range listed.Disks {
		if disk.Number == diskNumber {
			return disk.IsReadOnly, nil
		}
	}
	return false, host.Errorf(codes.NotFound, "there is no disk %d", diskNumber)
}
