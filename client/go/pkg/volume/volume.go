// Package volume formats, mounts and grows the volumes of a Windows node.
package volume

import (
	"context"

	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// Volume manages the volumes of a node.
type Volume struct {
	hostAPI volumeapi.HostAPI
}

// Interface is implemented by Volume.
type Interface interface {
	// ListVolumesOnDisk returns the ids of the volumes on a disk.
	ListVolumesOnDisk(context.Context, *ListVolumesOnDiskRequest) (*ListVolumesOnDiskResponse, error)
	// MountVolume mounts a volume at an empty directory. A repeated call succeeds.
	MountVolume(context.Context, *MountVolumeRequest) (*MountVolumeResponse, error)
	// UnmountVolume flushes a volume and removes this mount. The directory stays.
	UnmountVolume(context.Context, *UnmountVolumeRequest) (*UnmountVolumeResponse, error)
	// IsVolumeFormatted reports whether a volume has a file system.
	IsVolumeFormatted(context.Context, *IsVolumeFormattedRequest) (*IsVolumeFormattedResponse, error)
	// FormatVolume creates an NTFS file system.
	FormatVolume(context.Context, *FormatVolumeRequest) (*FormatVolumeResponse, error)
	// WriteVolumeCache flushes a volume.
	WriteVolumeCache(context.Context, *WriteVolumeCacheRequest) (*WriteVolumeCacheResponse, error)
	// ResizeVolume grows a volume.
	ResizeVolume(context.Context, *ResizeVolumeRequest) (*ResizeVolumeResponse, error)
	// GetVolumeStats returns the total and the used bytes of a volume.
	GetVolumeStats(context.Context, *GetVolumeStatsRequest) (*GetVolumeStatsResponse, error)
	// GetDiskNumberFromVolumeID returns the disk that a volume is on.
	GetDiskNumberFromVolumeID(context.Context, *GetDiskNumberFromVolumeIDRequest) (*GetDiskNumberFromVolumeIDResponse, error)
	// GetVolumeIDFromTargetPath returns the volume that is mounted at a path.
	GetVolumeIDFromTargetPath(context.Context, *GetVolumeIDFromTargetPathRequest) (*GetVolumeIDFromTargetPathResponse, error)
	// GetClosestVolumeIDFromTargetPath returns the volume that contains a path.
	GetClosestVolumeIDFromTargetPath(context.Context, *GetClosestVolumeIDFromTargetPathRequest) (*GetClosestVolumeIDFromTargetPathResponse, error)
}

var _ Interface = &Volume{}

// New returns a Volume on a host API. The error is always nil.
func New(hostAPI volumeapi.HostAPI) (*Volume, error) { return &Volume{hostAPI: hostAPI}, nil }

func (v *Volume) api(ctx context.Context) volumeapi.HostAPI { return host.Bind(ctx, v.hostAPI) }

// required returns an error naming the field if value is "".
func required(method, field, value string) error {
	if value == "" {
		return host.Invalid("%s: %s is empty", method, field)
	}
	return nil
}

func (v *Volume) ListVolumesOnDisk(ctx context.Context, request *ListVolumesOnDiskRequest) (*ListVolumesOnDiskResponse, error) {
	response := &ListVolumesOnDiskResponse{}
	if request == nil {
		return response, host.NoRequest("ListVolumesOnDisk")
	}
	ids, err := v.api(ctx).ListVolumesOnDisk(request.DiskNumber, request.PartitionNumber)
	response.VolumeIDs = ids
	return response, err
}

func (v *Volume) MountVolume(ctx context.Context, request *MountVolumeRequest) (*MountVolumeResponse, error) {
	response := &MountVolumeResponse{}
	if request == nil {
		return response, host.NoRequest("MountVolume")
	}
	if err := required("MountVolume", "VolumeID", request.VolumeID); err != nil {
		return response, err
	}
	if err := required("MountVolume", "TargetPath", request.TargetPath); err != nil {
		return response, err
	}
	return response, v.api(ctx).MountVolume(request.VolumeID, request.TargetPath)
}

func (v *Volume) UnmountVolume(ctx context.Context, request *UnmountVolumeRequest) (*UnmountVolumeResponse, error) {
	response := &UnmountVolumeResponse{}
	if request == nil {
		return response, host.NoRequest("UnmountVolume")
	}
	if err := required("UnmountVolume", "VolumeID", request.VolumeID); err != nil {
		return response, err
	}
	if err := required("UnmountVolume", "TargetPath", request.TargetPath); err != nil {
		return response, err
	}
	return response, v.api(ctx).UnmountVolume(request.VolumeID, request.TargetPath)
}

func (v *Volume) IsVolumeFormatted(ctx context.Context, request *IsVolumeFormattedRequest) (*IsVolumeFormattedResponse, error) {
	response := &IsVolumeFormattedResponse{}
	if request == nil {
		return response, host.NoRequest("IsVolumeFormatted")
	}
	if err := required("IsVolumeFormatted", "VolumeID", request.VolumeID); err != nil {
		return response, err
	}
	formatted, err := v.api(ctx).IsVolumeFormatted(request.VolumeID)
	response.Formatted = formatted
	return response, err
}

func (v *Volume) FormatVolume(ctx context.Context, request *FormatVolumeRequest) (*FormatVolumeResponse, error) {
	response := &FormatVolumeResponse{}
	if request == nil {
		return response, host.NoRequest("FormatVolume")
	}
	if err := required("FormatVolume", "VolumeID", request.VolumeID); err != nil {
		return response, err
	}
	return response, v.api(ctx).FormatVolume(request.VolumeID)
}

func (v *Volume) WriteVolumeCache(ctx context.Context, request *WriteVolumeCacheRequest) (*WriteVolumeCacheResponse, error) {
	response := &WriteVolumeCacheResponse{}
	if request == nil {
		return response, host.NoRequest("WriteVolumeCache")
	}
	if err := required("WriteVolumeCache", "VolumeID", request.VolumeID); err != nil {
		return response, err
	}
	return response, v.api(ctx).WriteVolumeCache(request.VolumeID)
}

func (v *Volume) ResizeVolume(ctx context.Context, request *ResizeVolumeRequest) (*ResizeVolumeResponse, error) {
	response := &ResizeVolumeResponse{}
	if request == nil {
		return response, host.NoRequest("ResizeVolume")
	}
	if err := required("ResizeVolume", "VolumeID", request.VolumeID); err != nil {
		return response, err
	}
	return response, v.api(ctx).ResizeVolume(request.VolumeID, request.SizeBytes)
}

func (v *Volume) GetVolumeStats(ctx context.Context, request *GetVolumeStatsRequest) (*GetVolumeStatsResponse, error) {
	if request == nil {
		return nil, host.NoRequest("GetVolumeStats")
	}
	if err := required("GetVolumeStats", "VolumeID", request.VolumeID); err != nil {
		return nil, err
	}
	total, used, err := v.api(ctx).GetVolumeStats(request.VolumeID)
	return host.OrNil(&GetVolumeStatsResponse{TotalBytes: total, UsedBytes: used}, err)
}

func (v *Volume) GetDiskNumberFromVolumeID(ctx context.Context, request *GetDiskNumberFromVolumeIDRequest) (*GetDiskNumberFromVolumeIDResponse, error) {
	if request == nil {
		return nil, host.NoRequest("GetDiskNumberFromVolumeID")
	}
	if err := required("GetDiskNumberFromVolumeID", "VolumeID", request.VolumeID); err != nil {
		return nil, err
	}
	number, err := v.api(ctx).GetDiskNumberFromVolumeID(request.VolumeID)
	return host.OrNil(&GetDiskNumberFromVolumeIDResponse{DiskNumber: number}, err)
}

func (v *Volume) GetVolumeIDFromTargetPath(ctx context.Context, request *GetVolumeIDFromTargetPathRequest) (*GetVolumeIDFromTargetPathResponse, error) {
	if request == nil {
		return nil, host.NoRequest("GetVolumeIDFromTargetPath")
	}
	if err := required("GetVolumeIDFromTargetPath", "TargetPath", request.TargetPath); err != nil {
		return nil, err
	}
	id, err := v.api(ctx).GetVolumeIDFromTargetPath(request.TargetPath)
	return host.OrNil(&GetVolumeIDFromTargetPathResponse{VolumeID: id}, err)
}

func (v *Volume) GetClosestVolumeIDFromTargetPath(ctx context.Context, request *GetClosestVolumeIDFromTargetPathRequest) (*GetClosestVolumeIDFromTargetPathResponse, error) {
	if request == nil {
		return nil, host.NoRequest("GetClosestVolumeIDFromTargetPath")
	}
	if err := required("GetClosestVolumeIDFromTargetPath", "TargetPath", request.TargetPath); err != nil {
		return nil, err
	}
	id, err := v.api(ctx).GetClosestVolumeIDFromTargetPath(request.TargetPath)
	return host.OrNil(&GetClosestVolumeIDFromTargetPathResponse{VolumeID: id}, err)
}
