package main

import (
	"context"

	"csi-proxy.example/drivers/orders"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// clients are the four clients that drivers use. Like the drivers, calls pass context.Background(), without a
// deadline.
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

func (c *clients) PathExists(path string) (bool, error) {
	out, err := c.files.PathExists(background, &filesystem.PathExistsRequest{Path: path})
	return out.GetExists(), err
}

func (c *clients) IsSymlink(path string) (bool, error) {
	out, err := c.files.IsSymlink(background, &filesystem.IsSymlinkRequest{Path: path})
	return out.GetIsSymlink(), err
}

func (c *clients) Mkdir(path string) error {
	_, err := c.files.Mkdir(background, &filesystem.MkdirRequest{Path: path})
	return err
}

func (c *clients) Rmdir(path string) error {
	_, err := c.files.Rmdir(background, &filesystem.RmdirRequest{Path: path, Force: true})
	return err
}

func (c *clients) CreateSymlink(source, target string) error {
	_, err := c.files.CreateSymlink(background, &filesystem.CreateSymlinkRequest{SourcePath: source, TargetPath: target})
	return err
}

func (c *clients) GetVolumeIDFromTargetPath(path string) (string, error) {
	out, err := c.volumes.GetVolumeIDFromTargetPath(background,
		&volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return out.GetVolumeId(), err
}

func (c *clients) GetDiskNumberFromVolumeID(id string) (uint32, error) {
	out, err := c.volumes.GetDiskNumberFromVolumeID(background, &volume.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
	return out.GetDiskNumber(), err
}

func (c *clients) SetDiskState(number uint32, online bool) error {
	_, err := c.disks.SetDiskState(background, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
	return err
}

func (c *clients) GetDiskStats(number uint32) (int64, error) {
	out, err := c.disks.GetDiskStats(background, &disk.GetDiskStatsRequest{DiskNumber: number})
	return out.GetTotalBytes(), err
}

func (c *clients) Rescan() error {
	_, err := c.disks.Rescan(background, &disk.RescanRequest{})
	return err
}

func (c *clients) GetVolumeStats(id string) (total, used int64, err error) {
	out, err := c.volumes.GetVolumeStats(background, &volume.GetVolumeStatsRequest{VolumeId: id})
	return out.GetTotalBytes(), out.GetUsedBytes(), err
}

func (c *clients) ResizeVolume(id string, size int64) error {
	_, err := c.volumes.ResizeVolume(background, &volume.ResizeVolumeRequest{VolumeId: id, SizeBytes: size})
	return err
}

func (c *clients) ListDiskIDs() (map[uint32]orders.DiskIDs, error) { return listDiskIDs(c.disks) }

func listDiskIDs(client disk.DiskClient) (map[uint32]orders.DiskIDs, error) {
	out, err := client.ListDiskIDs(background, &disk.ListDiskIDsRequest{})
	found := map[uint32]orders.DiskIDs{}
	for number, ids := range out.GetDiskIDs() {
		found[number] = orders.DiskIDs{Page83: ids.Page83, SerialNumber: ids.SerialNumber}
	}
	return found, err
}

func (c *clients) PartitionDisk(number uint32) error {
	_, err := c.disks.PartitionDisk(background, &disk.PartitionDiskRequest{DiskNumber: number})
	return err
}

func (c *clients) ListVolumesOnDisk(number, partition uint32) ([]string, error) {
	out, err := c.volumes.ListVolumesOnDisk(background,
		&volume.ListVolumesOnDiskRequest{DiskNumber: number, PartitionNumber: partition})
	return out.GetVolumeIds(), err
}

func (c *clients) IsVolumeFormatted(id string) (bool, error) {
	out, err := c.volumes.IsVolumeFormatted(background, &volume.IsVolumeFormattedRequest{VolumeId: id})
	return out.GetFormatted(), err
}

func (c *clients) FormatVolume(id string) error {
	_, err := c.volumes.FormatVolume(background, &volume.FormatVolumeRequest{VolumeId: id})
	return err
}

func (c *clients) MountVolume(id, path string) error {
	_, err := c.volumes.MountVolume(background, &volume.MountVolumeRequest{VolumeId: id, TargetPath: path})
	return err
}

func (c *clients) UnmountVolume(id, path string) error {
	_, err := c.volumes.UnmountVolume(background, &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: path})
	return err
}

func (c *clients) NewSmbGlobalMapping(remote, local, user, password string) error {
	_, err := c.shares.NewSmbGlobalMapping(background, &smb.NewSmbGlobalMappingRequest{
		RemotePath: remote, LocalPath: local, Username: user, Password: password})
	return err
}

func (c *clients) RemoveSmbGlobalMapping(remote string) error {
	_, err := c.shares.RemoveSmbGlobalMapping(background, &smb.RemoveSmbGlobalMappingRequest{RemotePath: remote})
	return err
}

// ready makes a call with each client.
func (c *clients) ready() error {
	_, err := c.PathExists(`c:\var\lib\kubelet`)
	if err == nil {
		err = c.Rescan()
	}
	if err == nil {
		_, err = c.ListVolumesOnDisk(0, 0)
	}
	if err == nil {
		// Any answer shows that the service runs.
		err = c.RemoveSmbGlobalMapping(`\\none\none`)
		if status.Code(err) != codes.Unavailable {
			err = nil
		}
	}
	return err
}
