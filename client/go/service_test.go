package csiproxy

import (
	"context"
	"strings"
	"testing"
	"time"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"google.golang.org/grpc/codes"
)

// Auto chooses the service while it is running, and this process afterwards. A connection keeps its
// mode.
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
	// gRPC pauses for at most a second after it failed to connect.
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
