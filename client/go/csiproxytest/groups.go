package csiproxytest

import (
	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
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
)

// New in these packages never returns an error.

// Disk returns the node's disks, for a driver that keeps a disk.Interface.
func (n *Node) Disk() disk.Interface {
	group, _ := disk.New(diskapi.NewWithConn(n))
	return group
}

// Filesystem returns the node's files, for a driver that keeps a filesystem.Interface.
func (n *Node) Filesystem() filesystem.Interface {
	group, _ := filesystem.New(filesystemapi.NewWithConn(n))
	return group
}

// Volume returns the node's volumes, for a driver that keeps a volume.Interface.
func (n *Node) Volume() volume.Interface {
	group, _ := volume.New(volumeapi.NewWithConn(n))
	return group
}

// SMB returns the node's SMB mappings, for a driver that keeps an smb.Interface.
func (n *Node) SMB() smb.Interface {
	group, _ := smb.New(smbapi.NewWithConn(n), n.Filesystem())
	return group
}

// ISCSI returns the node's iSCSI initiator, for a driver that keeps an iscsi.Interface.
func (n *Node) ISCSI() iscsi.Interface {
	group, _ := iscsi.New(iscsiapi.NewWithConn(n))
	return group
}

// System returns the node's services and BIOS, for a driver that keeps a system.Interface.
func (n *Node) System() system.Interface {
	group, _ := system.New(systemapi.NewWithConn(n))
	return group
}

// UseForProcess makes this node the default of the process until the test ends, for a driver that
// makes its host APIs itself, for example by disk.New(diskapi.New()). Tests that call it must not
// be parallel: the test fails if another one is using it.
func (n *Node) UseForProcess() {
	n.t.Helper()
	restore, ok := host.ReplaceProcess(n)
	if !ok {
		n.t.Fatalf("csiproxytest: UseForProcess: another test has the process; tests that use it cannot be parallel")
		return
	}
	n.t.Cleanup(restore)
}
