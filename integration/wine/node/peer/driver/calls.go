package main

import (
	"errors"
	"fmt"
	"time"

	"csi-proxy.example/drivers/orders"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

func (m *mounter) PathExists(path string) (bool, error) {
	r, err := m.files.PathExists(background, &filesystem.PathExistsRequest{Path: path})
	if err != nil {
		return false, err
	}
	return r.Exists, nil
}

func (m *mounter) Mkdir(path string) error {
	_, err := m.files.Mkdir(background, &filesystem.MkdirRequest{Path: path})
	return err
}

func (m *mounter) Rmdir(path string) error {
	_, err := m.files.Rmdir(background, &filesystem.RmdirRequest{Path: path, Force: true})
	return err
}

func (m *mounter) CreateSymlink(source, target string) error {
	_, err := m.files.CreateSymlink(background, &filesystem.CreateSymlinkRequest{SourcePath: source, TargetPath: target})
	return err
}

func (m *mounter) IsSymlink(path string) (bool, error) {
	r, err := m.files.IsSymlink(background, &filesystem.IsSymlinkRequest{Path: path})
	if err != nil {
		return false, err
	}
	return r.IsSymlink, nil
}

func (m *mounter) GetVolumeIDFromTargetPath(path string) (string, error) {
	r, err := m.volumes.GetVolumeIDFromTargetPath(background, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	if err != nil {
		return "", err
	}
	return r.VolumeID, nil
}

func (m *mounter) GetDiskNumberFromVolumeID(id string) (uint32, error) {
	r, err := m.volumes.GetDiskNumberFromVolumeID(background, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: id})
	if err != nil {
		return 0, err
	}
	return r.DiskNumber, nil
}

func (m *mounter) GetDiskStats(number uint32) (int64, error) {
	r, err := m.disks.GetDiskStats(background, &disk.GetDiskStatsRequest{DiskNumber: number})
	if err != nil {
		return 0, err
	}
	return r.TotalBytes, nil
}

func (m *mounter) SetDiskState(number uint32, online bool) error {
	_, err := m.disks.SetDiskState(background, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
	return err
}

func (m *mounter) Rescan() error {
	_, err := m.disks.Rescan(background, &disk.RescanRequest{})
	return err
}

func (m *mounter) GetVolumeStats(id string) (total, used int64, err error) {
	r, err := m.volumes.GetVolumeStats(background, &volume.GetVolumeStatsRequest{VolumeID: id})
	if err != nil {
		return 0, 0, err
	}
	return r.TotalBytes, r.UsedBytes, nil
}

func (m *mounter) ResizeVolume(id string, size int64) error {
	_, err := m.volumes.ResizeVolume(background, &volume.ResizeVolumeRequest{VolumeID: id, SizeBytes: size})
	return err
}

func (m *mounter) ListDiskIDs() (map[uint32]orders.DiskIDs, error) {
	r, err := m.disks.ListDiskIDs(background, &disk.ListDiskIDsRequest{})
	if err != nil {
		return nil, err
	}
	found := map[uint32]orders.DiskIDs{}
	for number, ids := range r.DiskIDs {
		found[number] = orders.DiskIDs{Page83: ids.Page83, SerialNumber: ids.SerialNumber}
	}
	return found, nil
}

func (m *mounter) PartitionDisk(number uint32) error {
	_, err := m.disks.PartitionDisk(background, &disk.PartitionDiskRequest{DiskNumber: number})
	return wrapped("PartitionDisk", err)
}

// ListVolumesOnDisk repeats what Windows may not be ready for yet, as kubelet repeats a call.
func (m *mounter) ListVolumesOnDisk(number, partition uint32) ([]string, error) {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		r, err := m.volumes.ListVolumesOnDisk(background,
			&volume.ListVolumesOnDiskRequest{DiskNumber: number, PartitionNumber: partition})
		if err == nil && len(r.VolumeIDs) > 0 {
			return r.VolumeIDs, nil
		}
		if err == nil {
			err = errors.New("no volume")
		}
		if time.Now().After(end) {
			return nil, wrapped("ListVolumesOnDisk", err)
		}
	}
}

func (m *mounter) IsVolumeFormatted(id string) (bool, error) {
	r, err := m.volumes.IsVolumeFormatted(background, &volume.IsVolumeFormattedRequest{VolumeID: id})
	if err != nil {
		return false, wrapped("IsVolumeFormatted", err)
	}
	return r.Formatted, nil
}

func (m *mounter) FormatVolume(id string) error {
	_, err := m.volumes.FormatVolume(background, &volume.FormatVolumeRequest{VolumeID: id})
	return wrapped("FormatVolume", err)
}

func (m *mounter) MountVolume(id, path string) error {
	_, err := m.volumes.MountVolume(background, &volume.MountVolumeRequest{VolumeID: id, TargetPath: path})
	return wrapped("MountVolume", err)
}

func (m *mounter) UnmountVolume(id, path string) error {
	_, err := m.volumes.UnmountVolume(background, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: path})
	return wrapped("UnmountVolume", err)
}

func wrapped(method string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}
