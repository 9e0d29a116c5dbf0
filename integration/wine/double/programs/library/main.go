// Takes a node through all steps with the Go release's library in this process, or with the module that
// replaces it. -documented means that the library has no quirks, which is true of the module.
//
// winsymlink=0 is the setting of the release's own module. It determines the type that os.Lstat returns for mount
// points.
//
//go:debug winsymlink=0
package main

import (
	"context"
	"flag"
	"log"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	smbapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	systemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"

	"csi-proxy.example/drivers/orders"
	"csi-proxy.example/drivers/orders/nodelife"
)

type node struct {
	disk   disk.Interface
	volume volume.Interface
	smb    smb.Interface
	iscsi  iscsi.Interface
	system system.Interface
}

var ctx = context.Background()

func must[T any](made T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return made
}

func main() {
	documented := flag.Bool("documented", false, "expect what is documented, not the library's quirks")
	flag.Parse()
	quirks := nodelife.Quirks{SecondMountFails: true, NoMBR: true}
	if *documented {
		quirks = nodelife.Quirks{}
	}
	files := must(filesystem.New(filesystemapi.New()))
	led := &node{
		must(disk.New(diskapi.New())),
		must(volume.New(volumeapi.New())),
		must(smb.New(smbapi.New(), files)),
		must(iscsi.New(iscsiapi.New())),
		must(system.New(systemapi.New())),
	}
	nodelife.Main("by the library", led, quirks)
}

// orEmpty returns an empty response instead of nil, so that its fields can be read.
func orEmpty[T any](response *T, err error) (*T, error) {
	if response == nil {
		response = new(T)
	}
	return response, err
}

func (n *node) ListDiskIDs() (map[uint32]orders.DiskIDs, error) {
	r, err := orEmpty(n.disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{}))
	ids := map[uint32]orders.DiskIDs{}
	for number, id := range r.DiskIDs {
		ids[number] = orders.DiskIDs{Page83: id.Page83, SerialNumber: id.SerialNumber}
	}
	return ids, err
}

func (n *node) ListDiskLocations() (map[uint32]orders.Location, error) {
	r, err := orEmpty(n.disk.ListDiskLocations(ctx, &disk.ListDiskLocationsRequest{}))
	locations := map[uint32]orders.Location{}
	for number, at := range r.DiskLocations {
		locations[number] = orders.Location{Adapter: at.Adapter, Target: at.Target, LUN: at.LUNID}
	}
	return locations, err
}

func (n *node) Rescan() error { return orders.ErrorOf(n.disk.Rescan(ctx, &disk.RescanRequest{})) }

func (n *node) PartitionDisk(number uint32) error {
	return orders.ErrorOf(n.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number}))
}

func (n *node) GetDiskStats(number uint32) (int64, error) {
	r, err := orEmpty(n.disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: number}))
	return r.TotalBytes, err
}

func (n *node) GetDiskState(number uint32) (bool, error) {
	r, err := orEmpty(n.disk.GetDiskState(ctx, &disk.GetDiskStateRequest{DiskNumber: number}))
	return r.IsOnline, err
}

func (n *node) SetDiskState(number uint32, online bool) error {
	return orders.ErrorOf(n.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: online}))
}

func (n *node) ListVolumesOnDisk(number, partition uint32) ([]string, error) {
	r, err := orEmpty(n.volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number, PartitionNumber: partition}))
	return r.VolumeIDs, err
}

func (n *node) IsVolumeFormatted(id string) (bool, error) {
	r, err := orEmpty(n.volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: id}))
	return r.Formatted, err
}

func (n *node) FormatVolume(id string) error {
	return orders.ErrorOf(n.volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id}))
}

func (n *node) MountVolume(id, path string) error {
	return orders.ErrorOf(n.volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: id, TargetPath: path}))
}

func (n *node) UnmountVolume(id, path string) error {
	return orders.ErrorOf(n.volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: path}))
}

func (n *node) WriteVolumeCache(id string) error {
	return orders.ErrorOf(n.volume.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: id}))
}

func (n *node) ResizeVolume(id string, size int64) error {
	return orders.ErrorOf(n.volume.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeID: id, SizeBytes: size}))
}

func (n *node) GetVolumeStats(id string) (int64, int64, error) {
	r, err := orEmpty(n.volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: id}))
	return r.TotalBytes, r.UsedBytes, err
}

