package csiproxytest_test

import (
	"context"
	"fmt"
	"strings"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smbv1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"google.golang.org/grpc"
)

// driver makes the calls of aws-ebs-csi-driver, in its order: pkg/driver/node.go and
// pkg/mounter/mount_windows.go of release 1.64.
type driver struct {
	disks   diskv1.DiskClient
	files   filesystemv1.FilesystemClient
	volumes volumev1.VolumeClient
}

func newDriver(conn grpc.ClientConnInterface) *driver {
	return &driver{diskv1.NewDiskClient(conn), filesystemv1.NewFilesystemClient(conn), volumev1.NewVolumeClient(conn)}
}

// find returns the disk whose serial number is the volume's, which AWS writes without dashes.
func (d *driver) find(ctx context.Context, volume string) (uint32, error) {
	ids, err := d.disks.ListDiskIDs(ctx, &diskv1.ListDiskIDsRequest{})
	if err != nil {
		return 0, err
	}
	for number, id := range ids.DiskIDs {
		if strings.Contains(id.SerialNumber, strings.ReplaceAll(volume, "-", "")) {
			return number, nil
		}
	}
	return 0, fmt.Errorf("no disk is %s", volume)
}

// stage takes the volume's disk to a volume that is mounted at the staging path.
func (d *driver) stage(ctx context.Context, volume, staging string) error {
	disk, err := d.find(ctx, volume)
	if err != nil {
		return err
	}
	exists, err := d.files.PathExists(ctx, &filesystemv1.PathExistsRequest{Path: staging})
	if err != nil {
		return err
	}
	if !exists.Exists {
		if _, err := d.files.Mkdir(ctx, &filesystemv1.MkdirRequest{Path: staging}); err != nil {
			return err
		}
	}
	if mounted, err := d.volumes.GetVolumeIDFromTargetPath(ctx, &volumev1.GetVolumeIDFromTargetPathRequest{TargetPath: staging}); err == nil {
		number, err := d.volumes.GetDiskNumberFromVolumeID(ctx, &volumev1.GetDiskNumberFromVolumeIDRequest{VolumeId: mounted.VolumeId})
		if err != nil {
			return err
		}
		if number.DiskNumber == disk {
			return nil
		}
	}
	if _, err := d.disks.PartitionDisk(ctx, &diskv1.PartitionDiskRequest{DiskNumber: disk}); err != nil {
		return err
	}
	if _, err := d.disks.SetDiskState(ctx, &diskv1.SetDiskStateRequest{DiskNumber: disk, IsOnline: true}); err != nil {
		return err
	}
	listed, err := d.volumes.ListVolumesOnDisk(ctx, &volumev1.ListVolumesOnDiskRequest{DiskNumber: disk})
	if err != nil {
		return err
	}
	id := listed.VolumeIds[0]
	formatted, err := d.volumes.IsVolumeFormatted(ctx, &volumev1.IsVolumeFormattedRequest{VolumeId: id})
	if err != nil {
		return err
	}
	if !formatted.Formatted {
		if _, err := d.volumes.FormatVolume(ctx, &volumev1.FormatVolumeRequest{VolumeId: id}); err != nil {
			return fmt.Errorf("format: %w", err)
		}
	}
	_, err = d.volumes.MountVolume(ctx, &volumev1.MountVolumeRequest{VolumeId: id, TargetPath: staging})
	return err
}

// publish links the pod's path to the staging path.
func (d *driver) publish(ctx context.Context, staging, target string) error {
	exists, err := d.files.PathExists(ctx, &filesystemv1.PathExistsRequest{Path: target})
	if err != nil {
		return err
	}
	if exists.Exists {
		if err := d.unpublish(ctx, target); err != nil {
			return err
		}
	}
	_, err = d.files.CreateSymlink(ctx, &filesystemv1.CreateSymlinkRequest{SourcePath: staging, TargetPath: target})
	return err
}

func (d *driver) unpublish(ctx context.Context, target string) error {
	_, err := d.files.Rmdir(ctx, &filesystemv1.RmdirRequest{Path: target, Force: true})
	return err
}

