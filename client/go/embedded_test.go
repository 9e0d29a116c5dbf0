package csiproxy

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smbv1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const plugins = `C:\var\lib\kubelet\plugins`

// mustFail checks the code and the message of a call's error.
func mustFail(t *testing.T, err error, code codes.Code, words string) {
	t.Helper()
	if got := status.Convert(err); got.Code() != code || !strings.Contains(got.Message(), words) {
		t.Errorf("got %v, want %v with %q", err, code, words)
	}
}

func TestEmbeddedErrorsHaveTheirCodes(t *testing.T) {
	conn := connectEmbedded(t)
	for _, ctx := range contexts(t) {
		_, err := diskv1.NewDiskClient(conn).PartitionDisk(ctx, &diskv1.PartitionDiskRequest{DiskNumber: 77})
		mustFail(t, err, codes.NotFound, "there is no disk 77")
		request := &diskv1.RescanRequest{}
		mustFail(t, conn.Invoke(ctx, "/v1.Disk/Erase", request, request), codes.Unimplemented, "")
		mustFail(t, conn.Invoke(ctx, "", request, request), codes.Unimplemented, "")
		mustFail(t, conn.Invoke(ctx, "/v1.Disk/Rescan", "text", request), codes.Internal, "grpc: error while marshaling")
		mustFail(t, conn.Invoke(ctx, "/v1.Disk/ListDiskIDs", request, "text"), codes.Internal, "grpc: failed to unmarshal")
	}
	_, err := conn.NewStream(context.Background(), &grpc.StreamDesc{}, "/v1.Disk/Watch")
	mustFail(t, err, codes.Unimplemented, "/v1.Disk/Watch")
}

// contexts returns a context that cannot be cancelled and one that can.
func contexts(t *testing.T) []context.Context {
	deadline, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return []context.Context{context.Background(), deadline}
}

