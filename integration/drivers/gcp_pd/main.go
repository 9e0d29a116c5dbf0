// Runs gcp-compute-persistent-disk-csi-driver's own mount manager, stats and resizer, in the order of
// pkg/gce-pd-csi-driver/node.go. The driver's code, not drivers/orders, calls csi-proxy.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"

	"k8s.io/mount-utils"
	mountmanager "sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/mount-manager"
	"sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/resizefs"

	"csi-proxy.example/integration/drivers/steps"
)

type driver struct {
	mounter *mount.SafeFormatAndMount
	proxy   mountmanager.CSIProxyMounter
	// The disks that the metadata server lists.
	mutex    sync.Mutex
	attached []mountmanager.GoogleCloudDisk
}

// Identify returns the device's name: the end of page 83 for a SCSI disk. For an NVMe disk the metadata server
// maps the name to the namespace.
func (d *driver) Identify(disk *steps.Disk) string {
	made := mountmanager.GoogleCloudDisk{DeviceName: strings.TrimPrefix(disk.Page83, "Google  "), Interface: "SCSI",
		Mode: "READ_WRITE", Type: "PERSISTENT"}
	if disk.EUI != "" {
		made.DeviceName, made.Interface = "pvc-"+disk.EUI, "NVME"
		made.NvmeNamespaceIdentifier, _ = strconv.ParseUint(disk.EUI[:16], 16, 64)
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.attached = append(d.attached, made)
	return made.DeviceName
}

// forget clears the metadata server's disks for a new node.
func (d *driver) forget() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.attached = nil
}

// ServeHTTP acts as the metadata server.
func (d *driver) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if request.Header.Get("Metadata-Flavor") != "Google" || request.URL.Path != "/computeMetadata/v1/instance/disks/" {
		http.NotFound(answer, request)
		return
	}
	json.NewEncoder(answer).Encode(d.attached)
}

func (d *driver) find(volume *steps.BlockVolume) (string, error) {
	return d.proxy.GetDiskNumber(volume.ID, "", volume.Name)
}

func (d *driver) Find(volume *steps.BlockVolume) (uint32, error) {
	return steps.DiskNumber(d.find(volume))
}

// mounted is the driver's isVolumePathMounted.
func (d *driver) mounted(path string) bool {
	notMounted, err := d.mounter.IsLikelyNotMountPoint(path)
	return err == nil && !notMounted
}

func (d *driver) NodeStage(volume *steps.BlockVolume) error {
	device, err := d.find(volume)
	if err != nil {
		return err
	}
	if d.mounted(volume.Stage) {
		return nil
	}
	size, err := d.proxy.GetDiskTotalBytes(device)
	if err != nil {
		return err
	}
	if uint64(size) < volume.SizeBytes {
		return fmt.Errorf("expected %d bytes, got %d", volume.SizeBytes, size)
	}
	if err := d.proxy.FormatAndMount(device, volume.Stage, "ntfs", nil); err != nil {
		return err
	}
	_, err = resizefs.NewResizeFs(d.mounter).Resize(device, volume.Stage)
	return err
}

func (d *driver) NodePublish(volume *steps.BlockVolume) error {
	if d.mounted(volume.Target) {
		return nil
	}
	exists, err := d.proxy.ExistsPath(volume.Target)
	if err != nil {
		return err
	}
	if exists {
		if err := d.proxy.RemovePodDir(volume.Target); err != nil {
			return err
		}
	}
	return d.mounter.Interface.Mount(volume.Stage, volume.Target, "ntfs", []string{"bind"})
}

func (d *driver) NodeStats(volume *steps.BlockVolume) (total, used int64, err error) {
	_, total, used, _, _, _, err = mountmanager.NewStatter(d.mounter).StatFS(volume.Target)
	return total, used, err
}

func (d *driver) NodeExpand(volume *steps.BlockVolume) error {
	device, err := d.find(volume)
	if err != nil {
		return err
	}
	if _, err := resizefs.NewResizeFs(d.mounter).Resize(device, volume.Target); err != nil {
		return err
	}
	size, err := d.proxy.GetDiskTotalBytes(device)
	if err == nil && uint64(size) < volume.SizeBytes {
		err = fmt.Errorf("resize requested for %d but after resize volume was size %d", volume.SizeBytes, size)
	}
	return err
}

func (d *driver) NodeUnpublish(volume *steps.BlockVolume) error {
	return d.proxy.RemovePodDir(volume.Target)
}

// NodeUnstage looks for the disk at the end and ignores the result, as the driver does.
func (d *driver) NodeUnstage(volume *steps.BlockVolume) error {
	if err := d.proxy.UnmountDevice(volume.Stage); err != nil {
		return err
	}
	d.find(volume)
	return nil
}

// ready makes a call with each of the mounter's clients.
func (d *driver) ready() error {
	if _, err := d.proxy.ExistsPath(`\var\lib\kubelet`); err != nil {
		return err
	}
	if _, err := d.proxy.GetDiskNumber("none", "", ""); steps.Unreachable(err) != nil {
		return err
	}
	_, _, _, _, _, _, err := mountmanager.NewStatter(d.mounter).StatFS(`C:\`)
	return steps.Unreachable(err)
}

func main() {
	own := &driver{}
	// The driver asks http://metadata.google.internal; a proxy redirects that to this server.
	metadata := httptest.NewServer(own)
	os.Setenv("HTTP_PROXY", metadata.URL)
	steps.Main(func(run *steps.Run) error {
		if err := run.Start(""); err != nil {
			return err
		}
		made, err := mountmanager.NewSafeMounter(0, 0)
		if err != nil {
			return err
		}
		own.mounter, own.proxy = made, made.Interface.(mountmanager.CSIProxyMounter)
		run.Ready, run.Fresh = own.ready, own.forget
		life := &steps.BlockLife{Run: run, Driver: own,
			Traits: steps.BlockTraits{TakesOffline: true, FailsOnceUnmounted: true}}
		life.All("pd.csi.storage.gke.io", steps.Version("sigs.k8s.io/gcp-compute-persistent-disk-csi-driver"))
		return nil
	})
}
