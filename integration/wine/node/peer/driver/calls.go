package main

import (
	"errors"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

func (m *mounter) pathExists(path string) (bool, error) {
	r, err := m.files.PathExists(background, &filesystem.PathExistsRequest{Path: path})
	if err != nil {
		return false, err
	}
	return r.Exists, nil
}

func (m *mounter) mkdir(path string) error {
	_, err := m.files.Mkdir(background, &filesystem.MkdirRequest{Path: path})
	return err
}

func (m *mounter) rmdir(path string) error {
	_, err := m.files.Rmdir(background, &filesystem.RmdirRequest{Path: path, Force: true})
	return err
}

func (m *mounter) createSymlink(source, target string) error {
	_, err := m.files.CreateSymlink(background, &filesystem.CreateSymlinkRequest{SourcePath: source, TargetPath: target})
	return err
}

func (m *mounter) isSymlink(path string) (bool, error) {
	r, err := m.files.IsSymlink(background, &filesystem.IsSymlinkRequest{Path: path})
	if err != nil {
		return false, err
	}
	return r.IsSymlink, nil
}

func (m *mounter) volumeAt(path string) (string, error) {
	r, err := m.volumes.GetVolumeIDFromTargetPath(background, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	if err != nil {
		return "", err
	}
	return r.VolumeID, nil
}

func (m *mounter) diskOf(id string) (uint32, error) {
	r, err := m.volumes.GetDiskNumberFromVolumeID(background, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: id})
	if err != nil {
		return 0, err
	}
	return r.DiskNumber, nil
}

func (m *mounter) diskSize(number uint32) (int64, error) {
	r, err := m.disks.GetDiskStats(background, &disk.GetDiskStatsRequest{DiskNumber: number})
	if err != nil {
		return 0, err
	}
	return r.TotalBytes, nil
}

func (m *mounter) setOnline(number uint32, online bool) error {
	_, err := m.disks.SetDiskState(background, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
	return err
}

func (m *mounter) rescan() error {
	_, err := m.disks.Rescan(background, &disk.RescanRequest{})
	return err
}

func (m *mounter) volumeStats(id string) (total, used int64, err error) {
	r, err := m.volumes.GetVolumeStats(background, &volume.GetVolumeStatsRequest{VolumeID: id})
	if err != nil {
		return 0, 0, err
	}
	return r.TotalBytes, r.UsedBytes, nil
}

func (m *mounter) resize(id string) error {
	_, err := m.volumes.ResizeVolume(background, &volume.ResizeVolumeRequest{VolumeID: id})
	return err
}

// formatAndMount is FormatAndMount of both drivers.
func (m *mounter) formatAndMount(number uint32, path string) error {
	if _, err := m.disks.PartitionDisk(background, &disk.PartitionDiskRequest{DiskNumber: number}); err != nil {
		return fmt.Errorf("PartitionDisk: %w", err)
	}
	if err := m.setOnline(number, true); err != nil {
		return fmt.Errorf("SetDiskState: %w", err)
	}
	var id string
	err := eventually(func() error {
		r, err := m.volumes.ListVolumesOnDisk(background, &volume.ListVolumesOnDiskRequest{DiskNumber: number})
		if err == nil && len(r.VolumeIDs) == 0 {
			err = errors.New("no volume")
		}
		if err == nil {
			id = r.VolumeIDs[0]
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("ListVolumesOnDisk: %w", err)
	}
	formatted, err := m.volumes.IsVolumeFormatted(background, &volume.IsVolumeFormattedRequest{VolumeID: id})
	if err != nil {
		return fmt.Errorf("IsVolumeFormatted: %w", err)
	}
	if !formatted.Formatted {
		if _, err := m.volumes.FormatVolume(background, &volume.FormatVolumeRequest{VolumeID: id}); err != nil {
			return fmt.Errorf("FormatVolume: %w", err)
		}
	}
	if _, err := m.volumes.MountVolume(background, &volume.MountVolumeRequest{VolumeID: id, TargetPath: path}); err != nil {
		return fmt.Errorf("MountVolume: %w", err)
	}
	return nil
}

// unmount is Unmount of both drivers.
func (m *mounter) unmount(path string) error {
	id, err := m.volumeAt(path)
	if err != nil {
		return fmt.Errorf("GetVolumeIDFromTargetPath: %w", err)
	}
	if _, err := m.volumes.UnmountVolume(background, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: path}); err != nil {
		return fmt.Errorf("UnmountVolume: %w", err)
	}
	if err := m.rmdir(path); err != nil {
		return fmt.Errorf("Rmdir: %w", err)
	}
	number, err := m.diskOf(id)
	if err != nil {
		return fmt.Errorf("GetDiskNumberFromVolumeID: %w", err)
	}
	return m.setOnline(number, false)
}
