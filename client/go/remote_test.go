//go:build !windows

package csiproxy

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	volumev1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// volumes is a service with one volume.
type volumes struct {
	volumev1.UnimplementedVolumeServer
}

func (volumes) ListVolumesOnDisk(_ context.Context, request *volumev1.ListVolumesOnDiskRequest) (*volumev1.ListVolumesOnDiskResponse, error) {
	if request.DiskNumber != 1 {
		return nil, status.Errorf(codes.NotFound, "there is no disk %d", request.DiskNumber)
	}
	return &volumev1.ListVolumesOnDiskResponse{VolumeIds: []string{"volume"}}, nil
}

// serve opens a pipe that serves volumes until stop is called.
func serve(t *testing.T, directory, pipe string) (stop func()) {
	listener, err := net.Listen("unix", filepath.Join(directory, pipe+".sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	volumev1.RegisterVolumeServer(server, &volumes{})
	go server.Serve(listener)
	stop = func() {
		server.Stop()
		listener.Close()
	}
	t.Cleanup(stop)
	return stop
}

func connectRemote(t *testing.T, directory string) *Conn {
	conn, err := Connect(Remote, WithSocketDir(directory))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func list(conn *Conn, disk uint32) (*volumev1.ListVolumesOnDiskResponse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return volumev1.NewVolumeClient(conn).ListVolumesOnDisk(ctx, &volumev1.ListVolumesOnDiskRequest{DiskNumber: disk})
}

func TestRemoteCallsUseThePipeOfTheMethod(t *testing.T) {
	directory := tempDir(t)
	conn := connectRemote(t, directory)
	if _, err := list(conn, 1); status.Code(err) != codes.Unavailable {
		t.Errorf("without the service: got %v", err)
	}
	stop := serve(t, directory, "csi-proxy-volume-v1")
	// gRPC pauses after a failure, in this client for a second at most.
	var response *volumev1.ListVolumesOnDiskResponse
	var err error
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if response, err = list(conn, 1); err == nil {
			break
		}
	}
	if err != nil || len(response.VolumeIds) != 1 || response.VolumeIds[0] != "volume" {
		t.Errorf("got %v, %v", response, err)
	}
	if _, err := list(conn, 2); status.Code(err) != codes.NotFound || status.Convert(err).Message() != "there is no disk 2" {
		t.Errorf("got %v", err)
	}
	stop()
	if _, err := list(conn, 1); status.Code(err) != codes.Unavailable {
		t.Errorf("after the service: got %v", err)
	}
}

func TestRemoteCallsOfUnknownMethodsFail(t *testing.T) {
	conn := connectRemote(t, tempDir(t))
	err := conn.Invoke(context.Background(), "/v1.Tape/Rewind", &volumev1.FormatVolumeRequest{}, &volumev1.FormatVolumeRequest{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v", err)
	}
	if _, err := conn.NewStream(context.Background(), &grpc.StreamDesc{}, "/v1.Volume/Watch"); status.Code(err) != codes.Unimplemented {
		t.Errorf("a stream gave %v", err)
	}
}

func TestRemoteCallsFailAfterClose(t *testing.T) {
	directory := tempDir(t)
	serve(t, directory, "csi-proxy-volume-v1")
	conn := connectRemote(t, directory)
	if _, err := list(conn, 1); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 2; i++ {
		if err := conn.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if _, err := list(conn, 1); err != grpc.ErrClientConnClosing {
			t.Errorf("after Close: got %v", err)
		}
	}
}

func TestSocketDirectoryOptionOverridesTheVariable(t *testing.T) {
	directory := tempDir(t)
	if pipe := firstPipe(directory); pipe != "" {
		t.Errorf("there is a pipe %s", pipe)
	}
	// This pipe is not the first that Auto looks for.
	stop := serve(t, directory, "csi-proxy-volume-v1beta1")
	want := filepath.Join(directory, "csi-proxy-volume-v1beta1.sock")
	t.Setenv("CSI_PROXY_MODE", "")
	t.Setenv("CSI_PROXY_SOCKET_DIR", directory)
	if pipe := firstPipe(new(options).socketDirectory()); pipe != want {
		t.Errorf("by the variable: got %q", pipe)
	}
	conn, err := Connect(Auto, WithLog(func(_ Severity, line string) {
		if line != "csiproxy: the mode is remote: there is a pipe "+want {
			t.Errorf("got %q", line)
		}
	}))
	if err != nil || conn.Mode() != Remote {
		t.Fatalf("got %v, %v", conn, err)
	}
	conn.Close()
	t.Setenv("CSI_PROXY_SOCKET_DIR", tempDir(t))
	o := options{socketDir: directory}
	if pipe := firstPipe(o.socketDirectory()); pipe != want {
		t.Errorf("the option before the variable: got %q", pipe)
	}
	stop()
	if pipe := firstPipe(directory); pipe != "" {
		t.Errorf("the service has gone, and there is %s", pipe)
	}
}

func TestSocketWithoutAListenerCountsAsMissing(t *testing.T) {
	path := pipePath(tempDir(t), "csi-proxy-disk-v1")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if !pipeIsThere(path) {
		t.Error("a pipe is not seen")
	}
	listener.SetUnlinkOnClose(false)
	listener.Close()
	if pipeIsThere(path) {
		t.Error("what a killed service left is taken for a pipe")
	}
}

// A call ends with its context, even if the server does not answer.
func TestRemoteCallsEndIfTheServerMisbehaves(t *testing.T) {
	for name, serve := range map[string]func(net.Conn){
		"silent":         func(conn net.Conn) {},
		"closes at once": func(conn net.Conn) { conn.Close() },
		"garbage":        func(conn net.Conn) { conn.Write(make([]byte, 1000)) },
		// Sends settings and a window that let the client send without limit, but does not read.
		"stuck": func(conn net.Conn) {
			conn.Write([]byte("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x7f\xff\xff\xff\x00\x00\x04\x08\x00\x00\x00\x00\x00\x7f\xfe\x00\x00"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			directory := tempDir(t)
			listener, err := net.Listen("unix", filepath.Join(directory, "csi-proxy-volume-v1.sock"))
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					serve(conn)
				}
			}()
			conn := connectRemote(t, directory)
			var callers sync.WaitGroup
			for i := 0; i < 8; i++ {
				callers.Add(1)
				go func(size int) {
					defer callers.Done()
					for try := 0; try < 2; try++ {
						ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
						begin := time.Now()
						_, err := volumev1.NewVolumeClient(conn).FormatVolume(ctx, &volumev1.FormatVolumeRequest{VolumeId: strings.Repeat("x", size)})
						cancel()
						if err == nil || time.Since(begin) > 5*time.Second {
							t.Errorf("after %v: %v", time.Since(begin), err)
						}
					}
				}(i * 200_000)
			}
			callers.Wait()
		})
	}
}
