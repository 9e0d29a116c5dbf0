// Package csiproxytest gives the tests of a CSI driver a Windows node in memory, on any system:
//
//	node := csiproxytest.NewNode(t, "")
//	disks := diskv1.NewDiskClient(node)
//	volumes := volumev1.NewVolumeClient(node)
//
// The node is that of csi-proxy --host=simulated: CSI Proxy's own code, over a machine of disks,
// volumes, files, shares, iSCSI targets and services that behaves as Windows does. Nodes are
// independent of each other, so tests may be parallel.
//
// A test makes calls, or runs the driver that makes them; changes the node from outside
// ([Node.AttachDisk], [Node.DetachDisk], [Node.GrowDisk], [Node.Reboot], [Node.InjectFault]); and
// checks its state ([Node.AssertMounted], [Node.State]).
//
// # The library
//
// The node is CSI Proxy's C library in the test's process. This command builds it and places it
// where NewNode finds it:
//
//	go run github.com/kubernetes-csi/csi-proxy/v2/csiproxytest/install
//
// or, for go generate, this line in a driver's test:
//
//	//go:generate go run github.com/kubernetes-csi/csi-proxy/v2/csiproxytest/install
//
// The environment variable CSI_PROXY_LIBRARY is the full path of another library. If it is unset and
// no library was placed, the one beside the test's program or in the system's directories is loaded.
package csiproxytest
