package volume

// ListVolumesOnDiskRequest asks for the volumes on a disk, or on one of its partitions.
type ListVolumesOnDiskRequest struct {
	DiskNumber uint32
	// 0 stands for all partitions.
	PartitionNumber uint32
}

// ListVolumesOnDiskResponse contains the volumes' ids.
type ListVolumesOnDiskResponse struct{ VolumeIDs []string }

// MountVolumeRequest asks for a mount of a volume at an empty directory.
type MountVolumeRequest struct {
	VolumeID   string
	TargetPath string
}

// MountVolumeResponse answers MountVolumeRequest.
type MountVolumeResponse struct{}

// IsVolumeFormattedRequest asks whether a volume has a file system.
type IsVolumeFormattedRequest struct{ VolumeID string }

// IsVolumeFormattedResponse answers IsVolumeFormattedRequest.
type IsVolumeFormattedResponse struct{ Formatted bool }

// FormatVolumeRequest asks for an NTFS file system on a volume.
type FormatVolumeRequest struct{ VolumeID string }

// FormatVolumeResponse answers FormatVolumeRequest.
type FormatVolumeResponse struct{}

// WriteVolumeCacheRequest asks for a flush of a volume.
type WriteVolumeCacheRequest struct{ VolumeID string }

// WriteVolumeCacheResponse answers WriteVolumeCacheRequest.
type WriteVolumeCacheResponse struct{}

// UnmountVolumeRequest asks for the end of a volume's mount at a path.
type UnmountVolumeRequest struct {
	VolumeID   string
	TargetPath string
}

// UnmountVolumeResponse answers UnmountVolumeRequest.
type UnmountVolumeResponse struct{}

// ResizeVolumeRequest asks for a larger volume.
type ResizeVolumeRequest struct {
	VolumeID string
	// 0 stands for the largest possible size.
	SizeBytes int64
}

// ResizeVolumeResponse answers ResizeVolumeRequest. The volume may have had the size already.
type ResizeVolumeResponse struct{}

// GetVolumeStatsRequest asks for the size and use of a volume.
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

// GetVolumeIDFromTargetPathRequest asks for the volume mounted at a path, after following links.
type GetVolumeIDFromTargetPathRequest struct{ TargetPath string }

// GetVolumeIDFromTargetPathResponse answers GetVolumeIDFromTargetPathRequest.
type GetVolumeIDFromTargetPathResponse struct{ VolumeID string }

// GetClosestVolumeIDFromTargetPathRequest asks for the volume that contains a path.
type GetClosestVolumeIDFromTargetPathRequest struct{ TargetPath string }

// GetClosestVolumeIDFromTargetPathResponse answers GetClosestVolumeIDFromTargetPathRequest.
type GetClosestVolumeIDFromTargetPathResponse struct{ VolumeID string }
