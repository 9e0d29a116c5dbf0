package disk

// DiskLocation is where a disk is attached. Parts that Windows does not report are empty.
type DiskLocation struct {
	Adapter string
	Bus     string
	Target  string
	LUNID   string
}

// ListDiskLocationsRequest asks for the locations of all disks.
type ListDiskLocationsRequest struct{}

// ListDiskLocationsResponse contains the locations, by disk number.
type ListDiskLocationsResponse struct{ DiskLocations map[uint32]*DiskLocation }

// PartitionDiskRequest asks for a data partition on a disk.
type PartitionDiskRequest struct{ DiskNumber uint32 }

// PartitionDiskResponse answers PartitionDiskRequest.
type PartitionDiskResponse struct{}

// RescanRequest asks Windows to look for new and changed disks.
type RescanRequest struct{}

// RescanResponse answers RescanRequest.
type RescanResponse struct{}

// DiskIDs are the identifiers of a disk.
type DiskIDs struct {
	// The page 83 identifier of the disk's inquiry data.
	Page83 string
	// The serial number as the disk reports it.
	SerialNumber string
}

// ListDiskIDsRequest asks for the identifiers of all disks.
type ListDiskIDsRequest struct{}

// ListDiskIDsResponse contains the identifiers, by disk number.
type ListDiskIDsResponse struct{ DiskIDs map[uint32]*DiskIDs }

// GetDiskStatsRequest asks for a disk's size.
type GetDiskStatsRequest struct{ DiskNumber uint32 }

// GetDiskStatsResponse answers GetDiskStatsRequest.
type GetDiskStatsResponse struct{ TotalBytes int64 }

// SetDiskStateRequest asks for a disk to be online or offline.
type SetDiskStateRequest struct {
	DiskNumber uint32
	IsOnline   bool
}

// SetDiskStateResponse answers SetDiskStateRequest.
type SetDiskStateResponse struct{}

// GetDiskStateRequest asks whether a disk is online.
type GetDiskStateRequest struct{ DiskNumber uint32 }

// GetDiskStateResponse answers GetDiskStateRequest.
type GetDiskStateResponse struct{ IsOnline bool }

// SetDiskReadOnlyRequest asks to set or clear a disk's read-only attribute.
type SetDiskReadOnlyRequest struct {
	DiskNumber uint32
	IsReadOnly bool
}

// SetDiskReadOnlyResponse answers SetDiskReadOnlyRequest.
type SetDiskReadOnlyResponse struct{}

// GetDiskReadOnlyRequest asks for a disk's read-only attribute.
type GetDiskReadOnlyRequest struct{ DiskNumber uint32 }

// GetDiskReadOnlyResponse answers GetDiskReadOnlyRequest.
type GetDiskReadOnlyResponse struct{ IsReadOnly bool }
