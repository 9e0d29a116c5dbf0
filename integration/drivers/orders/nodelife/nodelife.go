// Package nodelife takes a node through the life of volumes, shares and targets, and checks the node's answers
// after each step. The answers are the same for every server: the Go release, its library, and this project's
// service.
package nodelife

import (
	"fmt"
	"os"
	"strings"
	"time"

	"csi-proxy.example/drivers/orders"
)

// Portal is an iSCSI target portal.
type Portal struct {
	Address string
	Port    uint32
}

// Service is the state of a Windows service, in the API's numbers.
type Service struct {
	DisplayName       string
	StartType, Status uint32
}

// Node is the node under test.
type Node interface {
	orders.Disks
	ListDiskLocations() (map[uint32]orders.Location, error)
	GetDiskState(disk uint32) (bool, error)
	WriteVolumeCache(volume string) error
	GetClosestVolumeIDFromTargetPath(path string) (string, error)

	NewSmbGlobalMapping(remote, local, user, password string) error
	RemoveSmbGlobalMapping(remote string) error

	AddTargetPortal(portal Portal) error
	ListTargetPortals() ([]Portal, error)
	DiscoverTargetPortal(portal Portal) ([]string, error)
	RemoveTargetPortal(portal Portal) error
	SetMutualChapSecret(secret string) error
	// chap is 0 for none, 1 for one way, 2 for mutual.
	ConnectTarget(portal Portal, iqn string, chap int, user, secret string) error
	DisconnectTarget(portal Portal, iqn string) error
	GetTargetDisks(portal Portal, iqn string) ([]string, error)

	GetBIOSSerialNumber() (string, error)
	GetService(name string) (Service, error)
	StartService(name string) error
	StopService(name string, force bool) error
}

// Quirks are the differences of a server from its documentation.
type Quirks struct {
	// Mounting a volume again at the same place fails. The Go release never sees ERROR_DIR_NOT_EMPTY, because Go
	// resets the last error (asmstdcall in the runtime) before its call of GetLastError.
	SecondMountFails bool
	// An MBR disk is not partitioned: the Go release passes a GPT type.
	NoMBR bool
}

type run struct {
	node   Node
	quirks Quirks
	steps  int
	failed int
}

// check counts a step and prints its failure.
func (r *run) check(what string, err error) {
	r.steps++
	if err != nil {
		r.failed++
		fmt.Printf("FAILED %s: %v\n", what, err)
	}
}

func equal[T comparable](got T, err error, want T) error {
	if err == nil && got != want {
		err = fmt.Errorf("%v, want %v", got, want)
	}
	return err
}

func refused(err error) error {
	if err == nil {
		return fmt.Errorf("it is not refused")
	}
	return nil
}

// Main takes the node through all steps, prints their number and exits.
func Main(name string, node Node, quirks Quirks) {
	r := &run{node: node, quirks: quirks}
	for _, part := range []func(){r.disks, r.volume, r.smb, r.iscsi, r.system} {
		part()
	}
	fmt.Printf("%s: %d steps, %d as they should be\n", name, r.steps, r.steps-r.failed)
	if r.failed > 0 {
		os.Exit(1)
	}
	os.Exit(0)
}

// The disk of the volume's life, and its size.
const (
	disk     = 1
	diskSize = 10737418240
)

func (r *run) disks() {
	// The scenario leaves out the disk that answers no inquiry, because the Go release lists all disks or none.
	ids, err := r.node.ListDiskIDs()
	r.check("ListDiskIDs", equal(ids[disk], err, orders.DiskIDs{Page83: "60022480a1b2c3d4e5f60718293a4b5c"}))
	r.check("ListDiskIDs, serial", equal(ids[2].SerialNumber, err, "vol0a1b2c3d4e5f60789"))
	locations, err := r.node.ListDiskLocations()
	r.check("ListDiskLocations", equal(locations[disk], err, orders.Location{Adapter: "3", Target: "0", LUN: "0"}))
	r.check("Rescan", r.node.Rescan())
	size, err := r.node.GetDiskStats(disk)
	r.check("GetDiskStats", equal(size, err, diskSize))
	_, err = r.node.GetDiskStats(77)
	r.check("GetDiskStats of no disk", refused(err))

	online, err := r.node.GetDiskState(3)
	r.check("GetDiskState of an offline disk", equal(online, err, false))
	r.check("SetDiskState online", r.node.SetDiskState(3, true))
	online, err = r.node.GetDiskState(3)
	r.check("GetDiskState", equal(online, err, true))
	r.check("SetDiskState offline", r.node.SetDiskState(3, false))
	r.check("SetDiskState offline again", r.node.SetDiskState(3, false))
	online, err = r.node.GetDiskState(3)
	r.check("GetDiskState then", equal(online, err, false))
}

