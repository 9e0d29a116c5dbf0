// Package csiproxy connects a Go CSI driver to CSI Proxy: to the service on the Windows node, or to
// the same code in the driver's own process, as a HostProcess pod may have it.
//
// A [Conn] is what the generated clients of every group and version are made with, so a driver that
// uses the service today changes how it makes its connection, and nothing else:
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
// .../volume/v1. Their origin does not matter: any generated code of the released protos will do.
//
// # Modes
//
// [Remote] is the service, and needs nothing but its pipes. [Embedded] is a node managed by this
// process, and needs the library csi_proxy.dll, beside the program or named by CSI_PROXY_LIBRARY,
// and rights to manage storage. [Auto] finds out which of them there is. Answers are equal in all
// modes: the same checks, codes and texts.
//
// Off Windows the pipes are Unix sockets, and an embedded node is simulated: a Windows node in memory,
// good for a driver's tests, each of which package csiproxytest gives one of its own.
//
// # Contexts
//
// A call ends with its context, in embedded mode as over gRPC. The node stops its work if it can;
// work that cannot be stopped, as a format that Windows has begun, runs on behind a call that has
// already returned, and [Conn.Close] waits for it.
//
// # No cgo
//
// The package needs no cgo. Off Windows, where embedded mode is for tests, a program built without
// cgo that imports it is linked dynamically with the C library all the same, so it does not start in
// an image that has none. A driver whose Linux images are such imports it in files for Windows only.
// Windows programs are what they were.
//
// # Environment
//
//	CSI_PROXY_MODE        auto, remote or embedded: what Auto is
//	CSI_PROXY_LIBRARY     the full path of the library of embedded mode
//	CSI_PROXY_SOCKET_DIR  where the service's sockets stand, off Windows
//
// Options in the program come before these.
package csiproxy
