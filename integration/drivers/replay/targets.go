package main

import (
	"fmt"

	"csi-proxy.example/drivers/orders"
	"csi-proxy.example/drivers/steps"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	iscsi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	system "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
)

// targetClients are those of drivers of iSCSI volumes.
type targetClients struct {
	*clients
	targets iscsi.IscsiClient
}

func newTargetClients(made *clients) (*targetClients, error) {
	targets, err := newIscsiClient()
	return &targetClients{made, targets}, err
}

func portalOf(portal orders.Portal) *iscsi.TargetPortal {
	return &iscsi.TargetPortal{TargetAddress: portal.Address, TargetPort: portal.Port}
}

func (c *targetClients) AddTargetPortal(portal orders.Portal) error {
	_, err := c.targets.AddTargetPortal(background, &iscsi.AddTargetPortalRequest{TargetPortal: portalOf(portal)})
	return err
}

func (c *targetClients) DiscoverTargetPortal(portal orders.Portal) ([]string, error) {
	out, err := c.targets.DiscoverTargetPortal(background, &iscsi.DiscoverTargetPortalRequest{TargetPortal: portalOf(portal)})
	return out.GetIqns(), err
}

func (c *targetClients) ConnectTarget(portal orders.Portal, iqn string) error {
	_, err := c.targets.ConnectTarget(background, &iscsi.ConnectTargetRequest{TargetPortal: portalOf(portal), Iqn: iqn})
	return err
}

func (c *targetClients) DisconnectTarget(portal orders.Portal, iqn string) error {
	_, err := c.targets.DisconnectTarget(background, &iscsi.DisconnectTargetRequest{TargetPortal: portalOf(portal), Iqn: iqn})
	return err
}

func (c *targetClients) GetTargetDisks(portal orders.Portal, iqn string) ([]string, error) {
	out, err := c.targets.GetTargetDisks(background, &iscsi.GetTargetDisksRequest{TargetPortal: portalOf(portal), Iqn: iqn})
	return out.GetDiskIDs(), err
}

func (c *targetClients) RmdirEmpty(path string) error {
	_, err := c.files.Rmdir(background, &filesystem.RmdirRequest{Path: path})
	return err
}

func (c *targetClients) WriteVolumeCache(id string) error {
	_, err := c.volumes.WriteVolumeCache(background, &volume.WriteVolumeCacheRequest{VolumeId: id})
	return err
}

func (c *targetClients) ready() error {
	if err := c.clients.ready(); err != nil {
		return err
	}
	_, err := c.targets.ListTargetPortals(background, &iscsi.ListTargetPortalsRequest{})
	return err
}

// target is a driver with what the steps know of its volumes.
type target struct{ orders.TargetDriver }

func addressOf(volume *steps.TargetVolume) orders.Portal {
	return orders.Portal{Address: volume.Address, Port: volume.Port}
}

func (t target) NodeStage(volume *steps.TargetVolume) error {
	return t.Stage(addressOf(volume), volume.IQN, steps.Normalize(volume.Stage))
}

func (t target) NodePublish(volume *steps.TargetVolume) error {
	return t.Publish(steps.Normalize(volume.Stage), steps.Normalize(volume.Target))
}

func (t target) NodeStats(volume *steps.TargetVolume) (total, used int64, err error) {
	return t.Stats(addressOf(volume), volume.IQN, steps.Normalize(volume.Target))
}

func (t target) NodeUnpublish(volume *steps.TargetVolume) error {
	return t.Unpublish(steps.Normalize(volume.Target))
}

func (t target) NodeUnstage(volume *steps.TargetVolume) error {
	return t.Unstage(addressOf(volume), volume.IQN, steps.Normalize(volume.Stage))
}

// democratic makes clients of all six groups, and calls that of system nowhere.
func democratic(run *steps.Run, made *clients) error {
	targets, err := newTargetClients(made)
	if err != nil {
		return err
	}
	services, err := newSystemClient()
	if err != nil {
		return err
	}
	run.Ready = targets.ready
	driver := orders.Democratic{TargetNode: targets}
	life := &steps.TargetLife{Run: run, Driver: target{driver}, Kills: steps.KillsSeldomOnLinux()}
	life.Expand = func(volume *steps.TargetVolume) error {
		return driver.Expand(addressOf(volume), volume.IQN, steps.Normalize(volume.Target))
	}
	// The driver looks for a text of csi-proxy's PowerShell in the error of a volume that is not mounted any more.
	life.Recover = func(volume *steps.TargetVolume) error {
		return driver.DisconnectTarget(addressOf(volume), volume.IQN)
	}
	life.More = func(l *steps.TargetLife) {
		l.Step("the pipe of system v1alpha1, which the pod mounts, answers", func() error {
			out, err := services.GetBIOSSerialNumber(background, &system.GetBIOSSerialNumberRequest{})
			if err == nil && out.SerialNumber == "" {
				err = fmt.Errorf("the node has no serial number")
			}
			return err
		})
	}
	life.All("org.democratic-csi.iscsi", "9baea05, replayed")
	return nil
}
