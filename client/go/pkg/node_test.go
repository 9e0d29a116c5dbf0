// Package pkg_test tests the library on a simulated node.
package pkg_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	csiproxy "github.com/kubernetes-csi/csi-proxy/v2"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	smbapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	systemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// groups are the interfaces of one node.
type groups struct {
	disks   disk.Interface
	files   filesystem.Interface
	volumes volume.Interface
	shares  smb.Interface
	targets iscsi.Interface
	system  system.Interface
}

// connect opens a simulated node for one test.
func connect(t *testing.T) *groups {
	if os.Getenv("CSI_PROXY_LIBRARY") == "" {
		t.Skip("CSI_PROXY_LIBRARY is not set")
	}
	conn, err := csiproxy.Connect(csiproxy.Embedded, csiproxy.WithSimulatedNode(""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	// New in these packages never returns an error.
	disks, _ := disk.New(diskapi.NewWithConn(conn))
	files, _ := filesystem.New(filesystemapi.NewWithConn(conn))
	volumes, _ := volume.New(volumeapi.NewWithConn(conn))
	shares, _ := smb.New(smbapi.NewWithConn(conn), files)
	targets, _ := iscsi.New(iscsiapi.NewWithConn(conn))
	system, _ := system.New(systemapi.NewWithConn(conn))
	return &groups{disks, files, volumes, shares, targets, system}
}

func (g *groups) all() []interface{} {
	return []interface{}{g.disks, g.files, g.volumes, g.shares, g.targets, g.system}
}

const kubelet = `C:\var\lib\kubelet`

func TestNilRequestsAreErrors(t *testing.T) {
	methods := 0
	for _, group := range connect(t).all() {
		v := reflect.ValueOf(group)
		for i := 0; i < v.NumMethod(); i++ {
			method, name := v.Method(i), v.Type().Method(i).Name
			request := method.Type().In(1)
			results := method.Call([]reflect.Value{reflect.ValueOf(context.Background()), reflect.Zero(request)})
			err, _ := results[1].Interface().(error)
			// A nil request must get the same answer as an empty one.
			want := codes.InvalidArgument
			if request.Elem().NumField() == 0 {
				want = codes.OK
			}
			if status.Code(err) != want {
				t.Errorf("%s of no request: %v", name, err)
			}
			methods++
		}
	}
	if methods != 41 {
		t.Errorf("%d methods", methods)
	}
}

func TestGetDiskReadOnlyReturnsTheFlagThatWasSet(t *testing.T) {
	g := connect(t)
	ctx := context.Background()
	for _, want := range []bool{true, false} {
		_, err := g.disks.SetDiskReadOnly(ctx, &disk.SetDiskReadOnlyRequest{DiskNumber: 1, IsReadOnly: want})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := g.disks.GetDiskReadOnly(ctx, &disk.GetDiskReadOnlyRequest{DiskNumber: 1}); err != nil || got.IsReadOnly != want {
			t.Errorf("read-only: %v, %v; set to %v", got, err, want)
		}
	}
	_, set := g.disks.SetDiskReadOnly(ctx, &disk.SetDiskReadOnlyRequest{DiskNumber: 77})
	_, get := g.disks.GetDiskReadOnly(ctx, &disk.GetDiskReadOnlyRequest{DiskNumber: 77})
	if status.Code(set) != codes.NotFound || status.Code(get) != codes.NotFound {
		t.Errorf("a disk that is not there: %v, %v", set, get)
	}
}

func TestNilPortalsAreErrors(t *testing.T) {
	g := connect(t)
	ctx := context.Background()
	_, add := g.targets.AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{})
	_, discover := g.targets.DiscoverTargetPortal(ctx, &iscsi.DiscoverTargetPortalRequest{})
	_, remove := g.targets.RemoveTargetPortal(ctx, &iscsi.RemoveTargetPortalRequest{})
	_, join := g.targets.ConnectTarget(ctx, &iscsi.ConnectTargetRequest{IQN: "iqn"})
	_, leave := g.targets.DisconnectTarget(ctx, &iscsi.DisconnectTargetRequest{IQN: "iqn"})
	_, disks := g.targets.GetTargetDisks(ctx, &iscsi.GetTargetDisksRequest{IQN: "iqn"})
	for i, err := range []error{add, discover, remove, join, leave, disks} {
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func TestErrorsHaveCodesAndGoNames(t *testing.T) {
	g := connect(t)
	ctx := context.Background()
	if _, err := g.files.Mkdir(ctx, &filesystem.MkdirRequest{Path: kubelet + `\pods\a`}); err != nil {
		t.Fatal(err)
	}
	_, absent := g.files.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: kubelet + `\nothing`})
	_, remove := g.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: kubelet + `\nothing`})
	_, taken := g.files.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: kubelet + `\pods`, TargetPath: kubelet + `\pods\a`})
	_, noDisk := g.disks.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: 77})
	_, noService := g.system.GetService(ctx, &system.GetServiceRequest{Name: "NoSuchService"})
	_, outside := g.files.Mkdir(ctx, &filesystem.MkdirRequest{Path: `C:\Windows\evil`})
	_, field := g.volumes.FormatVolume(ctx, &volume.FormatVolumeRequest{})
	_, auth := g.targets.ConnectTarget(ctx, &iscsi.ConnectTargetRequest{TargetPortal: &iscsi.TargetPortal{TargetAddress: "10.0.0.5"}, AuthType: 3})
	for _, c := range []struct {
		name string
		err  error
		code codes.Code
		is   error
	}{
		{"IsSymlink of nothing", absent, codes.NotFound, fs.ErrNotExist},
		{"Rmdir of nothing", remove, codes.NotFound, os.ErrNotExist},
		{"CreateSymlink over a directory", taken, codes.AlreadyExists, fs.ErrExist},
		{"GetDiskStats of no disk", noDisk, codes.NotFound, fs.ErrNotExist},
		{"GetService of no service", noService, codes.NotFound, fs.ErrNotExist},
		{"Mkdir elsewhere", outside, codes.PermissionDenied, fs.ErrPermission},
		{"FormatVolume of nothing", field, codes.InvalidArgument, fs.ErrInvalid},
		{"ConnectTarget by nothing known", auth, codes.InvalidArgument, fs.ErrInvalid},
	} {
		if status.Code(c.err) != c.code || !errors.Is(c.err, c.is) {
			t.Errorf("%s: %v has the code %v", c.name, c.err, status.Code(c.err))
		}
		if c.err != nil && strings.Contains(c.err.Error(), "rpc error") {
			t.Errorf("%s: %v", c.name, c.err)
		}
		if errors.Is(fmt.Errorf("wrapped: %w", c.err), c.is) == errors.Is(c.err, fs.ErrClosed) {
			t.Errorf("%s: %v matches what it should not", c.name, c.err)
		}
	}
}

