package csiproxy

import (
	"context"
	"fmt"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Conn is a connection to a node, for the clients of all groups and versions: it is what the
// constructors of their packages, as NewVolumeClient, are given. It may be used by many goroutines
// at once.
type Conn struct {
	mode Mode
	node node
	old  *grpc.ClientConn
}

// node is what a Conn calls: the service's pipes, or a node in this process.
type node interface {
	Invoke(ctx context.Context, method string, args, reply interface{}, opts ...grpc.CallOption) error
	Close() error
}

var _ grpc.ClientConnInterface = (*Conn)(nil)

// Connect makes a connection in the given mode, which Auto leaves to the environment and the node.
//
// The service need not be there: its pipes are opened by the calls that need them. An embedded node
// is there when Connect returns. A simulated one is the connection's own, so a process that wants one
// node makes one connection and shares it.
func Connect(mode Mode, opts ...Option) (*Conn, error) {
	var o options
	for _, option := range opts {
		option(&o)
	}
	chosen, reason, err := choose(mode, os.Getenv(modeVariable), o.conditions())
	if err != nil {
		return nil, fmt.Errorf("csiproxy: %w", err)
	}
	if reason != "" {
		o.logLine(SeverityInfo, fmt.Sprintf("csiproxy: the mode is %s: %s", chosen, reason))
	}
	conn := &Conn{mode: chosen}
	if conn.old, err = clientConn(conn); err != nil {
		return nil, fmt.Errorf("csiproxy: %w", err)
	}
	if chosen == Remote {
		conn.node = newRemote(&o)
		return conn, nil
	}
	if conn.node, err = openEmbedded(&o); err != nil {
		conn.old.Close()
		return nil, fmt.Errorf("csiproxy: embedded: %w", err)
	}
	return conn, nil
}

// clientConn returns a grpc.ClientConn whose calls are conn's: it never connects to anything.
func clientConn(conn *Conn) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///csi-proxy",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, args, reply interface{}, _ *grpc.ClientConn,
			_ grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return conn.Invoke(ctx, method, args, reply, opts...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, _ *grpc.ClientConn, method string,
			_ grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return conn.NewStream(ctx, desc, method, opts...)
		}))
}

// Mode returns the connection's mode: Remote or Embedded, never Auto.
func (c *Conn) Mode() Mode { return c.mode }

// ClientConn returns c for generated code that takes nothing else: that of a few versions, as disk
// v1beta1 and volume v1beta2, is from before [grpc.ClientConnInterface]. It is closed with c.
func (c *Conn) ClientConn() *grpc.ClientConn { return c.old }

// Invoke calls a method, as "/v1.Volume/FormatVolume", with a protobuf message, and waits for its
// answer. Generated clients do this; errors are gRPC statuses, equal in both modes.
//
// Once ctx ends Invoke returns its status at once, as gRPC does, though what the node is doing may
// take longer to stop.
//
// Embedded mode honours the options [grpc.ForceCodec] and [grpc.OnFinish]. The others speak of
// connections, credentials and wire sizes, which it does not have, or of headers, which are empty.
func (c *Conn) Invoke(ctx context.Context, method string, args, reply interface{}, opts ...grpc.CallOption) error {
	return c.node.Invoke(ctx, method, args, reply, opts...)
}

// NewStream returns codes.Unimplemented: the API has no streams.
func (c *Conn) NewStream(_ context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Errorf(codes.Unimplemented, "csiproxy: %s: there are no streaming methods", method)
}

// Close takes no more calls, ends those under way, and in embedded mode waits until the node has let
// go of them. Calls then fail as gRPC's do on a closed connection. Closing again is fine, and waits
// as well. Close always returns nil, and must not be called by the function given to [WithLog].
func (c *Conn) Close() error {
	c.old.Close()
	return c.node.Close()
}
