package volume

// ListVolumesOnDiskRequest asks for the volumes of a disk, or of one of its partitions.
type ListVolumesOnDiskRequest struct {
	DiskNumber uint32
	// 0 is every partition.
	PartitionNumber uint32
}

// ListVolumesOnDiskResponse has their ids.
type ListVolumesOnDiskResponse struct{ VolumeIDs []string }

// MountVolumeRequest asks that a volume is mounted at an empty directory.
type MountVolumeRequest struct {
	VolumeID   string
	TargetPath string
}

// MountVolumeResponse says that it is.
type MountVolumeResponse struct{}

// IsVolumeFormattedRequest asks whether a volume has a file system.
type IsVolumeFormattedRequest struct{ VolumeID string }

// IsVolumeFormattedResponse answers IsVolumeFormattedRequest.
type IsVolumeFormattedResponse struct{ Formatted bool }

// FormatVolumeRequest asks for an NTFS file system on a volume.
type FormatVolumeRequest struct{ VolumeID string }

// FormatVolumeResponse says that it is there.
type FormatVolumeResponse struct{}

// WriteVolumeCacheRequest asks that what is not written to a volume yet is.
type WriteVolumeCacheRequest struct{ VolumeID string }

// WriteVolumeCacheResponse says that it is.
type WriteVolumeCacheResponse struct{}

// UnmountVolumeRequest asks that a volume is no longer mounted at a path.
type UnmountVolumeRequest struct {
	VolumeID   string
	TargetPath string
}

// UnmountVolumeResponse says that it is not.
type UnmountVolumeResponse struct{}

// ResizeVolumeRequest asks that a volume grows.
type ResizeVolumeRequest struct {
	VolumeID string
	// 0 is as far as it can grow.
	SizeBytes int64
}

// ResizeVolumeResponse says that it has grown, or was as large already.
type ResizeVolumeResponse struct{}

// GetVolumeStatsRequest asks how full a volume is.
type GetVolumeStatsRequest struct{ VolumeID string }

// GetVolumeStatsResponse answers GetVolumeStatsRequest.
type GetVolumeStatsResponse struct {
	TotalBytes int64
	UsedBytes  int64
}

// GetDiskNumberFromVolumeIDRequest asks which disk a volume is on.
type GetDiskNumberFromVolumeIDRequest struct{ VolumeID string }

// GetDiskNumberFromVolumeIDResponse answers GetDiskNumberFromVolumeIDRequest.
type GetDiskNumberFromVolumeIDResponse struct{ DiskNumber uint32 }

// GetVolumeIDFromTargetPathRequest asks which volume is mounted at a path, itself or at the end of links.
type GetVolumeIDFromTargetPathRequest struct{ TargetPath string }

// GetVolumeIDFromTargetPathResponse answers GetVolumeIDFromTargetPathRequest.
type GetVolumeIDFromTargetPathResponse struct{ VolumeID string }

// GetClosestVolumeIDFromTargetPathRequest asks which volume a path is on.
type GetClosestVolumeIDFromTargetPathRequest struct{ TargetPath string }

// GetClosestVolumeIDFromTargetPathResponse answers GetClosestVolumeIDFromTargetPathRequest.
type GetClosestVolumeIDFromTargetPathResponse struct{ VolumeID string }
