package orders

import (
	"errors"
	"fmt"
	"log"
)

// AzureNode has the calls of every driver of disks, and those that only azuredisk makes.
type AzureNode interface {
	Node
	ListDiskLocations() (map[uint32]Location, error)
	WriteVolumeCache(id string) error
}

// AzureDisk makes the calls of pkg/azuredisk/nodeserver.go with pkg/mounter/safe_mounter_windows.go. Mounted
// directories are assumed to be readable.
type AzureDisk struct{ AzureNode }

// Find expects the LUN as the volume's id.
func (d AzureDisk) Find(lun string) (uint32, error) {
	if err := d.Rescan(); err != nil {
		log.Print(err)
	}
	locations, err := d.ListDiskLocations()
	if err != nil {
		return 0, err
	}
	for number, at := range locations {
		if at.LUN == lun {
			return number, nil
		}
	}
	return 0, errors.New("no disk has the LUN")
}

func (d AzureDisk) Stage(lun, path string) error {
	number, err := d.Find(lun)
	if err != nil {
		return err
	}
	if mounted, err := mounted(d, path); err != nil || mounted {
		return err
	}
	if err := d.PartitionDisk(number); err != nil {
		return err
	}
	if err := mountFirst(d, number, path); err != nil {
		return err
	}
	// The driver passes the disk's number where the rpc expects a volume id; every release of csi-proxy refuses
	// it.
	return d.ResizeVolume(fmt.Sprint(number), 0)
}

func (d AzureDisk) Publish(stage, target string) error { return publish(d, stage, target) }

func (d AzureDisk) Stats(target string) (total, used int64, err error) { return Stats(d, target) }

func (d AzureDisk) Expand(_, path string, requested int64) error {
	id, err := d.GetVolumeIDFromTargetPath(path)
	if err != nil {
		return err
	}
	resized := d.ResizeVolume(id, 0)
	total, _, err := d.GetVolumeStats(id)
	const gib = 1 << 30
	if err == nil && (total+gib-1)/gib < (requested+gib-1)/gib {
		err = fmt.Errorf("%d bytes after resizing (%v), not %d", total, resized, requested)
	}
	return err
}

func (d AzureDisk) Unpublish(target string) error { return d.Rmdir(target) }

// Unstage tries to flush the volume and removes the mounted directory.
func (d AzureDisk) Unstage(path string) error {
	id, err := d.GetVolumeIDFromTargetPath(path)
	if err == nil {
		err = d.WriteVolumeCache(id)
	}
	if err != nil {
		log.Print(err)
	}
	return d.Rmdir(path)
}
