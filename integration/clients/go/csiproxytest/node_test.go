package csiproxytest_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/csi-proxy/csi-proxy/client/go/csiproxytest/v2"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smbv1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	csiproxy "github.com/kubernetes-csi/csi-proxy/v2"
	storagev1alpha1 "github.com/kubernetes-csi/csi-proxy/v2/api/storage/v1alpha1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const share = `\\fileserver.example\data`

// Each test has its own node, with a disk of equal name and a fault that hits no other node.
func TestParallelTestsHaveSeparateNodes(t *testing.T) {
	for i := 0; i < 8; i++ {
		i := i
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			node := csiproxytest.NewNode(t, "")
			driver := newDriver(connect(t, node))
			ctx := context.Background()
			size := uint64(i+1) << 30
			disk := node.AttachDisk(csiproxytest.Disk{SizeBytes: size, SerialNumber: "vol1"})
			if i%2 == 1 {
				node.InjectFault(csiproxytest.Fault{Operation: "storage.StageVolume", Code: "ABORTED"})
				if err := driver.stage(ctx, "vol-1", staging); status.Code(err) != codes.Aborted {
					t.Fatal(err)
				}
				node.ClearFaults()
			}
			// In the second round the disk is offline and has a volume.
			for round := 0; round < 2; round++ {
				if err := driver.stage(ctx, "vol-1", staging); err != nil {
					t.Fatal(err)
				}
				if err := driver.publish(ctx, staging, target); err != nil {
					t.Fatal(err)
				}
				state := node.State()
				if got := state.Disk(disk); got.SizeBytes != size || got.Style != csiproxytest.GPT {
					t.Errorf("%+v", got)
				}
				node.AssertOnline(disk)
				node.AssertMounted(target, state.Disk(disk).Partitions[1].Volume.ID)
				if err := driver.unpublish(ctx, target); err != nil {
					t.Fatal(err)
				}
				if err := driver.unstage(ctx, staging); err != nil {
					t.Fatal(err)
				}
				node.AssertAbsent(target)
				node.AssertAbsent(staging)
				node.AssertOffline(disk)
			}
		})
	}
}

