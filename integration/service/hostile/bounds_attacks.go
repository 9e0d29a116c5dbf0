package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"csi-proxy.example/integration/drivers/steps"
	storage "github.com/kubernetes-csi/csi-proxy/v2/api/storage/v1alpha1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The methods of several attacks, and limits of time and number.
const (
	rescan      = "/v1.Disk/Rescan"
	listDiskIDs = "/v1.Disk/ListDiskIDs"
	// A deadline before the end of a listing or rescan, each of which takes 120 ms.
	tooShort = 110 * time.Millisecond
	// The most calls under way on a connection (server/rpc/pipe_server.h).
	grant = 108
)

var nothing = new(emptypb.Empty)

// boundsAttacks are the attacks of the table Bounds, each by one tenant.
var boundsAttacks = []attack{
	{name: "none", run: together()},
	{name: "waiting calls", about: "calls of 7 groups that wait, as many as 16 connections may have", short: true,
		run: func(ctx context.Context, count *counters) {
			calls := waitingCalls(0)
			each(ctx, len(calls), func(i int) { repeats(calls[i], 16, 16*grant, 0)(ctx, count) })
		}},
	{name: "listing of 10,000 directories", about: "100 ListMounts at a time",
		prepare: func() error { return makeDirectories(10000) },
		run:     repeats(calls("storage-v1alpha1", "/v1alpha1.Storage/ListMounts", nothing), 1, 100, 0)},
	// In half of the processes, children have dialled the connections and have ended.
	{name: "process churn", about: "40 processes at a time, each with 20 calls on each of 30 connections", short: true,
		run: func(ctx context.Context, count *counters) {
			r := newRaw(nil, new(counters))
			bytes := r.encoded(func() {
				r.begin()
				for range 20 {
					r.call(pathExists, root)
				}
			})
			each(ctx, 40, func(i int) {
				for ctx.Err() == nil {
					if one, err := startHolder([]string{"dial", "pass"}[i%2], "30"); err == nil {
						count.connections.Add(int64(one.send(bytes)))
						time.Sleep(50 * time.Millisecond)
						one.kill()
					}
				}
			})
		}},
	{name: "dials", about: "8 threads: preface and SETTINGS, then close; honest clients redial", redials: true,
		run: churn(func(r *raw) { r.begin() })},
	{name: "reflection", about: "128 streams on 16 connections that ask for descriptors without pause", short: true,
		run: func(ctx context.Context, count *counters) {
			request := &reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{
				FileContainingSymbol: "v1.Filesystem"}}
			callers(ctx, count, "filesystem-v1", 16, 128, func(ctx context.Context, conn *grpc.ClientConn) error {
				stream, err := reflection.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
				for err == nil {
					if err = stream.Send(request); err == nil {
						_, err = stream.Recv()
					}
				}
				return err
			})
		}},
	{name: "Rescan", about: "100 at a time", run: repeats(calls("disk-v1", rescan, nothing), 1, 100, 0)},
	{name: "ListDiskIDs", about: "100 at a time", run: repeats(calls("disk-v1", listDiskIDs, nothing), 1, 100, 0)},
	{name: "slow paths", about: "60 PathExists at a time, half of them slow", run: together(
		repeats(calls("filesystem-v1", pathExists, wrapperspb.String(root+`\slow`)), 1, 30, 0),
		repeats(calls("filesystem-v1", pathExists, wrapperspb.String(root)), 1, 30, 0))},
	{name: "100 short listings", about: "deadlines that end just before the listing", run: shortListings(100)},
	{name: "10 short listings", run: shortListings(10)},
	{name: "100 short Rescans", run: repeats(calls("disk-v1", rescan, nothing), 1, 100, tooShort)},
	{name: "10 short Rescans", run: repeats(calls("disk-v1", rescan, nothing), 1, 10, tooShort)},
	{name: "others' locks", about: "100 calls each on a disk and a share that the honest tenant stages", run: together(
		repeats(calls("disk-v1", "/v1.Disk/PartitionDisk", wrapperspb.UInt32(stagedDisk)), 1, 100, 0),
		repeats(calls("storage-v1alpha1", "/v1alpha1.Storage/UnstageShare", &storage.UnstageShareRequest{RemotePath: honestShare}), 1, 100, 0))},
	{name: "Watch streams", about: "380 connections to each pipe, each with 12 Watch streams",
		run: func(ctx context.Context, count *counters) {
			var pipes []string
			files, _ := filepath.Glob(steps.PipePath("csi-proxy-*-v*"))
			for _, file := range files {
				pipes = append(pipes, strings.TrimSuffix(path.Base(file), ".sock"))
			}
			crowd(380*len(pipes), func(ctx context.Context, r *raw) {
				r.begin()
				for range 12 {
					r.headers(r.fields("/grpc.health.v1.Health/Watch"), true, false)
					r.WriteData(r.stream, true, make([]byte, 5))
				}
				r.out.Flush()
				io.Copy(io.Discard, r.Conn)
			}, pipes...)(ctx, count)
		}},
	{name: "waiting requests", about: "400 processes with 8 calls of 250 KB that wait", processes: 400, short: true,
		run: func(ctx context.Context, count *counters) {
			calls := waitingCalls(250_000)
			repeats(calls[rand.N(len(calls))], 1, 8, 0)(ctx, count)
		}},
}