// expand grows the volume at a path to its disk's size, which it returns.
func (d *driver) expand(ctx context.Context, path string) (int64, error) {
	mounted, err := d.volumes.GetVolumeIDFromTargetPath(ctx, &volumev1.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	if err != nil {
		return 0, err
	}
	number, err := d.volumes.GetDiskNumberFromVolumeID(ctx, &volumev1.GetDiskNumberFromVolumeIDRequest{VolumeId: mounted.VolumeId})
	if err != nil {
		return 0, err
	}
	if _, err := d.disks.Rescan(ctx, &diskv1.RescanRequest{}); err != nil {
		return 0, err
	}
	if _, err := d.volumes.ResizeVolume(ctx, &volumev1.ResizeVolumeRequest{VolumeId: mounted.VolumeId}); err != nil {
		return 0, err
	}
	stats, err := d.disks.GetDiskStats(ctx, &diskv1.GetDiskStatsRequest{DiskNumber: number.DiskNumber})
	if err != nil {
		return 0, err
	}
	return stats.TotalBytes, nil
}

// unstage unmounts the volume and takes its disk offline.
func (d *driver) unstage(ctx context.Context, staging string) error {
	mounted, err := d.volumes.GetVolumeIDFromTargetPath(ctx, &volumev1.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
	if err != nil {
		return err
	}
	number, err := d.volumes.GetDiskNumberFromVolumeID(ctx, &volumev1.GetDiskNumberFromVolumeIDRequest{VolumeId: mounted.VolumeId})
	if err != nil {
		return err
	}
	if _, err := d.volumes.UnmountVolume(ctx, &volumev1.UnmountVolumeRequest{VolumeId: mounted.VolumeId, TargetPath: staging}); err != nil {
		return err
	}
	if err := d.unpublish(ctx, staging); err != nil {
		return err
	}
	_, err = d.disks.SetDiskState(ctx, &diskv1.SetDiskStateRequest{DiskNumber: number.DiskNumber, IsOnline: false})
	return err
}

// shareDriver makes the calls of csi-driver-smb, in its order: pkg/mounter/safe_mounter_windows.go and
// pkg/smb/nodeserver.go of release 1.20.
type shareDriver struct {
	files  filesystemv1.FilesystemClient
	shares smbv1.SmbClient
}

func newShareDriver(conn grpc.ClientConnInterface) *shareDriver {
	return &shareDriver{filesystemv1.NewFilesystemClient(conn), smbv1.NewSmbClient(conn)}
}

// stage has the share mapped, and a link to it at the staging path. One that leads somewhere is left.
func (d *shareDriver) stage(ctx context.Context, share, staging, username, password string) error {
	exists, err := d.files.PathExists(ctx, &filesystemv1.PathExistsRequest{Path: staging})
	if err != nil {
		return err
	}
	if exists.Exists {
		link, err := d.files.IsSymlink(ctx, &filesystemv1.IsSymlinkRequest{Path: staging})
		if err == nil && link.IsSymlink {
			return nil
		}
		if err := d.remove(ctx, staging); err != nil {
			return err
		}
	}
	parent := staging[:strings.LastIndex(staging, `\`)]
	if _, err := d.files.Mkdir(ctx, &filesystemv1.MkdirRequest{Path: parent}); err != nil {
		return err
	}
	_, err = d.shares.NewSmbGlobalMapping(ctx, &smbv1.NewSmbGlobalMappingRequest{
		RemotePath: share, LocalPath: staging, Username: username, Password: password})
	return err
}

func (d *shareDriver) publish(ctx context.Context, staging, target string) error {
	_, err := d.files.CreateSymlink(ctx, &filesystemv1.CreateSymlinkRequest{SourcePath: staging, TargetPath: target})
	return err
}

func (d *shareDriver) remove(ctx context.Context, path string) error {
	_, err := d.files.Rmdir(ctx, &filesystemv1.RmdirRequest{Path: path, Force: true})
	return err
}

// unstage is that of the last volume of the share.
func (d *shareDriver) unstage(ctx context.Context, share, staging string) error {
	if _, err := d.shares.RemoveSmbGlobalMapping(ctx, &smbv1.RemoveSmbGlobalMappingRequest{RemotePath: share}); err != nil {
		return err
	}
	return d.remove(ctx, staging)
}
