//go:build !client_v1_0

package main

import (
	"fmt"

	"csi-proxy.example/drivers/orders"
	"csi-proxy.example/drivers/steps"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	volumeclient "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v2alpha1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// longhorn has volume v2alpha1 in place of v1.
type longhorn struct {
	*targetClients
	volumes *volumeclient.Client
	// Added to FormatVolumeRequest.
	more []byte
}

func (c *longhorn) ListVolumesOnDisk(number, partition uint32) ([]string, error) {
	out, err := c.volumes.ListVolumesOnDisk(background, &volume.ListVolumesOnDiskRequest{DiskNumber: number, PartitionNumber: partition})
	return out.GetVolumeIds(), err
}

func (c *longhorn) IsVolumeFormatted(id string) (bool, error) {
	out, err := c.volumes.IsVolumeFormatted(background, &volume.IsVolumeFormattedRequest{VolumeId: id})
	return out.GetFormatted(), err
}

func (c *longhorn) FormatVolume(id string) error {
	request := &volume.FormatVolumeRequest{VolumeId: id}
	request.ProtoReflect().SetUnknown(c.more)
	_, err := c.volumes.FormatVolume(background, request)
	return err
}

func (c *longhorn) MountVolume(id, path string) error {
	_, err := c.volumes.MountVolume(background, &volume.MountVolumeRequest{VolumeId: id, TargetPath: path})
	return err
}

func (c *longhorn) UnmountVolume(id, path string) error {
	_, err := c.volumes.UnmountVolume(background, &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: path})
	return err
}

func (c *longhorn) GetVolumeIDFromTargetPath(path string) (string, error) {
	out, err := c.volumes.GetVolumeIDFromTargetPath(background, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return out.GetVolumeId(), err
}

func (c *longhorn) GetDiskNumberFromVolumeID(id string) (uint32, error) {
	out, err := c.volumes.GetDiskNumberFromVolumeID(background, &volume.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
	return out.GetDiskNumber(), err
}

func (c *longhorn) GetVolumeStats(id string) (total, used int64, err error) {
	out, err := c.volumes.GetVolumeStats(background, &volume.GetVolumeStatsRequest{VolumeId: id})
	return out.GetTotalBytes(), out.GetUsedBytes(), err
}

func (c *longhorn) ready() error {
	if err := c.targetClients.ready(); err != nil {
		return err
	}
	_, err := c.ListVolumesOnDisk(0, 0)
	return err
}

func init() {
	players = append(players, player{"v1.1.2", false, playLonghorn})
}

func playLonghorn(run *steps.Run, made *clients) error {
	targets, err := newTargetClients(made)
	if err != nil {
		return err
	}
	volumes, err := volumeclient.NewClient()
	if err != nil {
		return err
	}
	driver := &longhorn{targetClients: targets, volumes: volumes}
	run.Ready = driver.ready
	life := &steps.TargetLife{Run: run, Driver: target{orders.Longhorn{TargetNode: driver}}, LeavesFolder: true,
		IgnoresErrors: true, Kills: steps.KillsSeldom}
	life.More = func(l *steps.TargetLife) {
		// The fork's client has a field `filesystem` with the number 2, which no released version has.
		driver.more = protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), "refs")
		defer func() { driver.more = nil }()
		l.Raw("stage with the fork's own field: refused, and nothing is formatted", func(stage func() error) error {
			if err := stage(); status.Code(err) != codes.InvalidArgument {
				return fmt.Errorf("the call ended with %v", err)
			}
			return nil
		})
	}
	life.All("driver.longhorn.io", "e6f4c4d, replayed")
	return nil
}
