package orders

import "fmt"

// VSphere makes the calls of pkg/csi/service/node.go with mounter/mounter_windows.go and
// osutils/windows_os_utils.go.
type VSphere struct {
	Node
	// Look stands for the driver's own Lstat and ReadDir of the staging directory.
	Look func(path string) (mounted, readable bool, err error)
}

func (d VSphere) Find(id string) (uint32, error) {
	return find(d, func(ids DiskIDs) bool { return ids.Page83 == id })
}

func (d VSphere) Stage(id, path string) error {
	exists, err := d.PathExists(path)
	if err != nil {
		return err
	}
	if !exists {
		return fmt.Errorf("failed precondition: %s does not exist", path)
	}
	number, err := d.Find(id)
	if err != nil {
		return err
	}
	mounted, readable, err := d.Look(path)
	if err != nil || mounted && readable {
		return err
	}
	if mounted {
		if exists, err := d.PathExists(path); err != nil || !exists {
			return err
		}
		if err := unmount(d, path); err != nil {
			return err
		}
	}
	return formatAndMount(d, number, path)
}

func (d VSphere) Publish(stage, target string) error {
	if err := removeIfThere(d, target); err != nil {
		return err
	}
	if err := d.Mkdir(parent(target)); err != nil {
		return err
	}
	return d.CreateSymlink(stage, target)
}

func (d VSphere) Stats(target string) (total, used int64, err error) { return Stats(d, target) }

// Expand always resizes, as the releases up to v3.4 do.
func (d VSphere) Expand(_, path string) error {
	id, err := d.GetVolumeIDFromTargetPath(path)
	if err != nil {
		return err
	}
	total, _, err := d.GetVolumeStats(id)
	if err != nil {
		return err
	}
	if err := d.Rescan(); err != nil {
		return err
	}
	number, err := d.GetDiskNumberFromVolumeID(id)
	if err != nil {
		return err
	}
	size, err := d.GetDiskStats(number)
	if err != nil || total > size {
		return fmt.Errorf("%d bytes on a disk of %d: %v", total, size, err)
	}
	if number, err = d.GetDiskNumberFromVolumeID(id); err != nil {
		return err
	}
	if err := d.SetDiskState(number, true); err != nil {
		return err
	}
	return d.ResizeVolume(id, 0)
}

func (d VSphere) Unpublish(target string) error { return d.Rmdir(target) }

func (d VSphere) Unstage(path string) error {
	for range 2 {
		if exists, err := d.PathExists(path); err != nil || !exists {
			return err
		}
	}
	return unmount(d, path)
}