// calls makes a client of one call.
func calls(api, method string, request proto.Message) client {
	return client{api, []step{invokes(method, request)}}
}

// waitingCalls returns a call of each group that, by bounds.textproto, waits for the attacker's own object or its lock.
// Padding bytes in a request are an earlier value of its first field; the service uses the later value.
func waitingCalls(padding int) []client {
	first := strings.Repeat("x", padding)
	// Encodes the values as the fields 1, 2 and so on.
	fields := func(values ...string) (encoded []byte) {
		for i, value := range append([]string{first}, values...) {
			encoded = protowire.AppendTag(encoded, protowire.Number(max(1, i)), protowire.BytesType)
			encoded = protowire.AppendString(encoded, value)
		}
		return encoded
	}
	call := func(api, method string, encoded []byte) client {
		request := new(emptypb.Empty)
		request.ProtoReflect().SetUnknown(encoded)
		return calls(api, method, request)
	}
	portal := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType),
		protowire.AppendVarint(protowire.AppendTag(fields("10.0.0.9"), 2, protowire.VarintType), 3260))
	return []client{
		call("disk-v1beta1", "/v1beta1.Disk/PartitionDisk", fields("3")),
		call("storage-v1alpha1", "/v1alpha1.Storage/StageShare", fields(`\\slow\data`, plugins+"slow", "user", "password")),
		call("filesystem-v1", "/v1.Filesystem/Rmdir", fields(root+`\waits`)),
		call("volume-v1", "/v1.Volume/WriteVolumeCache", fields(`\\?\Volume{00000000-c511-4c0d-9000-000000000009}\`)),
		call("smb-v1", "/v1.Smb/NewSmbGlobalMapping", fields(`\\slow\data`, "", "user", "password")),
		call("iscsi-v1alpha2", "/v1alpha2.Iscsi/AddTargetPortal", portal),
		call("system-v1alpha1", "/v1alpha1.System/StartService", fields("slow")),
	}
}

// together runs attacks at the same time, until the context ends.
func together(all ...func(ctx context.Context, count *counters)) func(ctx context.Context, count *counters) {
	return func(ctx context.Context, count *counters) {
		each(ctx, len(all), func(i int) { all[i](ctx, count) })
		<-ctx.Done()
	}
}

// repeats makes the first call of a client endlessly, atOnce calls at a time, each with the
// deadline unless the deadline is 0.
func repeats(who client, connections, atOnce int, deadline time.Duration) func(ctx context.Context, count *counters) {
	return func(ctx context.Context, count *counters) {
		callers(ctx, count, who.api, connections, atOnce, func(ctx context.Context, conn *grpc.ClientConn) error {
			if deadline > 0 {
				limited, cancel := context.WithTimeout(ctx, deadline)
				defer cancel()
				ctx = limited
			}
			err := who.steps[0].do(ctx, conn)
			if code := status.Code(err); code != codes.OK && code != codes.DeadlineExceeded {
				// These attacks occupy the service instead of being refused.
				time.Sleep(100 * time.Millisecond)
			}
			return err
		})
	}
}

func shortListings(atOnce int) func(ctx context.Context, count *counters) {
	return together(repeats(calls("disk-v1", listDiskIDs, nothing), 1, atOnce/2, tooShort),
		repeats(calls("storage-v1alpha1", "/v1alpha1.Storage/ListDisks", nothing), 1, atOnce/2, tooShort))
}

// makeDirectories makes a number of directories through the pipe, or fails after 20 seconds.
func makeDirectories(number int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var next, made atomic.Int64
	callers(ctx, new(counters), "filesystem-v1", 1, 50, func(ctx context.Context, conn *grpc.ClientConn) error {
		err := invokes(mkdir, wrapperspb.String(fmt.Sprintf(`%smany\%d`, plugins, next.Add(1)))).do(ctx, conn)
		if err == nil && made.Add(1) >= number {
			cancel()
		}
		return err
	})
	if made.Load() < number {
		return fmt.Errorf("only %d directories were made", made.Load())
	}
	return nil
}
