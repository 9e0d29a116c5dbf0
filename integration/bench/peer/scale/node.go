package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"csi-proxy.example/integration/bench/peer/figures"
)

const (
	mib       = 1 << 20
	diskBytes = 10 << 30
	kubelet   = `C:\var\lib\kubelet`
	password  = "correct horse battery"
	// So many shares has each server.
	sharesOfServer = 10
)

// The names of the n-th volume of a node, from 1: its disk has the number n.
func volumeID(n int) string {
	return fmt.Sprintf(`\\?\Volume{00000000-5ca1-4e00-9000-%012x}\`, n)
}
func volumeName(n int) string { return fmt.Sprintf("vol%016x", n) }
func stagePath(name string) string {
	return kubelet + `\plugins\kubernetes.io\csi\ebs.csi.aws.com\` + name + `\globalmount`
}
func targetPath(pod string) string {
	return kubelet + `\pods\` + pod + `\volumes\kubernetes.io~csi\pvc\mount`
}
func podOf(n int) string        { return fmt.Sprintf("00000000-90d5-4e00-9000-%012x", n) }
func parent(path string) string { return path[:strings.LastIndexByte(path, '\\')] }
func share(n int) string {
	return fmt.Sprintf(`\\files%d.example\share%d`, n/sharesOfServer, n%sharesOfServer)
}

const smbUser = `EXAMPLE\storage`

// scenario describes a node with so many disks, each with a volume that is mounted and linked into a
// pod, and as many mappings.
func scenario(size int) string {
	var out strings.Builder
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `\`, `\\`) + `"` }
	fmt.Fprintf(&out, "volume_arrival_ms: 10\ndisk { number: 0 size_bytes: 68719476736 style: GPT\n"+
		"  partition { size_bytes: 68000000000 volume { file_system: \"NTFS\" drive_letter: \"C\"\n"+
		"    file { path: %s }\n", quote(`var\lib\kubelet\plugins_registry`))
	drive := len(`C:\`)
	for n := 1; n <= size; n++ {
		stage := stagePath(volumeName(n))
		fmt.Fprintf(&out, "    file { path: %s mounted_volume_id: %s }\n", quote(stage[drive:]), quote(volumeID(n)))
		fmt.Fprintf(&out, "    file { path: %s kind: LINK target: %s }\n", quote(targetPath(podOf(n))[drive:]),
			quote(stage))
	}
	out.WriteString("  } }\n}\n")
	for n := 1; n <= size; n++ {
		fmt.Fprintf(&out, "disk { number: %d size_bytes: %d style: GPT serial_number: \"%s\" page83: \"nvme.%s\"\n"+
			"  location: \"PCI Slot %[1]d : Bus 0 : Device %[1]d : Function 0 : Adapter %[1]d : Port 0 : Target 0 : LUN %[1]d\"\n"+
			"  partition { type: MICROSOFT_RESERVED size_bytes: %[5]d }\n"+
			"  partition { size_bytes: %[6]d volume { id: %[7]s file_system: \"NTFS\" } }\n}\n",
			n, diskBytes, volumeName(n), volumeName(n), 16*mib, diskBytes-64*mib, quote(volumeID(n)))
	}
	for n := 0; n <= size; n++ {
		if n%sharesOfServer == 0 {
			fmt.Fprintf(&out, "smb_server { name: \"files%d.example\" user { name: %s password: %q }\n", n/sharesOfServer,
				quote(smbUser), password)
			for k := 0; k < sharesOfServer; k++ {
				fmt.Fprintf(&out, "  share { name: \"share%d\" }\n", k)
			}
			out.WriteString("}\n")
		}
	}
	for n := 1; n <= size; n++ {
		fmt.Fprintf(&out, "smb_mapping { remote_path: %s username: %s }\n", quote(share(n)), quote(smbUser))
	}
	return out.String()
}

// A csi-proxy with a simulated node.
type node struct {
	process   figures.Process
	directory string
	command   *exec.Cmd
	admin     *admin
}

// startNode serves a scenario. `descriptors` is what protoc made of admin.proto.
func startNode(program, descriptors, text string, flags ...string) *node {
	directory, err := os.MkdirTemp("", "csi-proxy-scale-")
	figures.Must(err)
	n := &node{directory: directory}
	file := filepath.Join(directory, "scenario.textproto")
	figures.Must(os.WriteFile(file, []byte(text), 0o644))
	figures.Must(os.Mkdir(n.pipes(), 0o700))
	n.command = exec.Command(program, append([]string{"--host=simulated", "--scenario=" + file,
		"--socket-dir=" + n.pipes()}, flags...)...)
	startBelow(n.command)
	n.process = figures.Process(n.command.Process.Pid)
	n.admin = newAdmin(descriptors, n.socket("csi-proxy-admin"))
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err = n.admin.call("CountCalls", "{}"); err == nil {
			return n
		}
		if time.Since(begin) > 30*time.Second {
			n.stop()
			figures.Must(err)
		}
	}
}

// startBelow starts a program that ends with this one, however this one ends. Such a program ends
// with the thread that started it, so a thread that stays has to start it.
func startBelow(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		started <- command.Start()
		select {}
	}()
	figures.Must(<-started)
}

func (n *node) pipes() string             { return filepath.Join(n.directory, "pipes") }
func (n *node) socket(name string) string { return filepath.Join(n.pipes(), name+".sock") }

func (n *node) stop() {
	n.command.Process.Kill()
	n.command.Wait()
	os.RemoveAll(n.directory)
}

// The clients of one who calls the node, with a connection to each pipe.
type clients struct {
	filesystem  filesystem.FilesystemClient
	disk        disk.DiskClient
	volume      volume.VolumeClient
	smb         smb.SmbClient
	connections []*grpc.ClientConn
}

func (n *node) connect() *clients {
	var c clients
	for _, group := range []string{"filesystem", "disk", "volume", "smb"} {
		c.connections = append(c.connections, dial(n.socket("csi-proxy-"+group+"-v1")))
	}
	c.filesystem = filesystem.NewFilesystemClient(c.connections[0])
	c.disk = disk.NewDiskClient(c.connections[1])
	c.volume = volume.NewVolumeClient(c.connections[2])
	c.smb = smb.NewSmbClient(c.connections[3])
	return &c
}

func (c *clients) close() {
	for _, connection := range c.connections {
		connection.Close()
	}
}

func dial(socket string) *grpc.ClientConn {
	connection, err := grpc.NewClient("passthrough:///pipe", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		}))
	figures.Must(err)
	return connection
}

// The simulated node's admin service, which plays the cloud and counts what the machine was asked.
type admin struct {
	service    protoreflect.ServiceDescriptor
	connection *grpc.ClientConn
}

func newAdmin(descriptors, socket string) *admin {
	data, err := os.ReadFile(descriptors)
	figures.Must(err)
	var set descriptorpb.FileDescriptorSet
	figures.Must(proto.Unmarshal(data, &set))
	files, err := protodesc.NewFiles(&set)
	figures.Must(err)
	found, err := files.FindDescriptorByName("csi_proxy.simulated.Admin")
	figures.Must(err)
	return &admin{found.(protoreflect.ServiceDescriptor), dial(socket)}
}

// call takes the request as JSON.
func (a *admin) call(method, request string) (*dynamicpb.Message, error) {
	descriptor := a.service.Methods().ByName(protoreflect.Name(method))
	in, out := dynamicpb.NewMessage(descriptor.Input()), dynamicpb.NewMessage(descriptor.Output())
	if err := protojson.Unmarshal([]byte(request), in); err != nil {
		return nil, err
	}
	err := a.connection.Invoke(context.Background(), fmt.Sprintf("/%s/%s", a.service.FullName(), method), in, out)
	return out, err
}

// counts is the work that the machine has been asked to do.
type counts struct{ win32, wmi, objects, busy float64 }

func (a *admin) counts() counts {
	out, err := a.call("CountCalls", "{}")
	figures.Must(err)
	value := func(name protoreflect.Name) float64 {
		return float64(out.Get(out.Descriptor().Fields().ByName(name)).Int())
	}
	return counts{value("win32_calls"), value("wmi_calls"), value("wmi_objects"), value("busy_ns")}
}
