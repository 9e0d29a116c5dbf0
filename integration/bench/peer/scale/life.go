package main

import (
	"fmt"
	"strings"
	"time"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
)

// A pod with a volume of its own, and the calls that a driver makes for it, in the order in which
// aws-ebs-csi-driver makes them (pkg/driver/node.go, pkg/mounter/mount_windows.go). The answers are
// looked at.
type pod struct {
	clients *clients
	log     *callLog
	name    string // of the volume
	uid     string
	number  uint32 // of the disk
	volume  string
}

func (p *pod) stagePath() string  { return stagePath(p.name) }
func (p *pod) targetPath() string { return targetPath(p.uid) }

// steps makes calls until one fails.
func steps(all ...func() error) error {
	for _, step := range all {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (p *pod) timed(rpc string, call func() error) error {
	begin := time.Now()
	err := call()
	p.log.add(rpc, time.Since(begin), err)
	if err != nil {
		return fmt.Errorf("%s of volume %s: %w", rpc, p.name, err)
	}
	return nil
}

func (p *pod) find() error {
	return p.timed("ListDiskIDs", func() error {
		got, err := p.clients.disk.ListDiskIDs(background, &disk.ListDiskIDsRequest{})
		if err != nil {
			return err
		}
		for number, id := range got.GetDiskIDs() {
			if id.GetSerialNumber() == p.name {
				return told(number, p.number, nil)
			}
		}
		return fmt.Errorf("the disk is not listed")
	})
}

func (p *pod) exists(path string, want bool) func() error {
	return func() error {
		return p.timed("PathExists", func() error {
			got, err := p.clients.filesystem.PathExists(background, &filesystem.PathExistsRequest{Path: path})
			return told(got.GetExists(), want, err)
		})
	}
}

func (p *pod) mkdir() error {
	return p.timed("Mkdir", func() error {
		_, err := p.clients.filesystem.Mkdir(background, &filesystem.MkdirRequest{Path: p.stagePath()})
		return err
	})
}

func (p *pod) remove(path string) func() error {
	return func() error {
		return p.timed("Rmdir", func() error {
			_, err := p.clients.filesystem.Rmdir(background, &filesystem.RmdirRequest{Path: path, Force: true})
			return err
		})
	}
}

// nothingMounted: the driver takes an error with these words for that.
func (p *pod) nothingMounted() error {
	return p.timed("GetVolumeIDFromTargetPath", func() error {
		_, err := p.clients.volume.GetVolumeIDFromTargetPath(background,
			&volume.GetVolumeIDFromTargetPathRequest{TargetPath: p.stagePath()})
		if err == nil || !strings.Contains(err.Error(), "because it does not exist") {
			return fmt.Errorf("nothing is mounted there: %v", err)
		}
		return nil
	})
}

func (p *pod) mounted(path string) func() error {
	return func() error {
		return p.timed("GetVolumeIDFromTargetPath", func() error {
			got, err := p.clients.volume.GetVolumeIDFromTargetPath(background,
				&volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
			return told(got.GetVolumeId(), p.volume, err)
		})
	}
}

func (p *pod) partition() error {
	return p.timed("PartitionDisk", func() error {
		_, err := p.clients.disk.PartitionDisk(background, &disk.PartitionDiskRequest{DiskNumber: p.number})
		return err
	})
}

func (p *pod) setOnline(online bool) func() error {
	return func() error {
		return p.timed("SetDiskState", func() error {
			_, err := p.clients.disk.SetDiskState(background,
				&disk.SetDiskStateRequest{DiskNumber: p.number, IsOnline: online})
			return err
		})
	}
}

func (p *pod) listVolumes() error {
	return p.timed("ListVolumesOnDisk", func() error {
		got, err := p.clients.volume.ListVolumesOnDisk(background,
			&volume.ListVolumesOnDiskRequest{DiskNumber: p.number})
		if err != nil {
			return err
		}
		if len(got.GetVolumeIds()) != 1 {
			return fmt.Errorf("the volumes are %v", got.GetVolumeIds())
		}
		p.volume = got.GetVolumeIds()[0]
		return nil
	})
}

func (p *pod) format() error {
	err := p.timed("IsVolumeFormatted", func() error {
		got, err := p.clients.volume.IsVolumeFormatted(background, &volume.IsVolumeFormattedRequest{VolumeId: p.volume})
		return told(got.GetFormatted(), false, err)
	})
	if err != nil {
		return err
	}
	return p.timed("FormatVolume", func() error {
		_, err := p.clients.volume.FormatVolume(background, &volume.FormatVolumeRequest{VolumeId: p.volume})
		return err
	})
}

func (p *pod) mount() error {
	return p.timed("MountVolume", func() error {
		_, err := p.clients.volume.MountVolume(background,
			&volume.MountVolumeRequest{VolumeId: p.volume, TargetPath: p.stagePath()})
		return err
	})
}

func (p *pod) unmount() error {
	return p.timed("UnmountVolume", func() error {
		_, err := p.clients.volume.UnmountVolume(background,
			&volume.UnmountVolumeRequest{VolumeId: p.volume, TargetPath: p.stagePath()})
		return err
	})
}

func (p *pod) rescan() error {
	return p.timed("Rescan", func() error {
		_, err := p.clients.disk.Rescan(background, &disk.RescanRequest{})
		return err
	})
}

func (p *pod) diskStats() error {
	return p.timed("GetDiskStats", func() error {
		got, err := p.clients.disk.GetDiskStats(background, &disk.GetDiskStatsRequest{DiskNumber: p.number})
		return told(got.GetTotalBytes(), diskBytes, err)
	})
}

func (p *pod) stats() error {
	return p.timed("GetVolumeStats", func() error {
		got, err := p.clients.volume.GetVolumeStats(background, &volume.GetVolumeStatsRequest{VolumeId: p.volume})
		if err == nil && (got.TotalBytes < diskBytes*9/10 || got.UsedBytes <= 0 || got.UsedBytes > got.TotalBytes) {
			return fmt.Errorf("the answer is %v", got)
		}
		return err
	})
}

func (p *pod) diskOfVolume() error {
	return p.timed("GetDiskNumberFromVolumeID", func() error {
		got, err := p.clients.volume.GetDiskNumberFromVolumeID(background,
			&volume.GetDiskNumberFromVolumeIDRequest{VolumeId: p.volume})
		return told(got.GetDiskNumber(), p.number, err)
	})
}

func (p *pod) link() error {
	return p.timed("CreateSymlink", func() error {
		_, err := p.clients.filesystem.CreateSymlink(background,
			&filesystem.CreateSymlinkRequest{SourcePath: p.stagePath(), TargetPath: p.targetPath()})
		return err
	})
}

func (p *pod) stage() error {
	return steps(p.find, p.exists(p.stagePath(), false), p.mkdir, p.nothingMounted, p.partition, p.setOnline(true),
		p.listVolumes, p.format, p.mount, p.rescan, p.diskStats, p.mounted(p.stagePath()), p.stats)
}

func (p *pod) publish() error {
	target := p.targetPath()
	return steps(p.exists(target, false), p.exists(target, false), p.link, p.mounted(target))
}

func (p *pod) unpublish() error { return p.remove(p.targetPath())() }

func (p *pod) unstage() error {
	stage := p.stagePath()
	return steps(p.mounted(stage), p.diskOfVolume, p.mounted(stage), p.unmount, p.remove(stage), p.diskOfVolume,
		p.setOnline(false), p.exists(stage, false))
}
