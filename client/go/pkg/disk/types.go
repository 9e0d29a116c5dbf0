package disk

// DiskLocation is where a disk is attached. Parts that Windows does not tell are empty.
type DiskLocation struct {
	Adapter string
	Bus     string
	Target  string
	LUNID   string
}

// ListDiskLocationsRequest asks where disks are attached.
type ListDiskLocationsRequest struct{}

// ListDiskLocationsResponse has the locations by the disks' numbers.
type ListDiskLocationsResponse struct{ DiskLocations map[uint32]*DiskLocation }

// PartitionDiskRequest asks for a data partition on a disk.
type PartitionDiskRequest struct{ DiskNumber uint32 }

// PartitionDiskResponse says that there is one.
type PartitionDiskResponse struct{}

// RescanRequest asks Windows to look for disks again.
type RescanRequest struct{}

// RescanResponse says that it has.
type RescanResponse struct{}

// DiskIDs is how a disk is known.
type DiskIDs struct {
	// The identifier of page 83 of its inquiry data.
	Page83 string
	// The serial number, as the disk writes it.
	SerialNumber string
}

// ListDiskIDsRequest asks how disks are known.
type ListDiskIDsRequest struct{}

// ListDiskIDsResponse has the identifiers by the disks' numbers.
type ListDiskIDsResponse struct{ DiskIDs map[uint32]*DiskIDs }

// GetDiskStatsRequest asks for a disk's size.
type GetDiskStatsRequest struct{ DiskNumber uint32 }

// GetDiskStatsResponse has it.
type GetDiskStatsResponse struct{ TotalBytes int64 }

// SetDiskStateRequest asks that a disk is online, or offline.
type SetDiskStateRequest struct {
	DiskNumber uint32
	IsOnline   bool
}

// SetDiskStateResponse says that it is.
type SetDiskStateResponse struct{}

// GetDiskStateRequest asks whether a disk is online.
type GetDiskStateRequest struct{ DiskNumber uint32 }

// GetDiskStateResponse answers GetDiskStateRequest.
type GetDiskStateResponse struct{ IsOnline bool }
