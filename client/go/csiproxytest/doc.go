// Package csiproxytest gives the tests of a CSI driver a Windows node in memory, on any system:
//
//	node := csiproxytest.NewNode(t, "")
//	disks := diskv1.NewDiskClient(node)
//	volumes := volumev1.NewVolumeClient(node)
//
// The node is the one of csi-proxy --host=simulated: the rules, codes and texts of CSI Proxy, over a
// machine of disks, volumes, files, shares, iSCSI targets and services that behaves as Windows does.
// Each test has its own, so tests may be parallel.
//
// A test makes the calls of its driver, or has the driver make them; lets things happen to the node
// ([Node.AttachDisk], [Node.DetachDisk], [Node.GrowDisk], [Node.Reboot], [Node.InjectFault]); and
// looks at what became of it ([Node.AssertMounted], [Node.State]).
//
// # The library
//
// The node is CSI Proxy's C library, in the test's process. One command builds and places it, and
// NewNode finds it:
//
//	go run github.com/kubernetes-csi/csi-proxy/v2/csiproxytest/install
//
// or, as a line of a driver's test, for go generate:
//
//	//go:generate go run github.com/kubernetes-csi/csi-proxy/v2/csiproxytest/install
//
// CSI_PROXY_LIBRARY, if it is set, is the full path of another. Else, where nothing was placed, the
// library is taken from beside the test's program or from the system's directories.
package csiproxytest
