package main

import (
	"strings"

	"csi-proxy.example/drivers/clients"
	"csi-proxy.example/drivers/orders"
	"csi-proxy.example/drivers/steps"
)

// share is csi-driver-smb with a function that the steps need for its volumes.
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
				entry, _ := node.At(path)
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
