package orders

import "fmt"

// LocalVolumes answers the calls that sig-storage-local-static-provisioner makes, in volume and filesystem v1 or
// in v1beta2.
type LocalVolumes interface {
	GetVolumeID(path string) (string, error)
	GetVolumeStats(id string) (total, used int64, err error)
	FormatVolume(id string) error
	IsSymlink(path string) (bool, error)
}

// LocalStatic is its pkg/util/volume_util_windows.go.
type LocalStatic struct{ LocalVolumes }

// Discover is the size of the volume behind an entry of the discovery directory, which has to be a link.
func (d LocalStatic) Discover(path string) (int64, error) {
	link, err := d.IsSymlink(path)
	if err != nil {
		return 0, err
	}
	if !link {
		return 0, fmt.Errorf("hostPath %q is not a symlink", path)
	}
	id, err := d.GetVolumeID(path)
	if err != nil {
		return 0, err
	}
	total, _, err := d.GetVolumeStats(id)
	return total, err
}

// DeleteContents formats the volume.
func (d LocalStatic) DeleteContents(path string) error {
	id, err := d.GetVolumeID(path)
	if err != nil {
		return err
	}
	return d.FormatVolume(id)
}