func (n *node) GetDiskNumberFromVolumeID(id string) (uint32, error) {
	r, err := orEmpty(n.volume.GetDiskNumberFromVolumeID(ctx, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: id}))
	return r.DiskNumber, err
}

func (n *node) GetVolumeIDFromTargetPath(path string) (string, error) {
	r, err := orEmpty(n.volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path}))
	return r.VolumeID, err
}

func (n *node) GetClosestVolumeIDFromTargetPath(path string) (string, error) {
	r, err := orEmpty(n.volume.GetClosestVolumeIDFromTargetPath(ctx, &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path}))
	return r.VolumeID, err
}

func (n *node) NewSmbGlobalMapping(remote, local, user, password string) error {
	_, err := n.smb.NewSMBGlobalMapping(ctx, &smb.NewSMBGlobalMappingRequest{
		RemotePath: remote, LocalPath: local, Username: user, Password: password,
	})
	return err
}

func (n *node) RemoveSmbGlobalMapping(remote string) error {
	return orders.ErrorOf(n.smb.RemoveSMBGlobalMapping(ctx, &smb.RemoveSMBGlobalMappingRequest{RemotePath: remote}))
}

func target(p nodelife.Portal) *iscsi.TargetPortal {
	return &iscsi.TargetPortal{TargetAddress: p.Address, TargetPort: p.Port}
}

func (n *node) AddTargetPortal(p nodelife.Portal) error {
	return orders.ErrorOf(n.iscsi.AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{TargetPortal: target(p)}))
}

func (n *node) ListTargetPortals() ([]nodelife.Portal, error) {
	r, err := orEmpty(n.iscsi.ListTargetPortals(ctx, &iscsi.ListTargetPortalsRequest{}))
	var portals []nodelife.Portal
	for _, p := range r.TargetPortals {
		portals = append(portals, nodelife.Portal{Address: p.TargetAddress, Port: p.TargetPort})
	}
	return portals, err
}

func (n *node) DiscoverTargetPortal(p nodelife.Portal) ([]string, error) {
	r, err := orEmpty(n.iscsi.DiscoverTargetPortal(ctx, &iscsi.DiscoverTargetPortalRequest{TargetPortal: target(p)}))
	return r.IQNs, err
}

func (n *node) RemoveTargetPortal(p nodelife.Portal) error {
	return orders.ErrorOf(n.iscsi.RemoveTargetPortal(ctx, &iscsi.RemoveTargetPortalRequest{TargetPortal: target(p)}))
}

func (n *node) SetMutualChapSecret(secret string) error {
	return orders.ErrorOf(n.iscsi.SetMutualChapSecret(ctx, &iscsi.SetMutualChapSecretRequest{MutualChapSecret: secret}))
}

func (n *node) ConnectTarget(p nodelife.Portal, iqn string, chap int, user, secret string) error {
	_, err := n.iscsi.ConnectTarget(ctx, &iscsi.ConnectTargetRequest{
		TargetPortal: target(p), IQN: iqn, AuthType: iscsi.AuthenticationType(chap), ChapUsername: user, ChapSecret: secret,
	})
	return err
}

func (n *node) DisconnectTarget(p nodelife.Portal, iqn string) error {
	return orders.ErrorOf(n.iscsi.DisconnectTarget(ctx, &iscsi.DisconnectTargetRequest{TargetPortal: target(p), IQN: iqn}))
}

func (n *node) GetTargetDisks(p nodelife.Portal, iqn string) ([]string, error) {
	r, err := orEmpty(n.iscsi.GetTargetDisks(ctx, &iscsi.GetTargetDisksRequest{TargetPortal: target(p), IQN: iqn}))
	return r.DiskIDs, err
}

func (n *node) GetBIOSSerialNumber() (string, error) {
	r, err := orEmpty(n.system.GetBIOSSerialNumber(ctx, &system.GetBIOSSerialNumberRequest{}))
	return strings.TrimSpace(r.SerialNumber), err
}

func (n *node) GetService(name string) (nodelife.Service, error) {
	r, err := orEmpty(n.system.GetService(ctx, &system.GetServiceRequest{Name: name}))
	return nodelife.Service{DisplayName: r.DisplayName, StartType: uint32(r.StartType), Status: uint32(r.Status)}, err
}

func (n *node) StartService(name string) error {
	return orders.ErrorOf(n.system.StartService(ctx, &system.StartServiceRequest{Name: name}))
}

func (n *node) StopService(name string, force bool) error {
	return orders.ErrorOf(n.system.StopService(ctx, &system.StopServiceRequest{Name: name, Force: force}))
}
