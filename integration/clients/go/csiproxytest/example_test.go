package csiproxytest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/csi-proxy/csi-proxy/client/go/csiproxytest/v2"
	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"google.golang.org/grpc/status"
)

// t stands for a test's *testing.T, which examples do not have.
var t = &printing{}

// printing prints what a test would report.
type printing struct{ cleanups []func() }

func (*printing) Helper()                                   {}
func (p *printing) Cleanup(f func())                        { p.cleanups = append(p.cleanups, f) }
func (*printing) Logf(string, ...interface{})               {}
func (*printing) Errorf(format string, args ...interface{}) { fmt.Printf(format+"\n", args...) }
func (*printing) Fatalf(format string, args ...interface{}) { panic(fmt.Sprintf(format, args...)) }

// end runs the cleanups in reverse order, as the end of a test does.
func (p *printing) end() {
	for i := len(p.cleanups) - 1; i >= 0; i-- {
		p.cleanups[i]()
	}
	p.cleanups = nil
}

const (
	staging = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\ebs\globalmount`
	target  = `C:\var\lib\kubelet\pods\3f1c9a52-7c1e-4b0c-8d57-2a90f5d6e0b1\volumes\kubernetes.io~csi\pvc-1`
)

// In a test of a driver, newDriver makes the generated clients, and the driver makes the calls.
func Example() {
	defer t.end()
	node := csiproxytest.NewNode(t, "")
	driver := newDriver(connect(t, node))
	ctx := context.Background()

	disk := node.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30, SerialNumber: "vol0123456789abcdef0"})
	if err := driver.stage(ctx, "vol-0123456789abcdef0", staging); err != nil {
		t.Fatalf("stage: %v", err)
	}
	if err := driver.publish(ctx, staging, target); err != nil {
		t.Fatalf("publish: %v", err)
	}

	state := node.State()
	volume := state.Disk(disk).Partitions[1].Volume
	node.AssertMounted(staging, volume.ID)
	node.AssertLink(target, staging)
	node.AssertMounted(target, volume.ID)
	fmt.Println(volume.FileSystem, state.MountedAt(target) == volume.ID)
	// Output: NTFS true
}

// A scenario describes the node at the start of the test.
func Example_scenario() {
	defer t.end()
	node := csiproxytest.NewNode(t, `
		disk {
			number: 0 size_bytes: 68719476736 style: GPT
			partition { size_bytes: 68000000000 volume { file_system: "NTFS" drive_letter: "C" } }
		}
		disk { number: 1 size_bytes: 10737418240 serial_number: "vol0a1b2c3d" }
	`)
	ids, err := diskv1.NewDiskClient(connect(t, node)).ListDiskIDs(context.Background(), &diskv1.ListDiskIDsRequest{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	fmt.Println(ids.DiskIDs[1].SerialNumber)
	// Output: vol0a1b2c3d
}

// The cloud grows the disk. The node notices this at a rescan or a restart.
func Example_growDisk() {
	defer t.end()
	node := csiproxytest.NewNode(t, "")
	disk := node.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30})
	node.GrowDisk(disk, 20<<30)
	if _, err := diskv1.NewDiskClient(connect(t, node)).Rescan(context.Background(), &diskv1.RescanRequest{}); err != nil {
		t.Fatalf("rescan: %v", err)
	}
	state := node.State()
	fmt.Println(state.Disk(disk).SizeBytes>>30, "GiB")
	// Output: 20 GiB
}

// The first call fails; when the kubelet calls again, the second succeeds.
func Example_injectFault() {
	defer t.end()
	node := csiproxytest.NewNode(t, "")
	disks, ctx := diskv1.NewDiskClient(connect(t, node)), context.Background()
	node.InjectFault(csiproxytest.Fault{Operation: "disk.PartitionDisk", Times: 1, Code: "INTERNAL", WindowsError: 5})
	for i := 0; i < 2; i++ {
		_, err := disks.PartitionDisk(ctx, &diskv1.PartitionDiskRequest{DiskNumber: 1})
		fmt.Println(err)
	}
	// Output:
	// rpc error: code = Internal desc = disk.PartitionDisk failed: Access is denied. (error 0x5)
	// <nil>
}

// A call ends with its context, even if Windows takes an hour.
func Example_injectFaultSlow() {
	defer t.end()
	node := csiproxytest.NewNode(t, "")
	node.InjectFault(csiproxytest.Fault{Operation: "disk.Rescan", Latency: time.Hour})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := diskv1.NewDiskClient(connect(t, node)).Rescan(ctx, &diskv1.RescanRequest{})
	fmt.Println(status.Code(err))
	// Output: DeadlineExceeded
}

// Removing a mounted disk leaves a dangling mount.
func Example_detachDisk() {
	defer t.end()
	node := csiproxytest.NewNode(t, "")
	driver := newDriver(connect(t, node))
	disk := node.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30, SerialNumber: "vol1"})
	if err := driver.stage(context.Background(), "vol-1", staging); err != nil {
		t.Fatalf("stage: %v", err)
	}
	node.DetachDisk(disk)
	node.AssertNotMounted(staging)
	state := node.State()
	fmt.Println(state.At(staging).Dangling)
	// Output: true
}

// Links and mounts survive a restart of the node.
func Example_reboot() {
	defer t.end()
	node := csiproxytest.NewNode(t, "")
	driver := newDriver(connect(t, node))
	ctx := context.Background()
	node.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30, SerialNumber: "vol1"})
	if err := driver.stage(ctx, "vol-1", staging); err != nil {
		t.Fatalf("stage: %v", err)
	}
	state := node.State()
	volume := state.MountedAt(staging)
	node.Reboot()
	node.AssertMounted(staging, volume)
	fmt.Println(driver.stage(ctx, "vol-1", staging), driver.unstage(ctx, staging))
	node.AssertAbsent(staging)
	// Output: <nil> <nil>
}

// A new password of the share breaks the mapping. The driver maps the share again with the new
// password.
func Example_setSMBPassword() {
	defer t.end()
	node := csiproxytest.NewNode(t, "")
	driver := newDriver(connect(t, node))
	ctx := context.Background()
	fmt.Println(driver.stageShare(ctx, share, staging, `EXAMPLE\storage`, "correct horse"))
	node.AssertMapped(share, `EXAMPLE\storage`)
	node.AssertLink(staging, share)

	node.SetSMBPassword("fileserver.example", `EXAMPLE\storage`, "battery staple")
	state := node.State()
	fmt.Println("broken:", state.Mapping(share).Broken)
	fmt.Println(driver.stageShare(ctx, share, staging, `EXAMPLE\storage`, "battery staple"))
	node.AssertMapped(share, `EXAMPLE\storage`)

	fmt.Println(driver.publish(ctx, staging, target), driver.unpublish(ctx, target), driver.unstageShare(ctx, staging))
	node.AssertNotMapped(share)
	node.AssertAbsent(staging)
	// Output:
	// <nil>
	// broken: true
	// <nil>
	// <nil> <nil> <nil>
}
