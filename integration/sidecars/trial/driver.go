package main

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// behaviour is a driver's reaction to one call of Probe.
type behaviour struct {
	ready *bool // nil: it does not say, which counts as ready
	code  codes.Code
	after time.Duration // the delay of the answer
	hangs bool
	dies  bool // the connection ends in the middle of the call
}

var (
	yes, no  = true, false
	isReady  = behaviour{ready: &yes}
	saysNone = behaviour{}
	notReady = behaviour{ready: &no}
	hangs    = behaviour{hangs: true}
	dies     = behaviour{dies: true}
)

func fails(code codes.Code) behaviour    { return behaviour{code: code} }
func slow(after time.Duration) behaviour { return behaviour{ready: &yes, after: after} }

// driver is a CSI driver with only the Identity service, whose behaviour the tests set. It serves calls, or its
// socket is in another state (see the functions below).
type driver struct {
	csi.UnimplementedIdentityServer
	path string
	name string

	lock     sync.Mutex
	probe    behaviour
	info     behaviour // of GetPluginInfo
	server   *grpc.Server
	raw      net.Listener
	accepted []net.Conn
}

func newDriver(path, name string) *driver { return &driver{path: path, name: name} }

func (d *driver) set(probe behaviour) {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.probe = probe
}

// serve serves calls with this behaviour of Probe.
func (d *driver) serve(probe behaviour) {
	d.set(probe)
	d.lock.Lock()
	serving := d.server != nil
	d.lock.Unlock()
	if serving {
		return
	}
	d.stop()
	os.Remove(d.path)
	listener := must(net.Listen("unix", d.path))
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	server := grpc.NewServer(grpc.Creds(keepConn{}))
	csi.RegisterIdentityServer(server, d)
	d.lock.Lock()
	d.server = server
	d.lock.Unlock()
	go server.Serve(listener)
}

// stop stops listening. The socket's file stays, as after a crash.
func (d *driver) stop() {
	d.lock.Lock()
	server, raw, accepted := d.server, d.raw, d.accepted
	d.server, d.raw, d.accepted = nil, nil, nil
	d.lock.Unlock()
	if server != nil {
		server.Stop()
	}
	if raw != nil {
		raw.Close()
	}
	for _, conn := range accepted {
		conn.Close()
	}
}

func (d *driver) remove() {
	d.stop()
	os.Remove(d.path)
}

// listenRaw listens without HTTP/2: it writes text to each connection and, if ends, closes the connection.
func (d *driver) listenRaw(text string, ends bool) {
	d.remove()
	listener := must(net.Listen("unix", d.path))
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	d.lock.Lock()
	d.raw = listener
	d.lock.Unlock()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte(text))
			if ends {
				conn.Close()
				continue
			}
			d.lock.Lock()
			d.accepted = append(d.accepted, conn)
			d.lock.Unlock()
		}
	}()
}

func (d *driver) act(ctx context.Context, b behaviour) error {
	if b.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if b.dies {
		caller, _ := peer.FromContext(ctx)
		caller.AuthInfo.(connInfo).conn.Close()
		return errors.New("gone")
	}
	select {
	case <-time.After(b.after):
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.code != codes.OK {
		return status.Error(b.code, "as told")
	}
	return nil
}

func (d *driver) GetPluginInfo(ctx context.Context, _ *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	d.lock.Lock()
	b := d.info
	d.lock.Unlock()
	if err := d.act(ctx, b); err != nil {
		return nil, err
	}
	return &csi.GetPluginInfoResponse{Name: d.name, VendorVersion: "1"}, nil
}

func (d *driver) Probe(ctx context.Context, _ *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	d.lock.Lock()
	b := d.probe
	d.lock.Unlock()
	if err := d.act(ctx, b); err != nil || b.ready == nil {
		return &csi.ProbeResponse{}, err
	}
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(*b.ready)}, nil
}

// keepConn has no security, but gives each call its connection.
type keepConn struct {
	credentials.TransportCredentials
}
type connInfo struct {
	credentials.CommonAuthInfo
	conn net.Conn
}

func (connInfo) AuthType() string { return "none" }
func (keepConn) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, connInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}, conn}, nil
}
func (keepConn) Info() credentials.ProtocolInfo            { return credentials.ProtocolInfo{} }
func (k keepConn) Clone() credentials.TransportCredentials { return k }
