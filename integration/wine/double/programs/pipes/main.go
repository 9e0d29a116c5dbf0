// Takes a node through all steps over the pipes of any service, as drivers reach it.
package main

import (
	"context"
	"flag"
	"log"
	"strings"
	"time"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	closestapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	iscsi "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha2"
	smb "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	system "github.com/kubernetes-csi/csi-proxy/client/groups/system/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
	closest "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v2alpha1"

	"csi-proxy.example/drivers/orders"
	"csi-proxy.example/drivers/orders/nodelife"
	"csi-proxy.example/integration/drivers/clients"
)

type node struct {
	*clients.Clients
	// Volume v2alpha1, for the calls that v1 lacks.
	closest *closest.Client
	iscsi   *iscsi.Client
	system  *system.Client
}

var ctx = context.Background()

// open waits until the pipe exists.
func open[T any](newClient func() (*T, error)) *T {
	var client *T
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if client, err = newClient(); err == nil {
			return client
		}
	}
	log.Fatal(err)
	return nil
}

func main() {
	release := flag.Bool("release", false, "the Go release serves the pipes")
	flag.Parse()
	served := &node{
		&clients.Clients{Disks: open(disk.NewClient), Volumes: open(volume.NewClient), Shares: open(smb.NewClient)},
		open(closest.NewClient), open(iscsi.NewClient), open(system.NewClient),
	}
	nodelife.Main("over the pipes", served, nodelife.Quirks{SecondMountFails: *release, NoMBR: *release})
}

func (n *node) ListDiskLocations() (map[uint32]orders.Location, error) {
	r, err := n.Disks.ListDiskLocations(ctx, &diskapi.ListDiskLocationsRequest{})
	locations := map[uint32]orders.Location{}
	for number, at := range r.GetDiskLocations() {
		locations[number] = orders.Location{Adapter: at.Adapter, Target: at.Target, LUN: at.LUNID}
	}
	return locations, err
}

func (n *node) GetDiskState(number uint32) (bool, error) {
	r, err := n.Disks.GetDiskState(ctx, &diskapi.GetDiskStateRequest{DiskNumber: number})
	return r.GetIsOnline(), err
}

func (n *node) WriteVolumeCache(id string) error {
	return orders.ErrorOf(n.Volumes.WriteVolumeCache(ctx, &volumeapi.WriteVolumeCacheRequest{VolumeId: id}))
}

func (n *node) GetClosestVolumeIDFromTargetPath(path string) (string, error) {
	r, err := n.closest.GetClosestVolumeIDFromTargetPath(ctx, &closestapi.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path})
	return r.GetVolumeId(), err
}

func target(p nodelife.Portal) *iscsiapi.TargetPortal {
	return &iscsiapi.TargetPortal{TargetAddress: p.Address, TargetPort: p.Port}
}

func (n *node) AddTargetPortal(p nodelife.Portal) error {
	return orders.ErrorOf(n.iscsi.AddTargetPortal(ctx, &iscsiapi.AddTargetPortalRequest{TargetPortal: target(p)}))
}

func (n *node) ListTargetPortals() ([]nodelife.Portal, error) {
	r, err := n.iscsi.ListTargetPortals(ctx, &iscsiapi.ListTargetPortalsRequest{})
	var portals []nodelife.Portal
	for _, p := range r.GetTargetPortals() {
		portals = append(portals, nodelife.Portal{Address: p.TargetAddress, Port: p.TargetPort})
	}
	return portals, err
}

func (n *node) DiscoverTargetPortal(p nodelife.Portal) ([]string, error) {
	r, err := n.iscsi.DiscoverTargetPortal(ctx, &iscsiapi.DiscoverTargetPortalRequest{TargetPortal: target(p)})
	return r.GetIqns(), err
}

func (n *node) RemoveTargetPortal(p nodelife.Portal) error {
	return orders.ErrorOf(n.iscsi.RemoveTargetPortal(ctx, &iscsiapi.RemoveTargetPortalRequest{TargetPortal: target(p)}))
}

func (n *node) SetMutualChapSecret(secret string) error {
	return orders.ErrorOf(n.iscsi.SetMutualChapSecret(ctx, &iscsiapi.SetMutualChapSecretRequest{MutualChapSecret: secret}))
}

func (n *node) ConnectTarget(p nodelife.Portal, iqn string, chap int, user, secret string) error {
	_, err := n.iscsi.ConnectTarget(ctx, &iscsiapi.ConnectTargetRequest{
		TargetPortal: target(p), Iqn: iqn, AuthType: iscsiapi.AuthenticationType(chap), ChapUsername: user, ChapSecret: secret,
	})
	return err
}

func (n *node) DisconnectTarget(p nodelife.Portal, iqn string) error {
	return orders.ErrorOf(n.iscsi.DisconnectTarget(ctx, &iscsiapi.DisconnectTargetRequest{TargetPortal: target(p), Iqn: iqn}))
}

func (n *node) GetTargetDisks(p nodelife.Portal, iqn string) ([]string, error) {
	r, err := n.iscsi.GetTargetDisks(ctx, &iscsiapi.GetTargetDisksRequest{TargetPortal: target(p), Iqn: iqn})
	return r.GetDiskIDs(), err
}

func (n *node) GetBIOSSerialNumber() (string, error) {
	r, err := n.system.GetBIOSSerialNumber(ctx, &systemapi.GetBIOSSerialNumberRequest{})
	return strings.TrimSpace(r.GetSerialNumber()), err
}

func (n *node) GetService(name string) (nodelife.Service, error) {
	r, err := n.system.GetService(ctx, &systemapi.GetServiceRequest{Name: name})
	return nodelife.Service{DisplayName: r.GetDisplayName(), StartType: uint32(r.GetStartType()), Status: uint32(r.GetStatus())}, err
}

func (n *node) StartService(name string) error {
	return orders.ErrorOf(n.system.StartService(ctx, &systemapi.StartServiceRequest{Name: name}))
}

func (n *node) StopService(name string, force bool) error {
	return orders.ErrorOf(n.system.StopService(ctx, &systemapi.StopServiceRequest{Name: name, Force: force}))
}
