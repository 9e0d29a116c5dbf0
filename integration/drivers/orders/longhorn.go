package orders

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Longhorn is windowscsi/server_windows.go of the Windows node server of a fork of longhorn-manager.
type Longhorn struct{ TargetNode }

// ensurePortal refreshes a registered portal only if the target is not known there yet.
func (d Longhorn) ensurePortal(portal Portal, iqn string) error {
	known := func() (bool, error) {
		found, err := d.DiscoverTargetPortal(portal)
		return slices.ContainsFunc(found, func(name string) bool { return strings.EqualFold(name, iqn) }), err
	}
	if found, err := known(); err == nil && found {
		return nil
	}
	if err := d.AddTargetPortal(portal); err != nil {
		return err
	}
	found, err := known()
	if err == nil && !found {
		err = fmt.Errorf("target %s was not discovered at %s:%d", iqn, portal.Address, portal.Port)
	}
	return err
}

func (d Longhorn) Stage(portal Portal, iqn, path string) error {
	if err := d.ensurePortal(portal, iqn); err != nil {
		return err
	}
	if err := d.ConnectTarget(portal, iqn); err != nil {
		if disks, asked := d.GetTargetDisks(portal, iqn); asked != nil || len(disks) == 0 {
			return err
		}
	}
	disks, err := d.GetTargetDisks(portal, iqn)
	if err != nil || len(disks) != 1 {
		return fmt.Errorf("target %s has %d disks: %w", iqn, len(disks), err)
	}
	disk, err := strconv.ParseUint(disks[0], 10, 32)
	if err != nil {
		return err
	}
	if err := d.SetDiskState(uint32(disk), true); err != nil {
		return err
	}
	if err := d.PartitionDisk(uint32(disk)); err != nil {
		return err
	}
	volumes, err := d.ListVolumesOnDisk(uint32(disk), 0)
	if err != nil || len(volumes) != 1 {
		return fmt.Errorf("disk %d has %d volumes: %w", disk, len(volumes), err)
	}
	formatted, err := d.IsVolumeFormatted(volumes[0])
	if err != nil {
		return err
	}
	if !formatted {
		if err := d.FormatVolume(volumes[0]); err != nil {
			return err
		}
	}
	if err := mkdirIfMissing(d, path); err != nil {
		return err
	}
	return d.MountVolume(volumes[0], path)
}

func (d Longhorn) Publish(stage, target string) error {
	exists, err := d.PathExists(target)
	if err != nil {
		return err
	}
	if exists {
		if link, err := d.IsSymlink(target); err == nil && link {
			return nil
		}
		if err := d.RmdirEmpty(target); err != nil {
			return err
		}
	}
	if err := mkdirIfMissing(d, parent(target)); err != nil {
		return err
	}
	err = d.CreateSymlink(stage, target)
	if err != nil {
		if link, asked := d.IsSymlink(target); asked == nil && link {
			return nil
		}
	}
	return err
}

func (d Longhorn) Stats(_ Portal, _, target string) (total, used int64, err error) {
	id, err := d.GetVolumeIDFromTargetPath(target)
	if err != nil {
		return 0, 0, err
	}
	return d.GetVolumeStats(id)
}

func (d Longhorn) Unpublish(target string) error {
	err := d.Rmdir(target)
	if err != nil {
		if exists, asked := d.PathExists(target); asked == nil && !exists {
			return nil
		}
	}
	return err
}

// Unstage never fails: the driver looks at no error, and leaves the directory to the kubelet.
func (d Longhorn) Unstage(portal Portal, iqn, path string) error {
	if id, err := d.GetVolumeIDFromTargetPath(path); err == nil && id != "" {
		d.UnmountVolume(id, path)
		if disk, err := d.GetDiskNumberFromVolumeID(id); err == nil {
			d.SetDiskState(disk, false)
		}
	}
	d.DisconnectTarget(portal, iqn)
	return nil
}
