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
)

// partitions attaches a disk to the node and returns an error unless the interface partitions it.
func partitions(node *csiproxytest.Node, disks disk.Interface) error {
	number := node.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30})
	_, err := disks.PartitionDisk(context.Background(), &disk.PartitionDiskRequest{DiskNumber: number})
	state := node.State()
	if got := state.Disk(number).Style; err == nil && got != csiproxytest.GPT {
		err = fmt.Errorf("the disk's style is %s", got)
	}
	return err
}

// A driver of the Go library gets interfaces whose calls go to the node.
func Example_libraryDriver() {
	defer t.end()
	node := csiproxytest.NewNode(t, "")
	disks, _ := disk.New(diskapi.NewWithConn(connect(t, node)))
	fmt.Println(partitions(node, disks))
	// Output: <nil>
}

// hosttest.Use connects a driver that makes its own interfaces to the node.
func TestDriverWithItsOwnInterfacesUsesTheNode(t *testing.T) {
	// aws-ebs-csi-driver's NewSafeMounterV2 makes its interfaces in this way.
	disks, _ := disk.New(diskapi.New())
	files, _ := filesystem.New(filesystemapi.New())
	// The tests use the process one after the other.
	for i := 0; i < 2; i++ {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			node := csiproxytest.NewNode(t, "")
			conn := connect(t, node)
			hosttest.Use(t, conn)
			if err := partitions(node, disks); err != nil {
				t.Fatal(err)
			}
			// Unsupported, because this process is not on the simulated node and cannot look up its shares.
			_, err := files.PathValid(context.Background(), &filesystem.PathValidRequest{Path: `\\server\share`})
			if err == nil || !strings.Contains(err.Error(), "unsupported") {
				t.Error(err)
			}

			r := &recorder{TB: t}
			if hosttest.Use(r, conn); len(r.fatal) != 1 || !strings.Contains(r.fatal[0], "cannot be parallel") {
				t.Error(r.fatal)
			}
		})
	}
}

func TestTargetsDisksExistWhileItIsConnected(t *testing.T) {
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
