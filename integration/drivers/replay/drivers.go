package main

import (
	"strings"

	"csi-proxy.example/drivers/orders"
	"csi-proxy.example/integration/drivers/clients"
	"csi-proxy.example/integration/drivers/steps"
)

// block is a driver with functions that the steps need for its volumes.
type block struct {
	orders.Driver
	identify func(disk *steps.Disk) string
	// Converts the requested path to the one that this driver passes to GetVolumeStats.
	stats func(path string) string
}

func (b block) Identify(disk *steps.Disk) string { return b.identify(disk) }

func (b block) Find(volume *steps.BlockVolume) (uint32, error) { return b.Driver.Find(volume.ID) }

func (b block) NodeStage(volume *steps.BlockVolume) error {
	return b.Stage(volume.ID, steps.Normalize(volume.Stage))
}

func (b block) NodePublish(volume *steps.BlockVolume) error {
	return b.Publish(steps.Normalize(volume.Stage), steps.Normalize(volume.Target))
}

func (b block) NodeStats(volume *steps.BlockVolume) (total, used int64, err error) {
	return b.Stats(b.stats(volume.Target))
}

func (b block) NodeExpand(volume *steps.BlockVolume) error {
	return b.Expand(volume.ID, steps.Normalize(volume.Target))
}

func (b block) NodeUnpublish(volume *steps.BlockVolume) error {
	return b.Unpublish(steps.Normalize(volume.Target))
}

func (b block) NodeUnstage(volume *steps.BlockVolume) error {
	return b.Unstage(steps.Normalize(volume.Stage))
}

// ownDisks lists disks with a separate client, which it closes after the call.
type ownDisks struct{ *clients.Clients }

func (c ownDisks) ListDiskIDs() (map[uint32]orders.DiskIDs, error) {
	client, err := newDiskClient()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return clients.ListDiskIDs(client)
}

func awsEBS(made *clients.Clients) block {
	// Replaces the driver's own GetDiskFreeSpaceEx.
	measure := func(path string) (total, used int64, err error) { return orders.Stats(made, path) }
	return block{
		Driver: orders.AWSEBS{Node: ownDisks{made}, Measure: measure},
		// On Nitro's NVMe disks the serial number is the volume's id without its dash, followed by the namespace.
		identify: func(disk *steps.Disk) string {
			return strings.Replace(strings.TrimSuffix(disk.SerialNumber, "_00000001."), "vol", "vol-", 1)
		},
		stats: steps.Normalize,
	}
}

// vsphere makes these calls to the Go library v2 today. Up to v3.4 it made them over the v1 pipes, as here.
func vsphere(made *clients.Clients, run *steps.Run) block {
	look := func(path string) (mounted, readable bool, err error) {
		err = run.Then(func(node *steps.Node) error {
			entry := node.At(path)
			mounted = entry != nil && (entry.MountedVolumeID != "" || entry.Kind == "LINK")
			readable = node.ReadDir(path) == nil
			return nil
		})
		return mounted, readable, err
	}
	return block{
		Driver: orders.VSphere{Node: made, Look: look},
		// The publish context's diskUUID is in page 83.
		identify: func(disk *steps.Disk) string { return disk.Page83 },
		stats:    func(path string) string { return path },
	}
}

// share makes a steps.Share of csi-driver-smb. Its count records a volume for the recovery of the steps.
type share struct{ *orders.SMB }

func (s share) NodeStage(volume *steps.ShareVolume) error {
	return s.Stage(volume.Remote, steps.Normalize(volume.Stage), volume.User, volume.Password)
}

func (s share) NodePublish(volume *steps.ShareVolume) error {
	return s.Publish(steps.Normalize(volume.Stage), steps.Normalize(volume.Target))
}

func (s share) NodeUnpublish(volume *steps.ShareVolume) error {
	return s.Unpublish(steps.Normalize(volume.Target))
}

func (s share) NodeUnstage(volume *steps.ShareVolume) error {
	return s.Unstage(steps.Normalize(volume.Stage))
}

// count records a volume as a user of its share.
func (s share) count(volume *steps.ShareVolume) {
	s.Count(volume.Remote, steps.Normalize(volume.Stage))
}

// csiDriverSMB lets the driver see the node's files instead of those of Wine's drive.
func csiDriverSMB(made *clients.Clients, run *steps.Run) share {
	return share{&orders.SMB{
		ShareNode: made,
		MkdirAll:  run.MakeDirectory,
		ReadDir:   run.ReadDir,
		Readlink: func(path string) (to string, err error) {
			err = run.Then(func(node *steps.Node) error {
				entry := node.At(path)
				if entry == nil || entry.Kind != "LINK" {
					return orders.ErrNotLink
				}
				to = strings.TrimSuffix(entry.Target, `\`)
				return nil
			})
			return to, err
		},
	}}
}
