package csiproxytest

import "time"

// Changes from outside are calls of the service csi_proxy.simulated.Admin in
// server/simulator/admin.proto, whose field names they use.

type fields map[string]interface{}

// response has the fields of all responses.
type response struct {
	DiskNumber uint32 `json:"disk_number"`
	Node       State  `json:"node"`
}

// AttachDisk attaches a disk, as a cloud does, and returns its number: disk.Number, or the lowest
// free number if that is 0. With disk.AwaitsRescan, Windows shows the disk after the next rescan.
func (n *Node) AttachDisk(disk Disk) uint32 {
	n.t.Helper()
	return n.administer("AttachDisk", fields{"disk": disk, "choose_number": disk.Number == 0}).DiskNumber
}

// DetachDisk removes a disk, even if it is mounted. Its content is lost.
func (n *Node) DetachDisk(number uint32) {
	n.t.Helper()
	n.administer("DetachDisk", fields{"disk_number": number})
}

// GrowDisk makes a disk larger. Windows reports the new size after the next rescan.
func (n *Node) GrowDisk(number uint32, sizeBytes uint64) {
	n.t.Helper()
	n.administer("GrowDisk", fields{"disk_number": number, "size_bytes": sizeBytes})
}

// Reboot restarts the node. Links, mounts and offline disks stay; SMB mappings are disconnected;
// services run according to their start types.
func (n *Node) Reboot() {
	n.t.Helper()
	n.administer("Reboot", fields{})
}

// Reset restores the state that the scenario describes.
func (n *Node) Reset() {
	n.t.Helper()
	n.administer("Reset", fields{})
}

// AddShare adds an empty share, and its server if that does not exist.
func (n *Node) AddShare(server, share string) {
	n.t.Helper()
	n.administer("AddShare", fields{"server": server, "share": share})
}

// SetSMBPassword sets a user's password on a server, and adds the user if necessary. Mappings made
// with the old password break.
func (n *Node) SetSMBPassword(server, user, password string) {
	n.t.Helper()
	n.administer("SetSmbPassword", fields{"server": server, "user": user, "password": password})
}

// SetServerReachable connects or cuts off an SMB server, by its name, or iSCSI portals, by address.
func (n *Node) SetServerReachable(server string, reachable bool) {
	n.t.Helper()
	n.administer("SetServerReachable", fields{"server": server, "reachable": reachable})
}

// BreakMapping makes the mapping of `\\host\share` unusable until the share is mapped again.
func (n *Node) BreakMapping(share string) {
	n.t.Helper()
	n.administer("BreakMapping", fields{"share": share})
}

// WriteFile creates or changes a file, as a pod does. It creates missing directories above. The
// file has a size, but no content.
func (n *Node) WriteFile(path string, sizeBytes uint64) {
	n.t.Helper()
	n.administer("WriteFile", fields{"path": fullPath(path), "size_bytes": sizeBytes})
}

// MakeDirectory creates a directory, as the kubelet does, with missing directories above.
func (n *Node) MakeDirectory(path string) {
	n.t.Helper()
	n.administer("MakeDirectory", fields{"path": fullPath(path)})
}

// RemoveFolder removes an empty directory, a mounted folder or a link, as the kubelet does.
func (n *Node) RemoveFolder(path string) {
	n.t.Helper()
	n.administer("RemoveFolder", fields{"path": fullPath(path)})
}

// MakeLink makes path a link to target, as an attacker might. Both may be anywhere.
func (n *Node) MakeLink(path, target string) {
	n.t.Helper()
	n.administer("MakeLink", fields{"path": fullPath(path), "target": target})
}

// Fault delays operations of the node, or makes them fail.
type Fault struct {
	// Operation is an rpc ("volume.FormatVolume"), all rpcs of a group ("disk.*"), or "*" for all
	// rpcs: the call fails with Code before it changes anything. Calls from the node to Windows are
	// "win32.*" and "wmi.*"; server/simulator/README.md lists them.
	Operation string
	// Resource is the object in the request: a disk number, volume id, path, share, IQN or service; ""
	// is any.
	Resource string
	// Times is the number of operations that the fault hits. 0 is all of them.
	Times uint32
	// Latency is how long the operation is delayed.
	Latency time.Duration
	// Code is the result of the operation, as gRPC's specification names it: "INTERNAL". With "" the
	// operation is only delayed.
	Code string
	// WindowsError is the Windows error that the text quotes, for example 5 for "access denied".
	WindowsError uint32
}

// InjectFault adds a fault. If several faults match an operation, the first that was added applies.
func (n *Node) InjectFault(fault Fault) {
	n.t.Helper()
	request := fields{"operation": fault.Operation, "resource": fault.Resource, "times": fault.Times, "latency_ms": fault.Latency.Milliseconds()}
	if fault.Code != "" {
		request["code"] = fault.Code
	}
	if fault.WindowsError != 0 {
		request["error"] = fields{"code": fault.WindowsError}
	}
	n.administer("InjectFault", fields{"fault": request})
}

// ClearFaults removes all faults, including those of the scenario.
func (n *Node) ClearFaults() {
	n.t.Helper()
	n.administer("ClearFaults", fields{})
}

// State returns a copy of the node's present state.
func (n *Node) State() State {
	n.t.Helper()
	return n.administer("DumpState", fields{}).Node
}
