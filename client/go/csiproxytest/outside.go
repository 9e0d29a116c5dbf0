package csiproxytest

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// Changes from outside are calls of the service csi_proxy.simulated.Admin in
// server/simulator/admin.proto. The tags are the numbers and names of the fields of its requests.

// administer calls a method; a nil request is an empty message.
func (n *Node) administer(method string, request, response interface{}) {
	n.t.Helper()
	type empty struct{}
	if request == nil {
		request = &empty{}
	}
	if response == nil {
		response = &empty{}
	}
	if err := n.conn.Invoke(context.Background(), "/csi_proxy.simulated.Admin/"+method, request, response, grpc.ForceCodec(wire{})); err != nil {
		n.t.Fatalf("csiproxytest: %s: %v", method, err)
	}
}

type attachDiskRequest struct {
	Disk         Disk `field:"1,disk"`
	ChooseNumber bool `field:"2,choose_number"`
}

type attachDiskResponse struct {
	DiskNumber uint32 `field:"1,disk_number"`
}

// AttachDisk attaches a disk, as a cloud does, and returns its number: disk.Number, or the lowest
// free number if that is 0. With disk.AwaitsRescan, Windows shows the disk after the next rescan.
func (n *Node) AttachDisk(disk Disk) uint32 {
	n.t.Helper()
	var response attachDiskResponse
	n.administer("AttachDisk", &attachDiskRequest{disk, disk.Number == 0}, &response)
	return response.DiskNumber
}

type detachDiskRequest struct {
	DiskNumber uint32 `field:"1,disk_number"`
}

// DetachDisk removes a disk, even if it is mounted. Its content is lost.
func (n *Node) DetachDisk(number uint32) {
	n.t.Helper()
	n.administer("DetachDisk", &detachDiskRequest{number}, nil)
}

type growDiskRequest struct {
	DiskNumber uint32 `field:"1,disk_number"`
	SizeBytes  uint64 `field:"2,size_bytes"`
}

// GrowDisk makes a disk larger. Windows reports the new size after the next rescan.
func (n *Node) GrowDisk(number uint32, sizeBytes uint64) {
	n.t.Helper()
	n.administer("GrowDisk", &growDiskRequest{number, sizeBytes}, nil)
}

// Reboot restarts the node. Links, mounts and offline disks stay; SMB mappings are disconnected;
// services run according to their start types.
func (n *Node) Reboot() {
	n.t.Helper()
	n.administer("Reboot", nil, nil)
}

// Reset restores the state that the scenario describes.
func (n *Node) Reset() {
	n.t.Helper()
	n.administer("Reset", nil, nil)
}

type addShareRequest struct {
	Server string `field:"1,server"`
	Share  string `field:"2,share"`
}

// AddShare adds an empty share, and its server if that does not exist.
func (n *Node) AddShare(server, share string) {
	n.t.Helper()
	n.administer("AddShare", &addShareRequest{server, share}, nil)
}

type setSMBPasswordRequest struct {
	Server   string `field:"1,server"`
	User     string `field:"2,user"`
	Password string `field:"3,password"`
}

// SetSMBPassword sets a user's password on a server, and adds the user if necessary. Mappings made
// with the old password break.
func (n *Node) SetSMBPassword(server, user, password string) {
	n.t.Helper()
	n.administer("SetSmbPassword", &setSMBPasswordRequest{server, user, password}, nil)
}

type setServerReachableRequest struct {
	Server    string `field:"1,server"`
	Reachable bool   `field:"2,reachable"`
}

// SetServerReachable connects or cuts off an SMB server, by its name, or iSCSI portals, by address.
func (n *Node) SetServerReachable(server string, reachable bool) {
	n.t.Helper()
	n.administer("SetServerReachable", &setServerReachableRequest{server, reachable}, nil)
}

type breakMappingRequest struct {
	Share string `field:"1,share"`
}

// BreakMapping makes the mapping of `\\host\share` unusable until the share is mapped again.
func (n *Node) BreakMapping(share string) {
	n.t.Helper()
	n.administer("BreakMapping", &breakMappingRequest{share}, nil)
}

type writeFileRequest struct {
	Path      string `field:"1,path"`
	SizeBytes uint64 `field:"2,size_bytes"`
}

// WriteFile creates or changes a file, as a pod does. It creates missing directories above. The
// file has a size, but no content.
func (n *Node) WriteFile(path string, sizeBytes uint64) {
	n.t.Helper()
	n.administer("WriteFile", &writeFileRequest{fullPath(path), sizeBytes}, nil)
}

type pathRequest struct {
	Path string `field:"1,path"`
}

// MakeDirectory creates a directory, as the kubelet does, with missing directories above.
func (n *Node) MakeDirectory(path string) {
	n.t.Helper()
	n.administer("MakeDirectory", &pathRequest{fullPath(path)}, nil)
}

// RemoveFolder removes an empty directory, a mounted folder or a link, as the kubelet does.
func (n *Node) RemoveFolder(path string) {
	n.t.Helper()
	n.administer("RemoveFolder", &pathRequest{fullPath(path)}, nil)
}

type makeLinkRequest struct {
	Path   string `field:"1,path"`
	Target string `field:"2,target"`
}

// MakeLink makes path a link to target, as an attacker might. Both may be anywhere.
func (n *Node) MakeLink(path, target string) {
	n.t.Helper()
	n.administer("MakeLink", &makeLinkRequest{fullPath(path), target}, nil)
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
	// Code is the result of the operation. With codes.OK the operation is only delayed.
	Code codes.Code
	// WindowsError is the Windows error that the text quotes, for example 5 for "access denied".
	WindowsError uint32
}

type windowsErrorMessage struct {
	Code uint32 `field:"1,code"`
}

type faultMessage struct {
	Operation string              `field:"1,operation"`
	Resource  string              `field:"2,resource"`
	Times     uint32              `field:"3,times"`
	LatencyMS uint32              `field:"4,latency_ms"`
	Code      string              `field:"5,code"`
	Error     windowsErrorMessage `field:"6,error"`
}

type injectFaultRequest struct {
	Fault faultMessage `field:"1,fault"`
}

// codeNames are the names of the codes in gRPC's specification.
var codeNames = [...]string{"", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL",
	"UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}

// InjectFault adds a fault. If several faults match an operation, the first that was added applies.
func (n *Node) InjectFault(fault Fault) {
	n.t.Helper()
	if int(fault.Code) >= len(codeNames) {
		n.t.Fatalf("csiproxytest: InjectFault: there is no code %d", fault.Code)
		return
	}
	n.administer("InjectFault", &injectFaultRequest{faultMessage{
		Operation: fault.Operation,
		Resource:  fault.Resource,
		Times:     fault.Times,
		LatencyMS: uint32(fault.Latency.Milliseconds()),
		Code:      codeNames[fault.Code],
		Error:     windowsErrorMessage{fault.WindowsError},
	}}, nil)
}

// ClearFaults removes all faults, including those of the scenario.
func (n *Node) ClearFaults() {
	n.t.Helper()
	n.administer("ClearFaults", nil, nil)
}

type dumpStateResponse struct {
	Node State `field:"1,node"`
}

// State returns a copy of the node's present state.
func (n *Node) State() State {
	n.t.Helper()
	var response dumpStateResponse
	n.administer("DumpState", nil, &response)
	return response.Node
}
