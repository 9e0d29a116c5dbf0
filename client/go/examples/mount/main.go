// Command mount formats and mounts a raw disk of a simulated node. -mode says whether this process
// does the work or the service, for example csi-proxy --host=simulated.
//
//	mount -mode=embedded
//	mount -mode=remote
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"time"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	csiproxy "github.com/kubernetes-csi/csi-proxy/v2"
)

func main() {
	mode := csiproxy.Auto
	flag.Var(&mode, "mode", "auto, remote or embedded")
	flag.Parse()
	const disk, path = 1, `C:\var\lib\kubelet\plugins\mount-example`
	// Without the option, an embedded node on Windows would be this machine.
	conn, err := csiproxy.Connect(mode, csiproxy.WithSimulatedNode(""))
	check(err)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	_, err = diskv1.NewDiskClient(conn).PartitionDisk(ctx, &diskv1.PartitionDiskRequest{DiskNumber: disk})
	check(err)
	volumes := volumev1.NewVolumeClient(conn)
	found, err := volumes.ListVolumesOnDisk(ctx, &volumev1.ListVolumesOnDiskRequest{DiskNumber: disk})
	check(err)
	id := found.VolumeIds[0]
	_, err = volumes.FormatVolume(ctx, &volumev1.FormatVolumeRequest{VolumeId: id})
	check(err)
	_, err = filesystemv1.NewFilesystemClient(conn).Mkdir(ctx, &filesystemv1.MkdirRequest{Path: path})
	check(err)
	_, err = volumes.MountVolume(ctx, &volumev1.MountVolumeRequest{VolumeId: id, TargetPath: path})
	check(err)
	fmt.Printf("%s is mounted at %s (%v)\n", id, path, conn.Mode())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
