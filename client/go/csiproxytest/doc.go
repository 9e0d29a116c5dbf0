// Package csiproxytest gives the tests of a CSI driver a Windows node in memory:
//
//	node := csiproxytest.NewNode(t, "azure-scsi")
//	conn, err := grpc.NewClient(node.Endpoint("storage", "v1alpha1"),
//		grpc.WithTransportCredentials(insecure.NewCredentials()))
//
// The node is a process of its own, csi-proxy --host=simulated: the service's own code, over a
// machine of disks, volumes, files, shares, iSCSI targets and services that behaves as Windows does.
// Nodes are independent of each other, so tests may be parallel, except on Windows, where the names
// of the pipes are fixed.
//
// A test makes calls, or runs the driver that makes them; changes the node from outside
// ([Node.AttachDisk], [Node.DetachDisk], [Node.GrowDisk], [Node.Reboot], [Node.InjectFault]); and
// checks its state ([Node.AssertMounted], [Node.State]).
//
// The package imports nothing but the standard library. It runs the programs csi-proxy
// (csi-proxy-simulated on Windows) and csi-proxyctl, which must be in PATH; the README says
// where to get them.
package csiproxytest
