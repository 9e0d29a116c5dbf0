// Package clients makes the calls of package orders by clients of the released API: those of the released Go module,
// or those generated for a connection. Like the drivers, calls pass context.Background(), without a deadline.
package clients

import (
	"context"

	"csi-proxy.example/drivers/orders"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
)

// Clients is an orders.Node and an orders.ShareNode. A client may be nil if none of its calls is made.
type Clients struct {
	Files   filesystem.FilesystemClient
	Disks   disk.DiskClient
	Volumes volume.VolumeClient
	Shares  smb.SmbClient
}

var background = context.Background()

func (c *Clients) PathExists(path string) (bool, error) {
	out, err := c.Files.PathExists(background, &filesystem.PathExistsRequest{Path: path})
	return out.GetExists(), err
}

func (c *Clients) IsSymlink(path string) (bool, error) {
	out, err := c.Files.IsSymlink(background, &filesystem.IsSymlinkRequest{Path: path})
	return out.GetIsSymlink(), err
}

func (c *Clients) Mkdir(path string) error {
	return orders.ErrorOf(c.Files.Mkdir(background, &filesystem.MkdirRequest{Path: path}))
}

func (c *Clients) Rmdir(path string) error {
	return orders.ErrorOf(c.Files.Rmdir(background, &filesystem.RmdirRequest{Path: path, Force: true}))
}

func (c *Clients) CreateSymlink(source, target string) error {
	return orders.ErrorOf(c.Files.CreateSymlink(background, &filesystem.CreateSymlinkRequest{SourcePath: source, TargetPath: target}))
}

func (c *Clients) GetVolumeIDFromTargetPath(path string) (string, error) {
	out, err := c.Volumes.GetVolumeIDFromTargetPath(background,
		&volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return out.GetVolumeId(), err
}

func (c *Clients) GetDiskNumberFromVolumeID(id string) (uint32, error) {
	out, err := c.Volumes.GetDiskNumberFromVolumeID(background, &volume.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
	return out.GetDiskNumber(), err
}

func (c *Clients) SetDiskState(number uint32, online bool) error {
	return orders.ErrorOf(c.Disks.SetDiskState(background, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: online}))
}

func (c *Clients) GetDiskStats(number uint32) (int64, error) {
	out, err := c.Disks.GetDiskStats(background, &disk.GetDiskStatsRequest{DiskNumber: number})
	return out.GetTotalBytes(), err
}

func (c *Clients) Rescan() error {
	return orders.ErrorOf(c.Disks.Rescan(background, &disk.RescanRequest{}))
}

func (c *Clients) GetVolumeStats(id string) (total, used int64, err error) {
	out, err := c.Volumes.GetVolumeStats(background, &volume.GetVolumeStatsRequest{VolumeId: id})
	return out.GetTotalBytes(), out.GetUsedBytes(), err
}

func (c *Clients) ResizeVolume(id string, size int64) error {
	return orders.ErrorOf(c.Volumes.ResizeVolume(background, &volume.ResizeVolumeRequest{VolumeId: id, SizeBytes: size}))
}

func (c *Clients) ListDiskIDs() (map[uint32]orders.DiskIDs, error) { return ListDiskIDs(c.Disks) }

// ListDiskIDs asks one client.
func ListDiskIDs(client disk.DiskClient) (map[uint32]orders.DiskIDs, error) {
	out, err := client.ListDiskIDs(background, &disk.ListDiskIDsRequest{})
	found := map[uint32]orders.DiskIDs{}
	for number, ids := range out.GetDiskIDs() {
		found[number] = orders.DiskIDs{Page83: ids.Page83, SerialNumber: ids.SerialNumber}
	}
	return found, err
}

func (c *Clients) PartitionDisk(number uint32) error {
	return orders.ErrorOf(c.Disks.PartitionDisk(background, &disk.PartitionDiskRequest{DiskNumber: number}))
}

func (c *Clients) ListVolumesOnDisk(number, partition uint32) ([]string, error) {
	out, err := c.Volumes.ListVolumesOnDisk(background,
		&volume.ListVolumesOnDiskRequest{DiskNumber: number, PartitionNumber: partition})
	return out.GetVolumeIds(), err
}

func (c *Clients) IsVolumeFormatted(id string) (bool, error) {
	out, err := c.Volumes.IsVolumeFormatted(background, &volume.IsVolumeFormattedRequest{VolumeId: id})
	return out.GetFormatted(), err
}

func (c *Clients) FormatVolume(id string) error {
	return orders.ErrorOf(c.Volumes.FormatVolume(background, &volume.FormatVolumeRequest{VolumeId: id}))
}

func (c *Clients) MountVolume(id, path string) error {
	return orders.ErrorOf(c.Volumes.MountVolume(background, &volume.MountVolumeRequest{VolumeId: id, TargetPath: path}))
}

func (c *Clients) UnmountVolume(id, path string) error {
	return orders.ErrorOf(c.Volumes.UnmountVolume(background, &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: path}))
}

func (c *Clients) NewSmbGlobalMapping(remote, local, user, password string) error {
	return orders.ErrorOf(c.Shares.NewSmbGlobalMapping(background, &smb.NewSmbGlobalMappingRequest{
		RemotePath: remote, LocalPath: local, Username: user, Password: password}))
}

func (c *Clients) RemoveSmbGlobalMapping(remote string) error {
	return orders.ErrorOf(c.Shares.RemoveSmbGlobalMapping(background, &smb.RemoveSmbGlobalMappingRequest{RemotePath: remote}))
}
