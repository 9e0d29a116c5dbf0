package csiproxy

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	// Upstream's generated clients require a google.golang.org/genproto of 2020, which contains the packages
	// that grpc now takes from google.golang.org/genproto/googleapis/rpc. A driver with both modules would not
	// build, because it would contain these packages twice. This import keeps a later genproto, without the
	// packages, in go.mod.
	_ "google.golang.org/genproto/protobuf/field_mask"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// environment returns an environment variable, and skips the test if it is unset.
func environment(t testing.TB, variable string) string {
	value := os.Getenv(variable)
	if value == "" {
		t.Skipf("%s is not set", variable)
	}
	return value
}

// tempDir is t.TempDir without a failure if the directory cannot be removed, as under Wine.
func tempDir(t testing.TB) string {
	directory, err := os.MkdirTemp("", "csiproxy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	return directory
}

// recorder records log lines.
type recorder struct {
	mutex sync.Mutex
	lines []string
}

func (r *recorder) log(_ Severity, line string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.lines = append(r.lines, line)
}

func (r *recorder) text() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return strings.Join(r.lines, "\n")
}

// connectEmbedded opens a simulated node in this process.
func connectEmbedded(t testing.TB, opts ...Option) *Conn {
	environment(t, "CSI_PROXY_LIBRARY")
	conn, err := Connect(Embedded, append([]Option{WithSimulatedNode(""), WithLog(new(recorder).log)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// slow delays an operation of the simulated node. The admin service is sent the fields of Fault in
// server/simulator/node.proto as unknown fields of an Empty.
func slow(t testing.TB, conn *Conn, operation string, latency time.Duration) {
	fault := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), operation)
	fault = protowire.AppendVarint(protowire.AppendTag(fault, 4, protowire.VarintType), uint64(latency.Milliseconds()))
	request := &emptypb.Empty{}
	if err := proto.Unmarshal(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), fault), request); err != nil {
		t.Fatal(err)
	}
	if err := conn.Invoke(context.Background(), "/csi_proxy.simulated.Admin/InjectFault", request, &emptypb.Empty{}); err != nil {
		t.Fatal(err)
	}
}

// startService runs csi-proxy with a simulated node, and waits until its pipes exist.
func startService(t testing.TB, directory string) (stop func()) {
	program := environment(t, "CSI_PROXY_SERVICE")
	command := exec.Command(program, "--host=simulated", "--socket-dir="+directory)
	if runtime.GOOS == "windows" {
		command = exec.Command(program, "--host=simulated", "--pipe-sddl=D:P(A;;GA;;;WD)")
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	stop = func() {
		once.Do(func() {
			if runtime.GOOS == "windows" {
				command.Process.Kill()
			} else {
				command.Process.Signal(syscall.SIGTERM)
			}
			command.Wait()
		})
	}
	t.Cleanup(stop)
	for end := time.Now().Add(30 * time.Second); firstPipe(directory) == ""; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the service opens no pipes")
		}
	}
	return stop
}