func TestAttachedDiskHasTheGivenProperties(t *testing.T) {
	node := csiproxytest.NewNode(t, "")
	want := csiproxytest.Disk{
		Number: 40, SizeBytes: 8 << 30, Location: "Integrated : Adapter 3 : Port 0 : Target 0 : LUN 7", Page83: "page", SerialNumber: "serial",
		Style: csiproxytest.GPT, Offline: true, ReadOnly: true, AwaitsRescan: true,
		Partitions: []csiproxytest.Partition{{
			Number: 1, Type: csiproxytest.Basic, OffsetBytes: 1 << 20, SizeBytes: 4 << 30,
			Volume: &csiproxytest.Volume{
				ID: `\\?\Volume{00000000-c511-4c0d-9000-0000000000aa}\`, FileSystem: "NTFS",
				Files: []csiproxytest.File{{Path: "a", Kind: csiproxytest.Directory}, {Path: `a\b.txt`, Kind: csiproxytest.RegularFile, SizeBytes: 5, ReadOnly: true}},
			},
		}},
	}
	if number := node.AttachDisk(want); number != 40 {
		t.Error(number)
	}
	state := node.State()
	if got := state.Disk(40); !reflect.DeepEqual(*got, want) {
		t.Errorf("%+v, not %+v", *got, want)
	}
	if state.Volume(want.Partitions[0].Volume.ID) != nil {
		t.Error("the disk is offline, so its volume is not the node's")
	}
	if number := node.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30}); number != 5 {
		t.Errorf("%d is not the lowest free number", number)
	}
	node.DetachDisk(40)
	node.Reset()
	state = node.State()
	if state.Disk(40) != nil || state.Disk(5) != nil || state.Disk(4) == nil {
		t.Error("the node is not as it began")
	}
}

// Paths from the kubelet have no drive, and lead through several links.
func TestHelpersResolvePathsAsTheNodeDoes(t *testing.T) {
	node := csiproxytest.NewNode(t, "")
	driver := newDriver(connect(t, node))
	node.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "vol1"})
	if err := driver.stage(context.Background(), "vol-1", staging); err != nil {
		t.Fatal(err)
	}
	node.WriteFile(staging+`\data\file.txt`, 42)
	node.MakeLink(target, staging)
	node.MakeLink(`C:\var\second`, target)
	node.MakeLink(`C:\var\loop`, `C:\var\loop`)
	state := node.State()
	volume := state.MountedAt(staging)
	if volume == "" || state.Volume(volume).FileSystem != "NTFS" {
		t.Fatalf("%q", volume)
	}
	for path, want := range map[string]string{
		`c:\VAR\second`:      volume,
		`C:\var\second\`:     volume,
		`\var\second`:        volume,
		"/var/second":        volume,
		`C:\var\second\data`: "",
		`C:\var\loop`:        "",
		`C:\`:                "",
		`C:\nothing`:         "",
		`X:\`:                "",
		strings.ReplaceAll(staging, `\`, "/")[2:] + "/": volume,
		strings.TrimSuffix(staging, `\globalmount`):     "",
	} {
		if got := state.MountedAt(path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	if file := state.At("/var/second/DATA/file.txt"); file == nil || file.SizeBytes != 42 || file.Kind != csiproxytest.RegularFile {
		t.Errorf("%+v", file)
	}
	if state.At(`C:\var\loop\x`) != nil || state.At(`C:\var\loop`).Kind != csiproxytest.Link || state.At(`C:\`) == nil {
		t.Error("what the paths lead to is not what stands there")
	}
	node.RemoveFolder("/var/second")
	node.AssertAbsent(`C:\var\second`)
	node.AssertExists(`C:\var\loop`)
}

func TestNodeFollowsItsFlags(t *testing.T) {
	t.Run("what calls may touch", func(t *testing.T) {
		node := csiproxytest.NewNode(t, "", `--working-dir=C:\csi`, "--allowed-services=MSiSCSI")
		files, services := filesystemv1.NewFilesystemClient(connect(t, node)), systemv1alpha1.NewSystemClient(connect(t, node))
		ctx := context.Background()
		if _, err := files.Mkdir(ctx, &filesystemv1.MkdirRequest{Path: `C:\csi\a`}); err != nil {
			t.Error(err)
		}
		if _, err := services.StartService(ctx, &systemv1alpha1.StartServiceRequest{Name: "MSiSCSI"}); err != nil {
			t.Error(err)
		}
		state := node.State()
		for _, service := range state.Services {
			if service.Name == "MSiSCSI" && service.State != csiproxytest.Running {
				t.Errorf("%+v", service)
			}
		}
		if _, err := services.StopService(ctx, &systemv1alpha1.StopServiceRequest{Name: "RpcSs"}); status.Code(err) != codes.PermissionDenied {
			t.Error(err)
		}
	})
	// The file server oldnas.example does not encrypt.
	for flag, want := range map[string]bool{"--require-privacy=true": false, "--require-privacy=false": true} {
		t.Run(flag, func(t *testing.T) {
			_, err := smbv1.NewSmbClient(connect(t, csiproxytest.NewNode(t, "", flag))).NewSmbGlobalMapping(context.Background(),
				&smbv1.NewSmbGlobalMappingRequest{RemotePath: `\\oldnas.example\public`, Username: "guest", Password: "guest-password"})
			if (err == nil) != want {
				t.Error(err)
			}
		})
	}
}

// recorder is a test that records its failures.
type recorder struct {
	testing.TB
	errors, fatal []string
}

func (r *recorder) Errorf(format string, args ...interface{}) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...interface{}) {
	r.fatal = append(r.fatal, fmt.Sprintf(format, args...))
}

func TestFailedAssertionsPrintTheActualState(t *testing.T) {
	r := &recorder{TB: t}
	node := csiproxytest.NewNode(r, "")
	if node == nil {
		t.Fatal(r.fatal)
	}
	driver := newDriver(connect(t, node))
	disk := node.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "vol1"})
	if err := driver.stage(context.Background(), "vol-1", staging); err != nil {
		t.Fatal(err)
	}
	node.MakeLink(target, staging)
	if _, err := smbv1.NewSmbClient(connect(t, node)).NewSmbGlobalMapping(context.Background(), &smbv1.NewSmbGlobalMappingRequest{
		RemotePath: share, Username: `EXAMPLE\storage`, Password: "correct horse"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		assert func()
		want   string
	}{
		{func() { node.AssertMounted(staging, "other") }, `is mounted here, not "other"`},
		{func() { node.AssertMounted(`C:\var`, "other") }, `"" is mounted here`},
		{func() { node.AssertNotMounted(target) }, "is mounted here"},
		{func() { node.AssertLink(target, `C:\var`) }, `leads to ` + staging + `, not to C:\var`},
		{func() { node.AssertLink(staging, target) }, "is not a link"},
		{func() { node.AssertLink(`C:\none`, target) }, "is not there"},
		{func() { node.AssertExists(`C:\none`) }, "is not there"},
		{func() { node.AssertAbsent(target) }, "is still there"},
		{func() { node.AssertOnline(99) }, "disk 99: is not there"},
		{func() { node.AssertOnline(3) }, "disk 3: is online: false"},
		{func() { node.AssertOffline(disk) }, "is online: true"},
		{func() { node.AssertMapped(`\\none\share`, "") }, "is not mapped"},
		{func() { node.AssertMapped(share, "else") }, `is mapped for EXAMPLE\storage, not for else`},
		{func() { node.AssertNotMapped(share) }, "is mapped"},
		{func() { node.BreakMapping(share); node.AssertMapped(share, `EXAMPLE\storage`) }, "is broken"},
	} {
		r.errors = nil
		c.assert()
		if len(r.errors) != 1 || !strings.Contains(r.errors[0], c.want) {
			t.Errorf("%q does not say %q", r.errors, c.want)
		}
	}
	r.errors = nil
	node.AssertMapped(`\\oldnas.example\public`, "guest")
	if len(r.errors) != 1 {
		t.Error(r.errors)
	}
	if r.fatal != nil {
		t.Error(r.fatal)
	}
}

func TestImpossibleChangesFailTheTest(t *testing.T) {
	r := &recorder{TB: t}
	node := csiproxytest.NewNode(r, "")
	if node == nil {
		t.Fatal(r.fatal)
	}
	for _, c := range []struct {
		happens func()
		want    string
	}{
		{func() { node.AttachDisk(csiproxytest.Disk{}) }, "AttachDisk: INVALID_ARGUMENT"},
		{func() { node.DetachDisk(99) }, "DetachDisk: NOT_FOUND"},
		{func() { node.GrowDisk(1, 1) }, "GrowDisk: INVALID_ARGUMENT"},
		{func() { node.AddShare("fileserver.example", "data") }, "AddShare: ALREADY_EXISTS"},
		{func() { node.SetSMBPassword("none", "u", "p") }, "SetSmbPassword: NOT_FOUND"},
		{func() { node.SetServerReachable("none", true) }, "SetServerReachable: NOT_FOUND"},
		{func() { node.BreakMapping(share) }, "BreakMapping: NOT_FOUND"},
		{func() { node.RemoveFolder(`C:\none`) }, "RemoveFolder: NOT_FOUND"},
		{func() { node.InjectFault(csiproxytest.Fault{Operation: "volume.FromatVolume"}) }, "InjectFault: INVALID_ARGUMENT"},
		{func() { node.InjectFault(csiproxytest.Fault{Operation: "*", Code: "OOPS"}) }, "OOPS"},
		{func() { csiproxytest.NewNode(r, "disk {") }, "scenario.textproto:1:"},
		{func() { csiproxytest.NewNode(r, "azure-scs") }, "cannot read azure-scs, and --list-scenarios has none of that name"},
	} {
		r.fatal = nil
		c.happens()
		if len(r.fatal) != 1 || !strings.Contains(r.fatal[0], c.want) {
			t.Errorf("%q does not say %q", r.fatal, c.want)
		}
	}
}

func TestErrorNamesTheMissingPrograms(t *testing.T) {
	t.Setenv("PATH", "none")
	r := &recorder{TB: t}
	if node := csiproxytest.NewNode(r, ""); node != nil || len(r.fatal) != 1 || !strings.Contains(r.fatal[0], `"csi-proxy`) {
		t.Errorf("%q does not name the program", r.fatal)
	}
}

// driver makes the calls of a node server that uses the storage group.
type driver struct {
	files   filesystemv1.FilesystemClient
	storage storagev1alpha1.StorageClient
}

func newDriver(conn grpc.ClientConnInterface) *driver {
	return &driver{filesystemv1.NewFilesystemClient(conn), storagev1alpha1.NewStorageClient(conn)}
}

// stage mounts the volume whose id is the disk's serial number, which AWS writes without dashes.
func (d *driver) stage(ctx context.Context, volume, staging string) error {
	_, err := d.storage.StageVolume(ctx, &storagev1alpha1.StageVolumeRequest{
		Disk: &storagev1alpha1.DiskSelector{SerialNumber: strings.ReplaceAll(volume, "-", "")}, TargetPath: staging})
	return err
}

// unstage unmounts the volume and takes its disk offline.
func (d *driver) unstage(ctx context.Context, staging string) error {
	_, err := d.storage.UnstageVolume(ctx, &storagev1alpha1.UnstageVolumeRequest{TargetPath: staging})
	return err
}

// publish links the pod's path to the staging path.
func (d *driver) publish(ctx context.Context, staging, target string) error {
	_, err := d.files.CreateSymlink(ctx, &filesystemv1.CreateSymlinkRequest{SourcePath: staging, TargetPath: target})
	return err
}

func (d *driver) unpublish(ctx context.Context, target string) error {
	_, err := d.files.Rmdir(ctx, &filesystemv1.RmdirRequest{Path: target, Force: true})
	return err
}

func (d *driver) stageShare(ctx context.Context, share, staging, username, password string) error {
	_, err := d.storage.StageShare(ctx, &storagev1alpha1.StageShareRequest{
		RemotePath: share, TargetPath: staging, Username: username, Password: password})
	return err
}

func (d *driver) unstageShare(ctx context.Context, staging string) error {
	_, err := d.storage.UnstageShare(ctx, &storagev1alpha1.UnstageShareRequest{TargetPath: staging})
	return err
}

// connect returns one connection to all groups of a node.
func connect(t csiproxytest.TB, node *csiproxytest.Node) grpc.ClientConnInterface {
	t.Helper()
	conn, err := csiproxy.Connect(csiproxy.Remote, csiproxy.WithSocketDir(node.SocketDir()))
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