// aws-ebs recognizes by this text that nothing is mounted.
func TestErrorOfAnUnmountedPathHasTheTextThatDriversMatch(t *testing.T) {
	g := connect(t)
	pattern := regexp.MustCompile(`(Get-Item -Path \S+).Target, output: , error: <nil>|because it does not exist`)
	if _, err := g.files.Mkdir(context.Background(), &filesystem.MkdirRequest{Path: kubelet + `\plugins\stage`}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{kubelet + `\plugins\stage`, kubelet + `\plugins\nothing`} {
		_, err := g.volumes.GetVolumeIDFromTargetPath(context.Background(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
		if err == nil || !pattern.MatchString(err.Error()) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestContextsEndTheirCalls(t *testing.T) {
	g := connect(t)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	late, free := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer free()
	for _, c := range []struct {
		ctx  context.Context
		code codes.Code
		is   error
	}{
		{ended, codes.Canceled, context.Canceled},
		{late, codes.DeadlineExceeded, context.DeadlineExceeded},
		{context.Background(), codes.OK, nil},
		{nil, codes.OK, nil},
	} {
		_, err := g.disks.Rescan(c.ctx, nil)
		if status.Code(err) != c.code || !errors.Is(err, c.is) {
			t.Errorf("%v: %v", c.ctx, err)
		}
	}
}

func TestSingleStepsOfPartitioningAndMappingAreUnsupported(t *testing.T) {
	_, initialized := diskapi.New().IsDiskInitialized(1)
	_, partitioned := diskapi.New().BasicPartitionsExist(1)
	_, mapped := smbapi.New().IsSMBMapped(`\\server\share`)
	_, dependents := systemapi.ServiceManagerImpl{}.GetDependentsForService("RpcSs")
	for i, err := range []error{
		initialized, diskapi.New().InitializeDisk(1), partitioned, diskapi.New().CreateBasicPartition(1),
		mapped, smbapi.New().NewSMBLink(`\\server\share`, kubelet+`\link`), dependents,
	} {
		if status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "unsupported: ") {
			t.Errorf("%d: %v", i, err)
		}
	}
}
