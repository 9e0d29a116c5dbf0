package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	csiproxy "github.com/kubernetes-csi/csi-proxy/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// manage has Auto find out that this process manages the machine, a Windows node, and takes two disks
// from raw to mounted and back, while calls come from many threads, each of which ends after a few.
func manage() (string, error) {
	var mutex sync.Mutex
	var log []string
	conn, err := csiproxy.Connect(csiproxy.Auto, csiproxy.WithLog(func(_ csiproxy.Severity, line string) {
		mutex.Lock()
		defer mutex.Unlock()
		log = append(log, line)
	}))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if conn.Mode() != csiproxy.Embedded || !strings.Contains(log[0], "an administrator's") {
		return "", fmt.Errorf("Auto is %v: %q", conn.Mode(), log)
	}
	// Its disks are not pulled out.
	detach := conn.Invoke(context.Background(), "/csi_proxy.simulated.Admin/DetachDisk", &emptypb.Empty{}, &emptypb.Empty{})
	if status.Code(detach) != codes.FailedPrecondition {
		return "", fmt.Errorf("a node that is not simulated is administered: %v", detach)
	}
	const threads, calls = 32, 20
	ended := make(chan error)
	for disk := uint32(1); disk <= 2; disk++ {
		go func(disk uint32) { ended <- mountAndUnmount(conn, disk) }(disk)
	}
	for thread := 0; thread < threads; thread++ {
		go func() {
			// The thread ends with its goroutine, which does not give it back.
			runtime.LockOSThread()
			ended <- look(conn, calls)
		}()
	}
	for i := 0; i < threads+2; i++ {
		if failed := <-ended; failed != nil {
			err = failed
		}
	}
	mutex.Lock()
	defer mutex.Unlock()
	if audits := strings.Count(strings.Join(log, "\n"), "method=MountVolume"); err == nil && audits != 2 {
		err = fmt.Errorf("the log has %d lines about two mounts", audits)
	}
	return fmt.Sprintf("2 disks mounted and unmounted, %d calls meanwhile from %d threads", threads*calls, threads), err
}

func mountAndUnmount(conn *csiproxy.Conn, disk uint32) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	volumes, directories := volumev1.NewVolumeClient(conn), filesystemv1.NewFilesystemClient(conn)
	path := fmt.Sprintf(`C:\var\lib\kubelet\plugins\disk-%d`, disk)
	if _, err := diskv1.NewDiskClient(conn).PartitionDisk(ctx, &diskv1.PartitionDiskRequest{DiskNumber: disk}); err != nil {
		return fmt.Errorf("PartitionDisk: %v", err)
	}
	found, err := volumes.ListVolumesOnDisk(ctx, &volumev1.ListVolumesOnDiskRequest{DiskNumber: disk})
	if err != nil || len(found.VolumeIds) != 1 {
		return fmt.Errorf("ListVolumesOnDisk: %v, %v", found, err)
	}
	id := found.VolumeIds[0]
	if _, err := volumes.FormatVolume(ctx, &volumev1.FormatVolumeRequest{VolumeId: id}); err != nil {
		return fmt.Errorf("FormatVolume: %v", err)
	}
	if _, err := directories.Mkdir(ctx, &filesystemv1.MkdirRequest{Path: path}); err != nil {
		return fmt.Errorf("Mkdir: %v", err)
	}
	if _, err := volumes.MountVolume(ctx, &volumev1.MountVolumeRequest{VolumeId: id, TargetPath: path}); err != nil {
		return fmt.Errorf("MountVolume: %v", err)
	}
	mounted, err := volumes.GetVolumeIDFromTargetPath(ctx, &volumev1.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	if err != nil || mounted.VolumeId != id {
		return fmt.Errorf("GetVolumeIDFromTargetPath: %v, %v, not %s", mounted, err, id)
	}
	if _, err := volumes.UnmountVolume(ctx, &volumev1.UnmountVolumeRequest{VolumeId: id, TargetPath: path}); err != nil {
		return fmt.Errorf("UnmountVolume: %v", err)
	}
	return nil
}

func look(conn *csiproxy.Conn, calls int) error {
	for i := 0; i < calls; i++ {
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if i%2 == 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Minute)
		}
		found, err := diskv1.NewDiskClient(conn).ListDiskLocations(ctx, &diskv1.ListDiskLocationsRequest{})
		cancel()
		if err != nil || found.DiskLocations[1].GetLUNID() != "0" {
			return fmt.Errorf("ListDiskLocations: %v, %v", found, err)
		}
	}
	return nil
}
