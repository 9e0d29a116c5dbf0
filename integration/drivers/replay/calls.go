package main

import (
	"context"
	"errors"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// clients are the four that drivers use. No call has a deadline: they pass context.Background().
type clients struct {
	files   filesystem.FilesystemClient
	disks   disk.DiskClient
	volumes volume.VolumeClient
	shares  smb.SmbClient
}

type diskClient interface {
	disk.DiskClient
	Close() error
}

var background = context.Background()

func (c *clients) pathExists(path string) (bool, error) {
	out, err := c.files.PathExists(background, &filesystem.PathExistsRequest{Path: path})
	return out.GetExists(), err
}

func (c *clients) isSymlink(path string) (bool, error) {
	out, err := c.files.IsSymlink(background, &filesystem.IsSymlinkRequest{Path: path})
	return out.GetIsSymlink(), err
}

func (c *clients) mkdir(path string) error {
	_, err := c.files.Mkdir(background, &filesystem.MkdirRequest{Path: path})
	return err
}

func (c *clients) rmdir(path string) error {
	_, err := c.files.Rmdir(background, &filesystem.RmdirRequest{Path: path, Force: true})
	return err
}

func (c *clients) createSymlink(source, target string) error {
	_, err := c.files.CreateSymlink(background, &filesystem.CreateSymlinkRequest{SourcePath: source, TargetPath: target})
	return err
}

func (c *clients) volumeAt(path string) (string, error) {
	out, err := c.volumes.GetVolumeIDFromTargetPath(background,
		&volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return out.GetVolumeId(), err
}

func (c *clients) diskOf(id string) (uint32, error) {
	out, err := c.volumes.GetDiskNumberFromVolumeID(background, &volume.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
	return out.GetDiskNumber(), err
}

func (c *clients) setOnline(number uint32, online bool) error {
	_, err := c.disks.SetDiskState(background, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
	return err
}

func (c *clients) diskSize(number uint32) (int64, error) {
	out, err := c.disks.GetDiskStats(background, &disk.GetDiskStatsRequest{DiskNumber: number})
	return out.GetTotalBytes(), err
}

func (c *clients) rescan() error {
	_, err := c.disks.Rescan(background, &disk.RescanRequest{})
	return err
}

func (c *clients) volumeStats(id string) (total, used int64, err error) {
	out, err := c.volumes.GetVolumeStats(background, &volume.GetVolumeStatsRequest{VolumeId: id})
	return out.GetTotalBytes(), out.GetUsedBytes(), err
}

// resize is to the maximum.
func (c *clients) resize(id string) error {
	_, err := c.volumes.ResizeVolume(background, &volume.ResizeVolumeRequest{VolumeId: id})
	return err
}

// formatAndMount is alike in aws-ebs, gcp-pd and vsphere.
func (c *clients) formatAndMount(number uint32, path string) error {
	if _, err := c.disks.PartitionDisk(background, &disk.PartitionDiskRequest{DiskNumber: number}); err != nil {
		return err
	}
	if err := c.setOnline(number, true); err != nil {
		return err
	}
	listed, err := c.volumes.ListVolumesOnDisk(background, &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil {
		return err
	}
	// The drivers do not look whether there is one.
	id := listed.VolumeIds[0]
	formatted, err := c.volumes.IsVolumeFormatted(background, &volume.IsVolumeFormattedRequest{VolumeId: id})
	if err != nil {
		return err
	}
	if !formatted.Formatted {
		if _, err := c.volumes.FormatVolume(background, &volume.FormatVolumeRequest{VolumeId: id}); err != nil {
			return err
		}
	}
	_, err = c.volumes.MountVolume(background, &volume.MountVolumeRequest{VolumeId: id, TargetPath: path})
	return err
}

// unmount likewise.
func (c *clients) unmount(path string) error {
	id, err := c.volumeAt(path)
	if err != nil {
		return err
	}
	if _, err := c.volumes.UnmountVolume(background, &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: path}); err != nil {
		return err
	}
	if err := c.rmdir(path); err != nil {
		return err
	}
	number, err := c.diskOf(id)
	if err != nil {
		return err
	}
	return c.setOnline(number, false)
}

// ready makes a call by each client.
func (c *clients) ready() error {
	_, err := c.pathExists(`c:\var\lib\kubelet`)
	if err == nil {
		err = c.rescan()
	}
	if err == nil {
		_, err = c.volumes.ListVolumesOnDisk(background, &volume.ListVolumesOnDiskRequest{})
	}
	if err == nil {
		// Whatever the answer is, it is one.
		_, err = c.shares.RemoveSmbGlobalMapping(background, &smb.RemoveSmbGlobalMappingRequest{RemotePath: `\\none\none`})
		if status.Code(err) != codes.Unavailable {
			err = nil
		}
	}
	return err
}

var errNoDisk = errors.New("no disk has the volume's id")
