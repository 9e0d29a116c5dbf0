// Package csiproxy connects a Go CSI driver to CSI Proxy: to the service on the Windows node, or to
// its code in the driver's own process, for example in a HostProcess pod.
//
// The generated clients of every group and version take a [Conn], so a driver that uses the service
// today only changes how it makes its connection:
//
//	conn, err := csiproxy.Connect(csiproxy.Auto)
//	if err != nil {
//		return err
//	}
//	defer conn.Close()
//	disks := diskv1.NewDiskClient(conn)
//	volumes := volumev1.NewVolumeClient(conn)
//
// where diskv1 and volumev1 are github.com/kubernetes-csi/csi-proxy/client/api/disk/v1 and
// .../volume/v1. Any code generated from the released protos works.
//
// # Modes
//
// In [Remote] mode the service does the work; the process only needs access to its pipes. In
// [Embedded] mode this process does the work; it needs the right to manage storage and the library
// csi_proxy.dll, beside the program or named by CSI_PROXY_LIBRARY. [Auto] chooses between the two.
// Checks, codes and texts are equal in all modes.
//
// On other systems than Windows the pipes are Unix sockets, and an embedded node is simulated: a
// Windows node in memory for a driver's tests. The module csiproxytest gives each test a node.
//
// # Contexts
//
// A call ends with its context, in embedded mode as over gRPC. The node stops its work if it can.
// Work that cannot be stopped, for example a format that Windows has begun, continues after the call
// has returned, and [Conn.Close] waits for it.
//
// # No cgo
//
// The package needs no cgo. But on other systems than Windows a program that imports it is linked
// dynamically with the C library even without cgo, and does not start in an image without one. A
// driver with such images must import the package in files for Windows only. Windows programs are
// not affected.
//
// # Environment
//
//	CSI_PROXY_MODE        auto, remote or embedded: the choice of Auto
//	CSI_PROXY_LIBRARY     the full path of the library for embedded mode
//	CSI_PROXY_SOCKET_DIR  the directory of the service's sockets, not on Windows
//
// Options in the program override these.
package csiproxy
