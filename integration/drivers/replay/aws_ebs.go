package main

import (
	"fmt"
	"log"
	"regexp"
	"strings"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"

	"csi-proxy.example/drivers/steps"
)

// awsEBS is pkg/driver/node.go and pkg/mounter/mount_windows.go with mount_windows_proxyV1.go.
type awsEBS struct{ *clients }

// Nitro's NVMe disks: the serial number is the volume's id without its dash, and the namespace behind it.
func (d awsEBS) Identify(disk *steps.Disk) string {
	return strings.Replace(strings.TrimSuffix(disk.SerialNumber, "_00000001."), "vol", "vol-", 1)
}

// Find has a client of its own, closed after the call.
func (d awsEBS) Find(volume *steps.BlockVolume) (uint32, error) {
	client, err := newDiskClient()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	listed, err := client.ListDiskIDs(background, &disk.ListDiskIDsRequest{})
	if err != nil {
		return 0, err
	}
	for number, id := range listed.DiskIDs {
		if strings.Contains(id.SerialNumber, strings.ReplaceAll(volume.ID, "-", "")) {
			return number, nil
		}
	}
	return 0, errNoDisk
}

// What the driver takes for "nothing is mounted there".
var notMounted = regexp.MustCompile(`(Get-Item -Path \S+).Target, output: , error: <nil>|because it does not exist`)

// deviceAt is GetDeviceNameFromMount.
func (d awsEBS) deviceAt(path string) (number uint32, mounted bool, err error) {
	id, err := d.volumeAt(path)
	if err == nil {
		number, err = d.diskOf(id)
	}
	if err != nil && notMounted.MatchString(err.Error()) {
		return 0, false, nil
	}
	return number, err == nil, err
}

func (d awsEBS) NodeStage(volume *steps.BlockVolume) error {
	number, err := d.Find(volume)
	if err != nil {
		return err
	}
	path := steps.Normalize(volume.Stage)
	exists, err := d.pathExists(path)
	if err != nil {
		return err
	}
	if !exists {
		if err := d.mkdir(path); err != nil {
			return err
		}
	}
	at, mounted, err := d.deviceAt(path)
	if err != nil || mounted && at == number {
		return err
	}
	if err := d.formatAndMount(number, path); err != nil {
		return err
	}
	return d.resizeIfNeeded(number, path)
}

func (d awsEBS) resizeIfNeeded(number uint32, path string) error {
	if err := d.rescan(); err != nil {
		log.Print(err)
	}
	onDisk, err := d.diskSize(number)
	if err != nil {
		return err
	}
	id, err := d.volumeAt(path)
	if err != nil {
		return err
	}
	total, _, err := d.volumeStats(id)
	if err != nil || onDisk <= total+4096 {
		return err
	}
	return d.resizePath(path)
}

func (d awsEBS) resizePath(path string) error {
	if err := d.rescan(); err != nil {
		log.Print(err)
	}
	id, err := d.volumeAt(path)
	if err != nil {
		return err
	}
	return d.resize(id)
}

func (d awsEBS) NodePublish(volume *steps.BlockVolume) error {
	target := steps.Normalize(volume.Target)
	exists, err := d.pathExists(target)
	if err != nil {
		return err
	}
	if exists {
		if err := d.rmdir(target); err != nil {
			return err
		}
	}
	if exists, err = d.pathExists(target); err != nil {
		return err
	}
	if exists {
		if mounted, err := d.isSymlink(target); err != nil || mounted {
			return err
		}
	}
	return d.createSymlink(steps.Normalize(volume.Stage), target)
}

// NodeStats asks csi-proxy for nothing but the path: the driver's own GetDiskFreeSpaceEx does the rest, which
// volume/v1 stands in for here.
func (d awsEBS) NodeStats(volume *steps.BlockVolume) (total, used int64, err error) {
	exists, err := d.pathExists(steps.Normalize(volume.Target))
	if err != nil {
		return 0, 0, err
	}
	if !exists {
		return 0, 0, fmt.Errorf("path %s does not exist", volume.Target)
	}
	id, err := d.volumeAt(steps.Normalize(volume.Target))
	if err != nil {
		return 0, 0, err
	}
	return d.volumeStats(id)
}

func (d awsEBS) NodeExpand(volume *steps.BlockVolume) error {
	path := steps.Normalize(volume.Target)
	_, mounted, err := d.deviceAt(path)
	if err != nil {
		return err
	}
	if !mounted {
		return fmt.Errorf("%s is not mounted", path)
	}
	number, err := d.Find(volume)
	if err != nil {
		return err
	}
	if err := d.resizePath(path); err != nil {
		return err
	}
	_, err = d.diskSize(number)
	return err
}

func (d awsEBS) NodeUnpublish(volume *steps.BlockVolume) error {
	return d.rmdir(steps.Normalize(volume.Target))
}

func (d awsEBS) NodeUnstage(volume *steps.BlockVolume) error {
	path := steps.Normalize(volume.Stage)
	_, mounted, err := d.deviceAt(path)
	if err != nil || !mounted {
		return err
	}
	return d.unmount(path)
}
