package orders

import "strings"

// GCPPD makes the calls of pkg/gce-pd-csi-driver/node.go with pkg/mount-manager/safe-mounter-v1_windows.go and
// pkg/resizefs, when the metadata server does not know the disk.
type GCPPD struct{ Node }

func (d GCPPD) Find(id string) (uint32, error) {
	return find(d, func(ids DiskIDs) bool {
		words := strings.Fields(ids.Page83)
		return len(words) > 0 && words[len(words)-1] == id
	})
}

// mounted is the driver's isVolumePathMounted.
func (d GCPPD) mounted(path string) bool {
	mounted, err := d.IsSymlink(path)
	return err == nil && mounted
}

func (d GCPPD) Stage(id, path string) error {
	number, err := d.Find(id)
	if err != nil || d.mounted(path) {
		return err
	}
	if _, err := d.GetDiskStats(number); err != nil {
		return err
	}
	if err := formatAndMount(d, number, path); err != nil {
		return err
	}
	return resize(d, path)
}

func (d GCPPD) Publish(stage, target string) error {
	if d.mounted(target) {
		return nil
	}
	if err := removeIfThere(d, target); err != nil {
		return err
	}
	return d.CreateSymlink(stage, target)
}

func (d GCPPD) Stats(target string) (total, used int64, err error) { return Stats(d, target) }

func (d GCPPD) Expand(id, path string, _ int64) error {
	number, err := d.Find(id)
	if err != nil {
		return err
	}
	if err := resize(d, path); err != nil {
		return err
	}
	_, err = d.GetDiskStats(number)
	return err
}

func (d GCPPD) Unpublish(target string) error { return d.Rmdir(target) }

// Unstage looks for the disk at the end and ignores the result, as the driver does.
func (d GCPPD) Unstage(path string) error {
	if exists, err := d.PathExists(path); err != nil || !exists {
		return err
	}
	if err := unmount(d, path); err != nil {
		return err
	}
	_, _ = d.ListDiskIDs()
	return nil
}
