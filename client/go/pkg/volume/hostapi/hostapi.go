// Package api is the interface between package volume and a node.
package api

import (
	"context"
	"regexp"

	volumev2 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// HostAPI is the part of a node that package volume uses.
type HostAPI interface {
	// ListVolumesOnDisk returns the ids of the volumes on a disk, or on one of its partitions.
	ListVolumesOnDisk(diskNumber uint32, partitionNumber uint32) (volumeIDs []string, err error)
	// MountVolume mounts a volume at an empty directory.
	MountVolume(volumeID, targetPath string) error
	// UnmountVolume flushes a volume and removes this mount. The directory stays.
	UnmountVolume(volumeID, targetPath string) error
	// IsVolumeFormatted reports whether a volume has a file system.
	IsVolumeFormatted(volumeID string) (bool, error)
	// FormatVolume creates an NTFS file system.
	FormatVolume(volumeID string) error
	// ResizeVolume grows a volume to a size, or with 0 to the largest possible size.
	ResizeVolume(volumeID string, sizeBytes int64) error
	// GetVolumeStats returns the total and the used bytes of a volume.
	GetVolumeStats(volumeID string) (int64, int64, error)
	// GetDiskNumberFromVolumeID returns the disk that a volume is on.
	GetDiskNumberFromVolumeID(volumeID string) (uint32, error)
	// GetVolumeIDFromTargetPath returns the volume that is mounted at a path.
	GetVolumeIDFromTargetPath(targetPath string) (string, error)
	// WriteVolumeCache flushes a volume.
	WriteVolumeCache(volumeID string) error
	// GetClosestVolumeIDFromTargetPath returns the volume that contains a path.
	GetClosestVolumeIDFromTargetPath(targetPath string) (string, error)
}

// VolumeRegexp matches the name of a volume, Volume{...}, in its id.
var VolumeRegexp = regexp.MustCompile(`Volume\{[\w-]*\}`)

type volumeAPI struct{ host host.Bound }

var _ HostAPI = &volumeAPI{}

// New returns the host API of the node of this process.
func New() HostAPI { return &volumeAPI{} }

// NewWithConn returns the host API of the node that conn leads to.
func NewWithConn(conn grpc.ClientConnInterface) HostAPI { return &volumeAPI{host.To(conn)} }

func (imp volumeAPI) WithContext(ctx context.Context) HostAPI { return &volumeAPI{imp.host.With(ctx)} }

func (imp volumeAPI) client() volumev2.VolumeClient { return volumev2.NewVolumeClient(imp.host.Conn()) }

func (imp volumeAPI) ListVolumesOnDisk(diskNumber uint32, partitionNumber uint32) (volumeIDs []string, err error) {
	request := &volumev2.ListVolumesOnDiskRequest{DiskNumber: diskNumber, PartitionNumber: partitionNumber}
	listed, err := imp.client().ListVolumesOnDisk(imp.host.Context(), request)
	return listed.GetVolumeIds(), host.Error(err)
}

func (imp volumeAPI) MountVolume(volumeID, targetPath string) error {
	request := &volumev2.MountVolumeRequest{VolumeId: volumeID, TargetPath: targetPath}
	return host.ErrorOf(imp.client().MountVolume(imp.host.Context(), request))
}

func (imp volumeAPI) UnmountVolume(volumeID, targetPath string) error {
	request := &volumev2.UnmountVolumeRequest{VolumeId: volumeID, TargetPath: targetPath}
	return host.ErrorOf(imp.client().UnmountVolume(imp.host.Context(), request))
}

func (imp volumeAPI) IsVolumeFormatted(volumeID string) (bool, error) {
	is, err := imp.client().IsVolumeFormatted(imp.host.Context(), &volumev2.IsVolumeFormattedRequest{VolumeId: volumeID})
	return is.GetFormatted(), host.Error(err)
}

func (imp volumeAPI) FormatVolume(volumeID string) error {
	return host.ErrorOf(imp.client().FormatVolume(imp.host.Context(), &volumev2.FormatVolumeRequest{VolumeId: volumeID}))
}

func (imp volumeAPI) ResizeVolume(volumeID string, sizeBytes int64) error {
	request := &volumev2.ResizeVolumeRequest{VolumeId: volumeID, SizeBytes: sizeBytes}
	return host.ErrorOf(imp.client().ResizeVolume(imp.host.Context(), request))
}

// GetVolumeStats returns the total and the used bytes of a volume; -1 and -1 with an error.
func (imp volumeAPI) GetVolumeStats(volumeID string) (total, used int64, err error) {
	stats, err := imp.client().GetVolumeStats(imp.host.Context(), &volumev2.GetVolumeStatsRequest{VolumeId: volumeID})
	if err != nil {
		return -1, -1, host.Error(err)
	}
	return stats.TotalBytes, stats.UsedBytes, nil
}

func (imp volumeAPI) GetDiskNumberFromVolumeID(volumeID string) (uint32, error) {
	request := &volumev2.GetDiskNumberFromVolumeIDRequest{VolumeId: volumeID}
	disk, err := imp.client().GetDiskNumberFromVolumeID(imp.host.Context(), request)
	return disk.GetDiskNumber(), host.Error(err)
}

func (imp volumeAPI) GetVolumeIDFromTargetPath(targetPath string) (string, error) {
	request := &volumev2.GetVolumeIDFromTargetPathRequest{TargetPath: targetPath}
	volume, err := imp.client().GetVolumeIDFromTargetPath(imp.host.Context(), request)
	return volume.GetVolumeId(), host.Error(err)
}

func (imp volumeAPI) WriteVolumeCache(volumeID string) error {
	return host.ErrorOf(imp.client().WriteVolumeCache(imp.host.Context(), &volumev2.WriteVolumeCacheRequest{VolumeId: volumeID}))
}

func (imp volumeAPI) GetClosestVolumeIDFromTargetPath(targetPath string) (string, error) {
	request := &volumev2.GetClosestVolumeIDFromTargetPathRequest{TargetPath: targetPath}
	volume, err := imp.client().GetClosestVolumeIDFromTargetPath(imp.host.Context(), request)
	return volume.GetVolumeId(), host.Error(err)
}