func (r *run) volume() {
	volumes, err := r.node.ListVolumesOnDisk(disk, 0)
	r.check("ListVolumesOnDisk of a raw disk", equal(len(volumes), err, 0))
	r.check("PartitionDisk", r.node.PartitionDisk(disk))
	r.check("PartitionDisk again", r.node.PartitionDisk(disk))
	// Waits, because WMI shows a new volume slightly later.
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if volumes, err = r.node.ListVolumesOnDisk(disk, 0); err != nil || len(volumes) > 0 {
			break
		}
	}
	r.check("ListVolumesOnDisk", equal(len(volumes), err, 1))
	if len(volumes) == 0 {
		return
	}
	v := volumes[0]
	volumes, err = r.node.ListVolumesOnDisk(disk, 2)
	r.check("ListVolumesOnDisk of a partition", equal(strings.Join(volumes, " "), err, v))
	formatted, err := r.node.IsVolumeFormatted(v)
	r.check("IsVolumeFormatted before", equal(formatted, err, false))
	r.check("FormatVolume", r.node.FormatVolume(v))
	formatted, err = r.node.IsVolumeFormatted(v)
	r.check("IsVolumeFormatted", equal(formatted, err, true))
	_, err = r.node.IsVolumeFormatted(`\\?\Volume{00000000-0000-0000-0000-00000000dead}\`)
	r.check("IsVolumeFormatted of no volume", refused(err))
	number, err := r.node.GetDiskNumberFromVolumeID(v)
	r.check("GetDiskNumberFromVolumeID", equal(number, err, disk))

	const path = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\volumeDevices`
	r.check("MountVolume", r.node.MountVolume(v, path))
	err = r.node.MountVolume(v, path)
	if r.quirks.SecondMountFails {
		err = refused(err)
	}
	r.check("MountVolume again", err)
	at, err := r.node.GetVolumeIDFromTargetPath(path)
	r.check("GetVolumeIDFromTargetPath", equal(at, err, v))
	at, err = r.node.GetClosestVolumeIDFromTargetPath(`C:\var\lib\kubelet\plugins`)
	r.check("GetClosestVolumeIDFromTargetPath of a plain directory",
		equal(at, err, `\\?\Volume{00000000-c511-4c0d-9000-000000000001}\`))
	total, used, err := r.node.GetVolumeStats(v)
	r.check("GetVolumeStats", err)
	if total < diskSize-(64<<20) || total > diskSize || used < 0 || used > total {
		r.check("GetVolumeStats", fmt.Errorf("%d of %d bytes used", used, total))
	}
	r.check("WriteVolumeCache", r.node.WriteVolumeCache(v))
	r.check("ResizeVolume of what is as large as it can be", r.node.ResizeVolume(v, 0))
	r.check("UnmountVolume", r.node.UnmountVolume(v, path))
	_, err = r.node.GetVolumeIDFromTargetPath(path)
	r.check("GetVolumeIDFromTargetPath of what is not mounted", refused(err))

	if !r.quirks.NoMBR {
		r.check("PartitionDisk of an MBR disk", r.node.PartitionDisk(21))
		volumes, err = r.node.ListVolumesOnDisk(21, 0)
		r.check("ListVolumesOnDisk of an MBR disk", equal(len(volumes), err, 1))
	}

	// Grows a volume on the scenario's second disk, which has room left.
	r.grow()
	r.check("SetDiskState offline with a volume", r.node.SetDiskState(disk, false))
	volumes, err = r.node.ListVolumesOnDisk(disk, 0)
	if err == nil && len(volumes) > 1 {
		err = fmt.Errorf("%d volumes", len(volumes))
	}
	r.check("ListVolumesOnDisk while offline", err)
	r.check("SetDiskState online with a volume", r.node.SetDiskState(disk, true))
}

// grow resizes the volume that covers half of its disk.
func (r *run) grow() {
	volumes, err := r.node.ListVolumesOnDisk(20, 0)
	r.check("ListVolumesOnDisk of the half used disk", equal(len(volumes), err, 1))
	if len(volumes) != 1 {
		return
	}
	v := volumes[0]
	before, _, err := r.node.GetVolumeStats(v)
	r.check("GetVolumeStats before", err)
	r.check("ResizeVolume to a size", r.node.ResizeVolume(v, before+(1<<30)))
	after, _, err := r.node.GetVolumeStats(v)
	r.check("GetVolumeStats after", err)
	if after < before+(1<<30)-(32<<20) {
		r.check("ResizeVolume to a size", fmt.Errorf("%d bytes, before %d", after, before))
	}
	r.check("ResizeVolume to all there is", r.node.ResizeVolume(v, 0))
	all, _, err := r.node.GetVolumeStats(v)
	r.check("GetVolumeStats then", err)
	if all < after+(1<<30) {
		r.check("ResizeVolume to all there is", fmt.Errorf("%d bytes, before %d", all, after))
	}
}

func (r *run) smb() {
	const share = `\\fileserver.example\data`
	const link = `C:\var\lib\kubelet\plugins\share`
	const user, password = `EXAMPLE\storage`, "correct horse"
	r.check("NewSmbGlobalMapping, wrong password", refused(r.node.NewSmbGlobalMapping(share, "", user, "wrong")))
	r.check("NewSmbGlobalMapping", r.node.NewSmbGlobalMapping(share, link, user, password))
	r.check("NewSmbGlobalMapping again", r.node.NewSmbGlobalMapping(share, "", user, password))
	// Windows accepts one user for a server.
	r.check("NewSmbGlobalMapping, other credentials",
		refused(r.node.NewSmbGlobalMapping(`\\fileserver.example\scratch`, "", `EXAMPLE\other`, "battery staple")))
	r.check("RemoveSmbGlobalMapping", r.node.RemoveSmbGlobalMapping(share))
	r.check("RemoveSmbGlobalMapping again", refused(r.node.RemoveSmbGlobalMapping(share)))
}

func (r *run) iscsi() {
	portal := Portal{"10.0.0.5", 3260}
	const open, chap, mutual = "iqn.2026-01.example.storage:open", "iqn.2026-01.example.storage:chap",
		"iqn.2026-01.example.storage:mutual"
	r.check("AddTargetPortal", r.node.AddTargetPortal(portal))
	r.check("AddTargetPortal again", r.node.AddTargetPortal(portal))
	portals, err := r.node.ListTargetPortals()
	r.check("ListTargetPortals", equal(len(portals), err, 1))
	if len(portals) == 1 {
		r.check("ListTargetPortals", equal(portals[0], nil, portal))
	}
	iqns, err := r.node.DiscoverTargetPortal(portal)
	r.check("DiscoverTargetPortal", equal(strings.Join(iqns, " "), err, open+" "+chap+" "+mutual))
	r.check("ConnectTarget", r.node.ConnectTarget(portal, open, 0, "", ""))
	r.check("ConnectTarget again", r.node.ConnectTarget(portal, open, 0, "", ""))
	disks, err := r.node.GetTargetDisks(portal, open)
	r.check("GetTargetDisks", equal(strings.Join(disks, " "), err, "10 11"))
	r.check("DisconnectTarget", r.node.DisconnectTarget(portal, open))
	r.check("DisconnectTarget again", r.node.DisconnectTarget(portal, open))
	r.check("ConnectTarget, wrong secret",
		refused(r.node.ConnectTarget(portal, chap, 1, "node-1", "some-other-secret")))
	r.check("ConnectTarget by CHAP", r.node.ConnectTarget(portal, chap, 1, "node-1", "one-way-secret"))
	r.check("DisconnectTarget of CHAP", r.node.DisconnectTarget(portal, chap))
	r.check("SetMutualChapSecret", r.node.SetMutualChapSecret("mutual-secret1"))
	r.check("ConnectTarget by mutual CHAP", r.node.ConnectTarget(portal, mutual, 2, "node-1", "one-way-secret"))
	r.check("DisconnectTarget of mutual CHAP", r.node.DisconnectTarget(portal, mutual))
	r.check("RemoveTargetPortal", r.node.RemoveTargetPortal(portal))
	r.check("RemoveTargetPortal again", refused(r.node.RemoveTargetPortal(portal)))
}

func (r *run) system() {
	serial, err := r.node.GetBIOSSerialNumber()
	r.check("GetBIOSSerialNumber", equal(strings.HasPrefix(serial, "VMware-42 1a"), err, true))
	service, err := r.node.GetService("MSiSCSI")
	r.check("GetService", equal(service, err, Service{"Microsoft iSCSI Initiator Service", 3, 4}))
	r.check("StopService", r.node.StopService("MSiSCSI", false))
	service, err = r.node.GetService("MSiSCSI")
	r.check("GetService then", equal(service.Status, err, 1))
	r.check("StartService", r.node.StartService("MSiSCSI"))
	r.check("StopService with dependents", refused(r.node.StopService("LanmanWorkstation", false)))
	r.check("StopService with dependents, by force", r.node.StopService("LanmanWorkstation", true))
	service, err = r.node.GetService("SessionEnv")
	r.check("GetService of a dependent", equal(service.Status, err, 1))
	r.check("StartService of no service", refused(r.node.StartService("NoSuchService")))
}
