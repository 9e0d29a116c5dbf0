package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const (
	getInfo = "/pluginregistration.Registration/GetInfo"
	notify  = "/pluginregistration.Registration/NotifyRegistrationStatus"
)

// bytesCodec passes messages as bytes.
type bytesCodec struct{}

func (bytesCodec) Marshal(value any) ([]byte, error) { return *value.(*[]byte), nil }
func (bytesCodec) Unmarshal(data []byte, value any) error {
	*value.(*[]byte) = append([]byte{}, data...)
	return nil
}
func (bytesCodec) Name() string { return "proto" }

func dial(path string) *grpc.ClientConn {
	return must(grpc.NewClient("passthrough:///"+path,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, path string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		})))
}

// callBytes makes one call on a new connection.
func callBytes(path, method string, request []byte, timeout time.Duration) ([]byte, error) {
	conn := dial(path)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var answer []byte
	err := conn.Invoke(ctx, method, &request, &answer, grpc.ForceCodec(bytesCodec{}))
	return answer, err
}

func said(answer []byte, err error) string {
	if err != nil {
		return status.Code(err).String()
	}
	return fmt.Sprintf("OK %q", answer)
}

type passed struct{ request, answer string }

// goBetween stands between the kubelet and a registrar: while the registrar's socket exists, it has a socket of
// the same name in the kubelet's directory, passes each call on and records both messages.
type goBetween struct {
	lock  sync.Mutex
	calls []passed
	stop  chan struct{}
	done  sync.WaitGroup
}

func newGoBetween(registrarSocket, kubeletSocket string) *goBetween {
	g := &goBetween{stop: make(chan struct{})}
	g.done.Add(1)
	go func() {
		defer g.done.Done()
		var server *grpc.Server
		for {
			_, err := os.Stat(registrarSocket)
			if err == nil && server == nil {
				listener := must(net.Listen("unix", kubeletSocket))
				server = grpc.NewServer(grpc.ForceServerCodec(bytesCodec{}),
					grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
						return g.pass(registrarSocket, stream)
					}))
				go server.Serve(listener)
			}
			if err != nil && server != nil {
				server.Stop()
				server = nil
			}
			select {
			case <-g.stop:
				if server != nil {
					server.Stop()
				}
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return g
}

func (g *goBetween) pass(to string, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	answer, err := callBytes(to, method, request, 5*time.Second)
	g.lock.Lock()
	g.calls = append(g.calls, passed{fmt.Sprintf("%s %q", method, request), said(answer, err)})
	g.lock.Unlock()
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	return stream.SendMsg(&answer)
}

func (g *goBetween) close() []passed {
	close(g.stop)
	g.done.Wait()
	g.lock.Lock()
	defer g.lock.Unlock()
	return g.calls
}
