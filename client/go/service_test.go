package csiproxy

import (
	"context"
	"strings"
	"testing"
	"time"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Auto is the service while it is there, and this process once the service has gone; a connection
// keeps its mode.
func TestAutoFollowsTheService(t *testing.T) {
	environment(t, "CSI_PROXY_LIBRARY")
	t.Setenv("CSI_PROXY_MODE", "")
	directory := tempDir(t)
	stop := startService(t, directory)
	connect := func(want Mode, why string) *Conn {
		log := new(recorder)
		conn, err := Connect(Auto, WithSocketDir(directory), WithSimulatedNode(""), WithLog(log.log))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if text := log.text(); conn.Mode() != want || !strings.Contains(text, why) {
			t.Fatalf("the mode is %v, not %v; the log is %q", conn.Mode(), want, text)
		}
		return conn
	}
	rescan := func(conn *Conn) error {
		_, err := diskv1.NewDiskClient(conn).Rescan(context.Background(), &diskv1.RescanRequest{})
		return err
	}
	served := connect(Remote, "there is a pipe")
	if err := rescan(served); err != nil {
		t.Fatal(err)
	}
	stop()
	alone := connect(Embedded, "there is no pipe of the service")
	if err := rescan(alone); err != nil {
		t.Fatal(err)
	}
	mustFail(t, rescan(served), codes.Unavailable, "")

	startService(t, directory)
	connect(Remote, "there is a pipe")
	if err := rescan(alone); err != nil {
		t.Error(err)
	}
	// The pause after a failure to connect is a second at most.
	var err error
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = rescan(served); err == nil {
			break
		}
	}
	if err != nil {
		t.Errorf("the service is back, and a call fails: %v", err)
	}
}

// The administrator of the simulated node is reached in both modes.
func TestTheAdministratorOfBothNodes(t *testing.T) {
	directory := tempDir(t)
	startService(t, directory)
	remote, err := Connect(Remote, WithSocketDir(directory))
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	for _, conn := range []*Conn{remote, connectEmbedded(t)} {
		request := &diskv1.PartitionDiskRequest{DiskNumber: 1}
		if _, err := diskv1.NewDiskClient(conn).PartitionDisk(context.Background(), request); err != nil {
			t.Fatalf("%v: %v", conn.Mode(), err)
		}
		before, after := dump(t, conn), ""
		if err := conn.Invoke(context.Background(), "/csi_proxy.simulated.Admin/Reset", &emptypb.Empty{}, &emptypb.Empty{}); err != nil {
			t.Fatalf("%v: %v", conn.Mode(), err)
		}
		if after = dump(t, conn); before == after || after == "" {
			t.Errorf("%v: the node is not as it was", conn.Mode())
		}
	}
}

// dump returns the simulated node's state.
func dump(t *testing.T, conn *Conn) string {
	state := &emptypb.Empty{}
	if err := conn.Invoke(context.Background(), "/csi_proxy.simulated.Admin/DumpState", &emptypb.Empty{}, state); err != nil {
		t.Fatalf("%v: %v", conn.Mode(), err)
	}
	text, err := proto.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
