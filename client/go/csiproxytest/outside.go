package csiproxytest

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// The node changes from outside through the service csi_proxy.simulated.Admin of
// server/simulator/admin.proto. The tags are those of the fields of its requests.

// administer calls a method; nil is an empty message.
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

// AttachDisk attaches a disk, as a cloud does, and returns its number: the lowest that is free if
// disk.Number is 0. With disk.AwaitsRescan Windows shows it after the next rescan.
func (n *Node) AttachDisk(disk Disk) uint32 {
	n.t.Helper()
	var response attachDiskResponse
	n.administer("AttachDisk", &attachDiskRequest{disk, disk.Number == 0}, &response)
	return response.DiskNumber
}

type detachDiskRequest struct {
	DiskNumber uint32 `field:"1,disk_number"`
}

// DetachDisk pulls a disk out, even if it is mounted. Its content is gone.
func (n *Node) DetachDisk(number uint32) {
	n.t.Helper()
	n.administer("DetachDisk", &detachDiskRequest{number}, nil)
}

type growDiskRequest struct {
	DiskNumber uint32 `field:"1,disk_number"`
	SizeBytes  uint64 `field:"2,size_bytes"`
}

// GrowDisk makes a disk larger, which Windows notices at the next rescan.
func (n *Node) GrowDisk(number uint32, sizeBytes uint64) {
	n.t.Helper()
	n.administer("GrowDisk", &growDiskRequest{number, sizeBytes}, nil)
}

// Reboot restarts the node: links, mounts and offline disks stay, SMB mappings come back
// disconnected, services as their start types say.
func (n *Node) Reboot() {
	n.t.Helper()
	n.administer("Reboot", nil, nil)
}

// Reset begins anew with the scenario.
func (n *Node) Reset() {
	n.t.Helper()
	n.administer("Reset", nil, nil)
}

type addShareRequest struct {
	Server string `field:"1,server"`
	Share  string `field:"2,share"`
}

// AddShare adds an empty share, and its server if that is new.
func (n *Node) AddShare(server, share string) {
	n.t.Helper()
	n.administer("AddShare", &addShareRequest{server, share}, nil)
}

type setSMBPasswordRequest struct {
	Server   string `field:"1,server"`
	User     string `field:"2,user"`
	Password string `field:"3,password"`
}

// SetSMBPassword sets a user's password on a server, or adds the user. Mappings that were made with
// the old one break.
func (n *Node) SetSMBPassword(server, user, password string) {
	n.t.Helper()
	n.administer("SetSmbPassword", &setSMBPasswordRequest{server, user, password}, nil)
}

type setServerReachableRequest struct {
	Server    string `field:"1,server"`
	Reachable bool   `field:"2,reachable"`
}

// SetServerReachable cuts a server off, or brings it back: an SMB server by its name, the iSCSI
// portals by their address.
func (n *Node) SetServerReachable(server string, reachable bool) {
	n.t.Helper()
	n.administer("SetServerReachable", &setServerReachableRequest{server, reachable}, nil)
}

type breakMappingRequest struct {
	Share string `field:"1,share"`
}

// BreakMapping makes the mapping of `\\host\share` useless until it is made anew.
func (n *Node) BreakMapping(share string) {
	n.t.Helper()
	n.administer("BreakMapping", &breakMappingRequest{share}, nil)
}

type writeFileRequest struct {
	Path      string `field:"1,path"`
	SizeBytes uint64 `field:"2,size_bytes"`
}

// WriteFile makes or changes a file, as a pod does, with the directories above it. It has a size
// and no content.
func (n *Node) WriteFile(path string, sizeBytes uint64) {
	n.t.Helper()
	n.administer("WriteFile", &writeFileRequest{fullPath(path), sizeBytes}, nil)
}

type pathRequest struct {
	Path string `field:"1,path"`
}

// MakeDirectory makes a directory, as the kubelet does, with those above it.
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

// MakeLink makes a link of a directory, as an attacker may, anywhere and leading anywhere.
func (n *Node) MakeLink(path, target string) {
	n.t.Helper()
	n.administer("MakeLink", &makeLinkRequest{fullPath(path), target}, nil)
}

// Fault makes operations of the node slow, or makes them fail.
type Fault struct {
	// Operation is an rpc, as "volume.FormatVolume", the rpcs of a group, as "disk.*", or all, "*": a
	// driver sees it fail with Code, before it has changed anything. Calls that the node makes of
	// Windows are "win32.*" and "wmi.*"; server/simulator/README.md lists them.
	Operation string
	// Resource is what it is about (a disk number, volume id, path, share, IQN or service): a field
	// of the request. "" is any.
	Resource string
	// Times is how often it strikes; 0 is always.
	Times uint32
	// Latency is how long the operation takes first.
	Latency time.Duration
	// Code is what the operation fails with. With codes.OK it is only slow.
	Code codes.Code
	// WindowsError is the number of the error that the text tells of, as 5 for "access denied".
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

// codeNames are the codes of gRPC as its specification spells them.
var codeNames = [...]string{"", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL",
	"UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}

// InjectFault adds a fault. The first that matches an operation strikes.
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

// ClearFaults removes the faults, those of the scenario as well.
func (n *Node) ClearFaults() {
	n.t.Helper()
	n.administer("ClearFaults", nil, nil)
}

type dumpStateResponse struct {
	Node State `field:"1,node"`
}

// State returns what the node is now.
func (n *Node) State() State {
	n.t.Helper()
	var response dumpStateResponse
	n.administer("DumpState", nil, &response)
	return response.Node
}
