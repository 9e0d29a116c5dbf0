package orders

import (
	"fmt"
	"strconv"
	"strings"
)

// Democratic is the part for csi-proxy of democratic-csi's src/driver/index.js with
// src/utils/csi_proxy_client.js. The driver itself is written in JavaScript, and sleeps for two seconds after
// it has mounted a volume.
type Democratic struct{ TargetNode }

// unless is the error, or nil for one whose text the driver expects.
func unless(err error, text string) error {
	if err != nil && strings.Contains(err.Error(), text) {
		return nil
	}
	return err
}

// diskOf is the target's one disk, if it has one.
func (d Democratic) diskOf(portal Portal, iqn string) (disk uint32, found bool, err error) {
	disks, err := d.GetTargetDisks(portal, iqn)
	if err := unless(err, "ObjectNotFound"); err != nil || len(disks) == 0 {
		return 0, false, err
	}
	if len(disks) > 1 {
		return 0, false, fmt.Errorf("%d disks on the target", len(disks))
	}
	number, err := strconv.ParseUint(disks[0], 10, 32)
	return uint32(number), err == nil, err
}

// volumeOf is the disk's one volume, or "".
func (d Democratic) volumeOf(disk uint32) (string, error) {
	listed, err := d.ListVolumesOnDisk(disk, 0)
	volume := ""
	for _, id := range listed {
		if id != "" && volume != "" {
			return "", fmt.Errorf("disk %d has several volumes", disk)
		}
		volume = id
	}
	return volume, err
}

func (d Democratic) volumeOfTarget(portal Portal, iqn string) (string, error) {
	disk, found, err := d.diskOf(portal, iqn)
	if err != nil || !found {
		return "", err
	}
	return d.volumeOf(disk)
}

func (d Democratic) Stage(portal Portal, iqn, path string) error {
	if err := d.AddTargetPortal(portal); err != nil {
		return err
	}
	connected := d.ConnectTarget(portal, iqn)
	if err := unless(connected, "The target has already been logged in via an iSCSI session"); err != nil {
		return err
	}
	if err := d.Rescan(); err != nil {
		return err
	}
	disk, found, err := d.diskOf(portal, iqn)
	if err != nil || !found {
		return fmt.Errorf("not one disk on the target: %w", err)
	}
	// Asked twice: the first answer is thrown away.
	if _, err := d.ListVolumesOnDisk(disk, 0); err != nil {
		return err
	}
	volume, err := d.volumeOf(disk)
	if err != nil {
		return err
	}
	if volume == "" {
		if err := d.PartitionDisk(disk); err != nil {
			return err
		}
		if volume, err = d.volumeOf(disk); err != nil || volume == "" {
			return fmt.Errorf("no volume on disk %d: %w", disk, err)
		}
	}
	formatted, err := d.IsVolumeFormatted(volume)
	if err != nil {
		return err
	}
	if !formatted {
		if err := d.FormatVolume(volume); err != nil {
			return err
		}
	}
	if err := mkdirIfMissing(d, path); err != nil {
		return err
	}
	return unless(d.MountVolume(volume, path), "The requested access path is already in use")
}

func (d Democratic) Publish(stage, target string) error {
	exists, err := d.PathExists(stage)
	if err != nil {
		return err
	}
	if !exists {
		return fmt.Errorf("staging path is not mounted: %s", stage)
	}
	if exists, err = d.PathExists(target); err != nil {
		return err
	}
	if !exists {
		return d.CreateSymlink(stage, target)
	}
	link, err := d.IsSymlink(target)
	if err == nil && !link {
		err = fmt.Errorf("target path is not a symlink: %s", target)
	}
	return err
}

func (d Democratic) Stats(portal Portal, iqn, target string) (total, used int64, err error) {
	exists, err := d.PathExists(target)
	if err != nil || !exists {
		return 0, 0, fmt.Errorf("%s is not mounted: %w", target, err)
	}
	volume, err := d.volumeOfTarget(portal, iqn)
	if err != nil {
		return 0, 0, err
	}
	return d.GetVolumeStats(volume)
}

// Expand gives ResizeVolume no size: the driver spells the field's name otherwise than the proto does.
func (d Democratic) Expand(portal Portal, iqn, target string) error {
	exists, err := d.PathExists(target)
	if err != nil || !exists {
		return fmt.Errorf("%s is not mounted: %w", target, err)
	}
	volume, err := d.volumeOfTarget(portal, iqn)
	if err != nil {
		return err
	}
	disk, _, err := d.diskOf(portal, iqn)
	if err != nil {
		return err
	}
	if volume == "" {
		return fmt.Errorf("disk %d has no volume", disk)
	}
	if err := d.Rescan(); err != nil {
		return err
	}
	return d.ResizeVolume(volume, 0)
}

func (d Democratic) Unpublish(target string) error {
	exists, err := d.PathExists(target)
	if err != nil || !exists {
		return err
	}
	link, err := d.IsSymlink(target)
	if err != nil {
		return err
	}
	if !link {
		return fmt.Errorf("target path is not a symlink: %s", target)
	}
	return d.RmdirEmpty(target)
}

func (d Democratic) Unstage(portal Portal, iqn, path string) error {
	volume, err := d.volumeOfTarget(portal, iqn)
	if err != nil {
		return err
	}
	if volume != "" {
		if err := d.WriteVolumeCache(volume); err != nil {
			return err
		}
		if err := unless(d.UnmountVolume(volume, path), "The access path is not valid"); err != nil {
			return err
		}
	}
	if err := unless(d.DisconnectTarget(portal, iqn), "ObjectNotFound"); err != nil {
		return err
	}
	return unless(d.RmdirEmpty(path), "The system cannot find the file specified")
}
