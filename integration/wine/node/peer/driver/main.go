// Stages, publishes, grows and takes away volumes as the drivers do that use the Go library: the calls of
// aws-ebs and vsphere, in the order of drivers/orders. It is compiled with the
// library's own module and with the one that takes its place, from this one source.
package main

import (
	"context"
	"fmt"
	"os"
	"regexp"

	"csi-proxy.example/drivers/orders"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	systemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// mounter is what the drivers' mounters have in them.
type mounter struct {
	files   filesystem.Interface
	disks   disk.Interface
	volumes volume.Interface
	system  system.Interface
}

var background = context.Background()

func newMounter() (*mounter, error) {
	files, err := filesystem.New(filesystemapi.New())
	if err != nil {
		return nil, err
	}
	disks, err := disk.New(diskapi.New())
	if err != nil {
		return nil, err
	}
	volumes, err := volume.New(volumeapi.New())
	if err != nil {
		return nil, err
	}
	services, err := system.New(systemapi.New())
	if err != nil {
		return nil, err
	}
	return &mounter{files, disks, volumes, services}, nil
}

const (
	kubelet = `C:\var\lib\kubelet`
	rounds  = 2
)

// run counts the steps, and keeps the failures.
type run struct {
	*mounter
	driver        string
	steps, failed int
}

// step is one thing that the driver does and that has to succeed.
func (r *run) step(what string, err error) bool {
	r.steps++
	if err != nil {
		r.failed++
		fmt.Printf("FAILED %s, %s: %v\n", r.driver, what, err)
	}
	return err == nil
}

// Rescan must succeed; the driver only logs it.
func (r *run) Rescan() error {
	err := r.mounter.Rescan()
	if err != nil {
		r.step("Rescan", err)
	}
	return err
}

func want[T comparable](got, wanted T, err error) error {
	if err == nil && got != wanted {
		return fmt.Errorf("%v, not %v", got, wanted)
	}
	return err
}

func main() {
	node, err := newMounter()
	if err != nil {
		fmt.Println("FAILED:", err)
		os.Exit(1)
	}
	steps, failed := 0, 0
	for _, lead := range []func(*mounter) (int, int){leadEBS, leadVSphere} {
		did, not := lead(node)
		steps, failed = steps+did, failed+not
	}
	fmt.Printf("%d steps, %d as they should be; aws-ebs's pattern matches what is not mounted: %v\n",
		steps, steps-failed, ownPattern)
	if failed > 0 {
		os.Exit(1)
	}
}

var ownPattern = true

// alpha.2 has other texts, for which the driver stays with alpha.1: its own, and those of the system, which
// is Windows or Wine.
var notMountedInAlpha2 = regexp.MustCompile(`not a mounted folder|cannot find the (file|path) specified|(File|Path) not found`)

func saysNotMounted(err error) bool {
	if orders.SaysNotMounted(err) {
		return true
	}
	ownPattern = false
	return notMountedInAlpha2.MatchString(err.Error())
}
