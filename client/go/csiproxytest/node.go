package csiproxytest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// TB has the methods of *testing.T, *testing.B, *testing.F and Ginkgo's GinkgoT() that this package
// calls.
type TB interface {
	Helper()
	Cleanup(func())
	Logf(format string, args ...interface{})
	Errorf(format string, args ...interface{})
	Fatalf(format string, args ...interface{})
}

// Node is a simulated Windows node that belongs to one test. It is safe for concurrent use.
//
// Methods end the test if they fail. Assertions fail the test and let it continue.
type Node struct {
	t         TB
	ctl       string
	socketDir string
}

// advice ends the error for a missing program.
const advice = ": the README of csiproxytest has where its programs come from"

// NewNode starts a node that ends with the test. The test's log gets the node's log, with a line for
// each call that changes the node.
//
// scenario describes the node: a textproto of csi_proxy.simulated.Node, or the name of a built-in
// one, for example "azure-scsi" or "ec2-nitro-2022" (csi-proxy --list-scenarios prints them). In a
// cloud's scenario AttachDisk gives disks the locations and names of that cloud. With "" the node
// has a system disk C:, raw disks 1 (Azure's kind), 2 (AWS), 3 (Google, offline) and 4, a file
// server, an iSCSI portal and a few services.
//
// flags are further flags of csi-proxy, for example `--working-dir=C:\csi`.
//
// The test fails if the programs are not in PATH, or if csi-proxy refuses the scenario or a flag; the
// failure quotes csi-proxy's message.
func NewNode(t TB, scenario string, flags ...string) *Node {
	t.Helper()
	node, err := start(t, scenario, flags)
	if err != nil {
		t.Fatalf("csiproxytest: %v", err)
		return nil
	}
	return node
}

func start(t TB, scenario string, flags []string) (*Node, error) {
	name := "csi-proxy"
	if runtime.GOOS == "windows" {
		name = "csi-proxy-simulated"
	}
	service, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, advice)
	}
	ctl, err := exec.LookPath("csi-proxyctl")
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, advice)
	}
	// t's directory is not used, because its name may be too long for a socket.
	directory, err := os.MkdirTemp("", "csi-proxy-")
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	flags = append([]string{"--host=simulated"}, flags...)
	if runtime.GOOS != "windows" {
		flags = append(flags, "--socket-dir="+directory)
	}
	if strings.ContainsAny(scenario, "{:") {
		file := filepath.Join(directory, "scenario.textproto")
		if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
			return nil, err
		}
		scenario = file
	}
	if scenario != "" {
		flags = append(flags, "--scenario="+scenario)
	}
	stop, err := run(t, exec.Command(service, flags...))
	if err != nil {
		return nil, err
	}
	t.Cleanup(stop)
	return &Node{t, ctl, directory}, nil
}

// run starts the service and returns once the service serves. stop kills the service and waits for
// its end.
func run(t TB, service *exec.Cmd) (stop func(), err error) {
	log, err := service.StderrPipe()
	if err != nil {
		return nil, err
	}
	endWithThread(service)
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		// Keeps the thread, because its end would kill the service (endWithThread).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := service.Start(); err != nil {
			started <- err
			return
		}
		serves, text := false, ""
		for lines := bufio.NewReader(log); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			t.Logf("%s", strings.TrimSpace(line))
			if serves {
				continue
			}
			text += line
			if serves = strings.Contains(line, " serves "); serves {
				started <- nil
			}
		}
		service.Wait()
		if !serves {
			started <- errors.New(text)
		}
	}()
	if err := <-started; err != nil {
		<-ended
		return nil, err
	}
	return func() {
		service.Process.Kill()
		<-ended
	}, nil
}

// SocketDir returns the directory of the node's sockets, for example for csiproxy.WithSocketDir. On
// Windows there are no sockets.
func (n *Node) SocketDir() string { return n.socketDir }

// Endpoint returns the address at which the node serves a version of a group, for example
// Endpoint("disk", "v1"): a target of grpc.NewClient, or on Windows the path of a pipe.
func (n *Node) Endpoint(group, version string) string {
	name := "csi-proxy-" + group + "-" + version
	if runtime.GOOS == "windows" {
		return `\\.\pipe\` + name
	}
	return "unix:" + filepath.Join(n.socketDir, name+".sock")
}

// administer calls a method of the service csi_proxy.simulated.Admin.
func (n *Node) administer(method string, request fields) (answer response) {
	n.t.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		n.t.Fatalf("csiproxytest: %s: %v", method, err)
		return
	}
	arguments := []string{"sim", method, "--json", "-"}
	if runtime.GOOS != "windows" {
		arguments = append(arguments, "--socket-dir="+n.socketDir)
	}
	command := exec.Command(n.ctl, arguments...)
	command.Stdin = bytes.NewReader(text)
	out, err := command.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) && len(failed.Stderr) > 0 {
		err = errors.New(strings.TrimPrefix(strings.TrimSpace(string(failed.Stderr)), "error: "))
	}
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	if err != nil {
		n.t.Fatalf("csiproxytest: %s: %v", method, err)
	}
	return answer
}