func TestEmbeddedCallsEndWithTheirContext(t *testing.T) {
	conn := connectEmbedded(t)
	slow(t, conn, "filesystem.*", time.Minute)
	client := filesystemv1.NewFilesystemClient(conn)
	begin := time.Now()

	deadline, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := client.PathExists(deadline, &filesystemv1.PathExistsRequest{Path: plugins})
	mustFail(t, err, codes.DeadlineExceeded, "context deadline exceeded")

	cancelled, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = client.PathExists(cancelled, &filesystemv1.PathExistsRequest{Path: plugins})
	mustFail(t, err, codes.Canceled, "context canceled")

	// This context is cancelled before the call.
	_, err = client.PathExists(cancelled, &filesystemv1.PathExistsRequest{Path: plugins})
	mustFail(t, err, codes.Canceled, "context canceled")
	past, cancel := context.WithDeadline(context.Background(), begin)
	defer cancel()
	_, err = client.PathExists(past, &filesystemv1.PathExistsRequest{Path: plugins})
	mustFail(t, err, codes.DeadlineExceeded, "context deadline exceeded")

	// Closing waits for the calls, so it shows that they have left the node.
	conn.Close()
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestEachEmbeddedNodeHasItsOwnLog(t *testing.T) {
	first, second := new(recorder), new(recorder)
	conn := connectEmbedded(t, WithLog(first.log))
	connectEmbedded(t, WithLog(second.log))
	if _, err := diskv1.NewDiskClient(conn).Rescan(context.Background(), &diskv1.RescanRequest{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(first.text(), "method=Rescan") || strings.Contains(second.text(), "method=Rescan") {
		t.Errorf("the logs are %q and %q", first.text(), second.text())
	}
}

// Only the log function's return ends this call, so no cancellation can stop it.
func TestEmbeddedCallReturnsWhenItsContextIsCancelled(t *testing.T) {
	stuck, release := make(chan struct{}), make(chan struct{})
	conn := connectEmbedded(t, WithLog(func(_ Severity, line string) {
		if strings.Contains(line, "method=Rescan") {
			close(stuck)
			<-release
		}
	}))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-stuck
		cancel()
	}()
	_, err := diskv1.NewDiskClient(conn).Rescan(ctx, &diskv1.RescanRequest{})
	mustFail(t, err, codes.Canceled, "context canceled")
	closed := make(chan error)
	go func() { closed <- conn.Close() }()
	select {
	case <-closed:
		t.Error("Close did not wait for a call under way")
	case <-time.After(100 * time.Millisecond):
		close(release)
		<-closed
	}
}

func TestEmbeddedCloseEndsRunningCalls(t *testing.T) {
	conn := connectEmbedded(t)
	slow(t, conn, "filesystem.*", time.Minute)
	ended := make(chan error)
	for _, ctx := range contexts(t) {
		go func(ctx context.Context) {
			_, err := filesystemv1.NewFilesystemClient(conn).PathExists(ctx, &filesystemv1.PathExistsRequest{Path: plugins})
			ended <- err
		}(ctx)
	}
	time.Sleep(50 * time.Millisecond)
	for i := 0; i < 3; i++ {
		go func() { ended <- conn.Close() }()
	}
	closed := 0
	for i := 0; i < 5; i++ {
		select {
		case err := <-ended:
			if err == nil {
				closed++
			} else if !errors.Is(err, grpc.ErrClientConnClosing) {
				t.Errorf("a call under way ended with %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("a call, or Close, does not end")
		}
	}
	if closed != 3 {
		t.Errorf("%d of 3 have closed", closed)
	}
	for _, ctx := range contexts(t) {
		_, err := diskv1.NewDiskClient(conn).Rescan(ctx, &diskv1.RescanRequest{})
		if !errors.Is(err, grpc.ErrClientConnClosing) {
			t.Errorf("after Close: got %v", err)
		}
	}
}

func TestEmbeddedCallsFollowTheOptions(t *testing.T) {
	lock := tempDir(t)
	conn := connectEmbedded(t,
		WithWorkingDirs(`C:\storage`),
		WithAllowedServices("MSiSCSI"),
		WithPlainSMB(),
		WithLimits(Limits{Calls: 1, Queued: 1, CallDuration: 1500 * time.Millisecond}),
		WithLockDirectory(lock),
		WithMetricsBindAddress("127.0.0.1:0"))
	ctx := context.Background()
	_, err := filesystemv1.NewFilesystemClient(conn).Mkdir(ctx, &filesystemv1.MkdirRequest{Path: plugins + `\x`})
	if status.Code(err) == codes.OK {
		t.Error("a path leads out of the working directory")
	}
	if _, err := filesystemv1.NewFilesystemClient(conn).Mkdir(ctx, &filesystemv1.MkdirRequest{Path: `C:\storage\x`}); err != nil {
		t.Error(err)
	}
	system := systemv1alpha1.NewSystemClient(conn)
	if _, err := system.StartService(ctx, &systemv1alpha1.StartServiceRequest{Name: "MSiSCSI"}); err != nil {
		t.Error(err)
	}
	_, err = system.StopService(ctx, &systemv1alpha1.StopServiceRequest{Name: "RpcSs"})
	mustFail(t, err, codes.PermissionDenied, "RpcSs")
	if _, err := smbv1.NewSmbClient(conn).NewSmbGlobalMapping(ctx, &smbv1.NewSmbGlobalMappingRequest{
		RemotePath: `\\oldnas.example\public`, Username: "guest", Password: "guest-password",
	}); err != nil {
		t.Error(err)
	}
	slow(t, conn, "disk.*", time.Minute)
	begin := time.Now()
	ended := make(chan error)
	for i := 0; i < 3; i++ {
		go func() {
			_, err := diskv1.NewDiskClient(conn).Rescan(ctx, &diskv1.RescanRequest{})
			ended <- err
		}()
	}
	count := make(map[codes.Code]int)
	for i := 0; i < 3; i++ {
		count[status.Code(<-ended)]++
	}
	if count[codes.ResourceExhausted] != 1 || count[codes.DeadlineExceeded] != 2 || time.Since(begin) > 20*time.Second {
		t.Errorf("three calls where one may work and one wait ended with %v", count)
	}
}

func TestEmbeddedRefusesInvalidOptions(t *testing.T) {
	environment(t, "CSI_PROXY_LIBRARY")
	for words, option := range map[string]Option{
		"kubelet":    WithWorkingDirs("kubelet"),
		"no_such":    WithSimulatedNode("no_such_field: 1"),
		"9:x":        WithMetricsBindAddress("9:x"),
		"size_bytes": WithSimulatedNode("disk { number: 1 }"),
		"max_calls":  WithLimits(Limits{Calls: -1}),
	} {
		conn, err := Connect(Embedded, WithSimulatedNode(""), option)
		if err == nil {
			conn.Close()
			t.Errorf("%s: it was opened", words)
			continue
		}
		if status.Code(errors.Unwrap(err)) != codes.InvalidArgument || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want %s in it", err, words)
		}
	}
}

// shout is a codec that replaces the disk number of requests by 99.
type shout struct{ protoCodec }

func (s shout) Marshal(v interface{}) ([]byte, error) {
	v.(*diskv1.PartitionDiskRequest).DiskNumber = 99
	return s.protoCodec.Marshal(v)
}

func TestEmbeddedCallsHonourGRPCCallOptions(t *testing.T) {
	conn := connectEmbedded(t)
	var finished []error
	_, err := diskv1.NewDiskClient(conn).PartitionDisk(context.Background(), &diskv1.PartitionDiskRequest{DiskNumber: 1},
		grpc.ForceCodec(shout{}), grpc.OnFinish(func(err error) { finished = append(finished, err) }), grpc.WaitForReady(true))
	mustFail(t, err, codes.NotFound, "there is no disk 99")
	if len(finished) != 1 || finished[0] != err {
		t.Errorf("OnFinish was given %v", finished)
	}
}

// Answers stay intact while the garbage collector frees memory.
func TestEmbeddedCallsSurviveGarbageCollection(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	conn := connectEmbedded(t)
	client := filesystemv1.NewFilesystemClient(conn)
	done := make(chan error)
	for g := 0; g < 4; g++ {
		go func(g int) {
			for i := 0; i < 250; i++ {
				ctx, cancel := context.Background(), context.CancelFunc(func() {})
				if i%2 == 0 {
					ctx, cancel = context.WithCancel(ctx)
				}
				name := fmt.Sprintf(`C:\elsewhere\%d-%d-%s`, g, i, strings.Repeat("x", i))
				_, err := client.Mkdir(ctx, &filesystemv1.MkdirRequest{Path: name})
				cancel()
				if !strings.Contains(fmt.Sprint(err), fmt.Sprintf("%d-%d-", g, i)) {
					done <- fmt.Errorf("%s: got %v", name, err)
					return
				}
			}
			done <- nil
		}(g)
	}
	for g := 0; g < 4; g++ {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
