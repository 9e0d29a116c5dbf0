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

// The error that New of these packages returns is always nil.

// Disk returns the node's disks, for a driver that keeps a disk.Interface.
func (n *Node) Disk() disk.Interface {
	group, _ := disk.New(diskapi.NewWithConn(n))
	return group
}

// Filesystem returns the node's files.
func (n *Node) Filesystem() filesystem.Interface {
	group, _ := filesystem.New(filesystemapi.NewWithConn(n))
	return group
}

// Volume returns the node's volumes.
func (n *Node) Volume() volume.Interface {
	group, _ := volume.New(volumeapi.NewWithConn(n))
	return group
}

// SMB returns the node's mappings of shares.
func (n *Node) SMB() smb.Interface {
	group, _ := smb.New(smbapi.NewWithConn(n), n.Filesystem())
	return group
}

// ISCSI returns the node's initiator.
func (n *Node) ISCSI() iscsi.Interface {
	group, _ := iscsi.New(iscsiapi.NewWithConn(n))
	return group
}

// System returns the node's services and BIOS.
func (n *Node) System() system.Interface {
	group, _ := system.New(systemapi.NewWithConn(n))
	return group
}

// UseForProcess has the driver under test act on this node where it makes its host APIs itself, as
// by disk.New(diskapi.New()): until the test ends the node is that of the whole process. So tests
// that use it cannot be parallel; a test fails if another one is using it.
func (n *Node) UseForProcess() {
	n.t.Helper()
	restore, ok := host.ReplaceProcess(n)
	if !ok {
		n.t.Fatalf("csiproxytest: UseForProcess: another test has the process; tests that use it cannot be parallel")
		return
	}
	n.t.Cleanup(restore)
}
