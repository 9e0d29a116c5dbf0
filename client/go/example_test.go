package csiproxy_test

import (
	"context"
	"flag"
	"fmt"
	"log"
	"time"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	csiproxy "github.com/kubernetes-csi/csi-proxy/v2"
)

// A driver connects once and makes the clients that it needs.
func Example() {
	conn, err := csiproxy.Connect(csiproxy.Auto)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	disk := &diskv1.PartitionDiskRequest{DiskNumber: 1}
	if _, err := diskv1.NewDiskClient(conn).PartitionDisk(ctx, disk); err != nil {
		log.Fatal(err)
	}
	found, err := volumev1.NewVolumeClient(conn).ListVolumesOnDisk(ctx, &volumev1.ListVolumesOnDiskRequest{DiskNumber: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.VolumeIds[0])
}

// A driver's flag selects the mode. If the flag is auto, the environment selects the mode.
func ExampleMode_Set() {
	mode := csiproxy.Auto
	flags := flag.NewFlagSet("driver", flag.ExitOnError)
	flags.Var(&mode, "csi-proxy-mode", "where storage is managed: auto, remote or embedded")
	flags.Parse([]string{"-csi-proxy-mode=embedded"})
	fmt.Println(mode)
	// Output: embedded
}

// Each test of a driver gets a node that it describes itself.
func ExampleWithSimulatedNode() {
	conn, err := csiproxy.Connect(csiproxy.Embedded, csiproxy.WithSimulatedNode(`
		disk { number: 1 size_bytes: 10737418240 serial_number: "vol0a1b2c3d" }
	`))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	ids, err := diskv1.NewDiskClient(conn).ListDiskIDs(context.Background(), &diskv1.ListDiskIDsRequest{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ids.DiskIDs[1].SerialNumber)
}
