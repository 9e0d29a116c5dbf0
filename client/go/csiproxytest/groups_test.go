package csiproxytest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
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

// The node's interfaces are passed to a driver that uses the Go library.
func ExampleNode_Disk() {
	node := csiproxytest.NewNode(t, "")
	driver := &libraryDriver{node.Disk(), node.Filesystem(), node.Volume()}
	number := node.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30})
	fmt.Println(driver.formatAndMount(context.Background(), number, staging))
	state := node.State()
	node.AssertMounted(staging, state.Disk(number).Partitions[1].Volume.ID)
	// Output: <nil>
}

// UseForProcess serves a driver that makes its interfaces itself.
func TestADriverThatMakesItsOwnInterfaces(t *testing.T) {
	driver := newLibraryDriver()
	var volumes []string
	// The tests use the process one after the other.
	for i := 0; i < 2; i++ {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			node := csiproxytest.NewNode(t, "")
			node.UseForProcess()
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
			other := csiproxytest.NewNode(r, "")
			if other.UseForProcess(); len(r.fatal) != 1 || !strings.Contains(r.fatal[0], "cannot be parallel") {
				t.Error(r.fatal)
			}
		})
	}
	if len(volumes) != 2 {
		t.Error(volumes)
	}
}

func TestEveryGroup(t *testing.T) {
	node := csiproxytest.NewNode(t, "")
	ctx := context.Background()
	if _, err := node.SMB().NewSMBGlobalMapping(ctx, &smb.NewSMBGlobalMappingRequest{RemotePath: share, LocalPath: staging,
		Username: `EXAMPLE\storage`, Password: "correct horse"}); err == nil {
		t.Error("the directory above the link is not there")
	}
	node.MakeDirectory(strings.TrimSuffix(staging, `\globalmount`))
	if _, err := node.SMB().NewSMBGlobalMapping(ctx, &smb.NewSMBGlobalMappingRequest{RemotePath: share, LocalPath: staging,
		Username: `EXAMPLE\storage`, Password: "correct horse"}); err != nil {
		t.Fatal(err)
	}
	node.AssertMapped(share, `EXAMPLE\storage`)
	node.AssertLink(staging, share)

	portal := &iscsi.TargetPortal{TargetAddress: "10.0.0.5", TargetPort: 3260}
	const iqn = "iqn.2026-01.example.storage:open"
	if _, err := node.ISCSI().AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{TargetPortal: portal}); err != nil {
		t.Fatal(err)
	}
	if _, err := node.ISCSI().DiscoverTargetPortal(ctx, &iscsi.DiscoverTargetPortalRequest{TargetPortal: portal}); err != nil {
		t.Fatal(err)
	}
	state := node.State()
	if state.Disk(10) != nil {
		t.Error("its target is not connected yet")
	}
	if _, err := node.ISCSI().ConnectTarget(ctx, &iscsi.ConnectTargetRequest{TargetPortal: portal, IQN: iqn}); err != nil {
		t.Fatal(err)
	}
	state = node.State()
	if state.Disk(10) == nil || !state.ISCSIPortals[0].Registered || !state.ISCSIPortals[0].Targets[0].Connected {
		t.Errorf("%+v", state.ISCSIPortals)
	}
	serial, err := node.System().GetBIOSSerialNumber(ctx, &system.GetBIOSSerialNumberRequest{})
	if err != nil || serial.SerialNumber != state.BIOSSerialNumber || serial.SerialNumber == "" {
		t.Error(serial, err)
	}
}
