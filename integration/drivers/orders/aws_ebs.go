package orders

import (
	"fmt"
	"log"
	"regexp"
	"strings"
)

// AWSEBS makes the calls of pkg/driver/node.go and pkg/mounter/mount_windows.go with mount_windows_proxyV1.go
// or mount_windows_proxyV2.go.
type AWSEBS struct {
	Node
	// Measure stands for the driver's own GetDiskFreeSpaceEx.
	Measure func(path string) (total, used int64, err error)
}

// notMounted matches the errors that the driver takes to mean that nothing is mounted.
var notMounted = regexp.MustCompile(`(Get-Item -Path \S+).Target, output: , error: <nil>|because it does not exist`)

func (d AWSEBS) Find(id string) (uint32, error) {
	return find(d, func(ids DiskIDs) bool {
		return strings.Contains(ids.SerialNumber, strings.ReplaceAll(id, "-", ""))
	})
}

// deviceAt is the driver's GetDeviceNameFromMount.
func (d AWSEBS) deviceAt(path string) (number uint32, mounted bool, err error) {
	id, err := d.GetVolumeIDFromTargetPath(path)
	if err == nil {
		number, err = d.GetDiskNumberFromVolumeID(id)
	}
	if err != nil && notMounted.MatchString(err.Error()) {
		return 0, false, nil
	}
	return number, err == nil, err
}

func (d AWSEBS) Stage(id, path string) error {
	number, err := d.Find(id)
	if err != nil {
		return err
	}
	exists, err := d.PathExists(path)
	if err != nil {
		return err
	}
	if !exists {
		if err := d.Mkdir(path); err != nil {
			return err
		}
	}
	at, mounted, err := d.deviceAt(path)
	if err != nil || mounted && at == number {
		return err
	}
	if err := formatAndMount(d, number, path); err != nil {
		return err
	}
	return d.resizeIfNeeded(number, path)
}

func (d AWSEBS) resizeIfNeeded(number uint32, path string) error {
	if err := d.Rescan(); err != nil {
		log.Print(err)
	}
	onDisk, err := d.GetDiskStats(number)
	if err != nil {
		return err
	}
	total, _, err := Stats(d, path)
	if err != nil || onDisk <= total+4096 {
		return err
	}
	return d.resizePath(path)
}

func (d AWSEBS) resizePath(path string) error {
	if err := d.Rescan(); err != nil {
		log.Print(err)
	}
	id, err := d.GetVolumeIDFromTargetPath(path)
	if err != nil {
		return err
	}
	return d.ResizeVolume(id, 0)
}

func (d AWSEBS) Publish(stage, target string) error {
	if err := removeIfThere(d, target); err != nil {
		return err
	}
	if mounted, err := mounted(d, target); err != nil || mounted {
		return err
	}
	return d.CreateSymlink(stage, target)
}

// Stats asks csi-proxy only whether the path exists.
func (d AWSEBS) Stats(target string) (total, used int64, err error) {
	exists, err := d.PathExists(target)
	if err != nil {
		return 0, 0, err
	}
	if !exists {
		return 0, 0, fmt.Errorf("path %s does not exist", target)
	}
	return d.Measure(target)
}

func (d AWSEBS) Expand(id, path string) error {
	_, mounted, err := d.deviceAt(path)
	if err != nil {
		return err
	}
	if !mounted {
		return fmt.Errorf("%s is not mounted", path)
	}
	number, err := d.Find(id)
	if err != nil {
		return err
	}
	if err := d.resizePath(path); err != nil {
		return err
	}
	_, err = d.GetDiskStats(number)
	return err
}

func (d AWSEBS) Unpublish(target string) error { return d.Rmdir(target) }

func (d AWSEBS) Unstage(path string) error {
	_, mounted, err := d.deviceAt(path)
	if err != nil || !mounted {
		return err
	}
	return unmount(d, path)
}
