package csiproxytest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/csi-proxy/csi-proxy/client/go/csiproxytest/v2"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/hosttest"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// libraryDriver has the fields of aws-ebs-csi-driver's mounter with --windows-host-process.
type libraryDriver struct {
	disks   disk.Interface
	files   filesystem.Interface
	volumes volume.Interface
}

// newLibraryDriver makes its interfaces as the driver's NewSafeMounterV2 does.
func newLibraryDriver() *libraryDriver {
	disks, _ := disk.New(diskapi.New())
	files, _ := filesystem.New(filesystemapi.New())
	volumes, _ := volume.New(volumeapi.New())
	return &libraryDriver{disks, files, volumes}
}

// formatAndMount makes the calls of the driver's FormatAndMount.
func (d *libraryDriver) formatAndMount(ctx context.Context, number uint32, path string) error {
	if _, err := d.disks.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number}); err != nil {
		return err
	}
	if _, err := d.disks.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: true}); err != nil {
		return err
	}
	listed, err := d.volumes.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil {
		return err
	}
	id := listed.VolumeIDs[0]
	formatted, err := d.volumes.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: id})
	if err != nil {
		return err
	}
	if !formatted.Formatted {
		if _, err := d.volumes.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id}); err != nil {
			return err
		}
	}
	if _, err := d.files.Mkdir(ctx, &filesystem.MkdirRequest{Path: path}); err != nil {
		return err
	}
	_, err = d.volumes.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: id, TargetPath: path})
	return err
}

// A driver of the Go library gets interfaces whose calls go to the node.
func Example_libraryDriver() {
	defer t.end()
	node := csiproxytest.NewNode(t, "")
	conn := connect(t, node)
	disks, _ := disk.New(diskapi.NewWithConn(conn))
	files, _ := filesystem.New(filesystemapi.NewWithConn(conn))
	volumes, _ := volume.New(volumeapi.NewWithConn(conn))
	driver := &libraryDriver{disks, files, volumes}
	number := node.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30})
	fmt.Println(driver.formatAndMount(context.Background(), number, staging))
	state := node.State()
	node.AssertMounted(staging, state.Disk(number).Partitions[1].Volume.ID)
	// Output: <nil>
}

// hosttest.Use connects a driver that makes its own interfaces to the node.
func TestADriverThatMakesItsOwnInterfaces(t *testing.T) {
	driver := newLibraryDriver()
	var volumes []string
	// The tests use the process one after the other.
	for i := 0; i < 2; i++ {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			node := csiproxytest.NewNode(t, "")
			conn := connect(t, node)
			hosttest.Use(t, conn)
			number := node.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30})
			if err := driver.formatAndMount(context.Background(), number, staging); err != nil {
				t.Fatal(err)
			}
			state := node.State()
			node.AssertMounted(staging, state.Disk(number).Partitions[1].Volume.ID)
			volumes = append(volumes, state.MountedAt(staging))
			// Unsupported, because this process is not on the simulated node and cannot look up its shares.
			_, err := driver.files.PathValid(context.Background(), &filesystem.PathValidRequest{Path: `\\server\share`})
			if err == nil || !strings.Contains(err.Error(), "unsupported") {
				t.Error(err)
			}

			r := &recorder{TB: t}
			if hosttest.Use(r, conn); len(r.fatal) != 1 || !strings.Contains(r.fatal[0], "cannot be parallel") {
				t.Error(r.fatal)
			}
		})
	}
	if len(volumes) != 2 {
		t.Error(volumes)
	}
}

func TestATargetsDisksAreThereWhileItIsConnected(t *testing.T) {
	node := csiproxytest.NewNode(t, "")
	ctx, conn := context.Background(), connect(t, node)
	targets, _ := iscsi.New(iscsiapi.NewWithConn(conn))
	portal := &iscsi.TargetPortal{TargetAddress: "10.0.0.5", TargetPort: 3260}
	const iqn = "iqn.2026-01.example.storage:open"
	if _, err := targets.AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{TargetPortal: portal}); err != nil {
		t.Fatal(err)
	}
	if _, err := targets.DiscoverTargetPortal(ctx, &iscsi.DiscoverTargetPortalRequest{TargetPortal: portal}); err != nil {
		t.Fatal(err)
	}
	state := node.State()
	if state.Disk(10) != nil {
		t.Error("its target is not connected yet")
	}
	if _, err := targets.ConnectTarget(ctx, &iscsi.ConnectTargetRequest{TargetPortal: portal, IQN: iqn}); err != nil {
		t.Fatal(err)
	}
	state = node.State()
	if state.Disk(10) == nil || !state.ISCSIPortals[0].Registered || !state.ISCSIPortals[0].Targets[0].Connected {
		t.Errorf("%+v", state.ISCSIPortals)
	}
}
