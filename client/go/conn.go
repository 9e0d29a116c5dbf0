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

// Conn is a connection to a node. Pass it to the constructors of the generated packages, such as
// NewVolumeClient, for clients of any group and version. It is safe for concurrent use.
type Conn struct {
	mode Mode
	node node
	old  *grpc.ClientConn
}

// node carries out the calls of a Conn: the service, or a node in this process.
type node interface {
	Invoke(ctx context.Context, method string, args, reply interface{}, opts ...grpc.CallOption) error
	Close() error
}

var _ grpc.ClientConnInterface = (*Conn)(nil)

// Connect makes a connection in the given mode. Auto chooses by the environment and the node.
//
// In Remote mode the service need not be running: calls open the pipes that they need. In Embedded
// mode Connect opens the node. A simulated node belongs to one connection, so a process that wants
// one node must connect once and share the connection.
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

// clientConn returns a grpc.ClientConn that only passes its calls to conn.
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

// ClientConn returns c for generated code that predates [grpc.ClientConnInterface], such as disk
// v1beta1 and volume v1beta2. It is closed with c.
func (c *Conn) ClientConn() *grpc.ClientConn { return c.old }

// Invoke calls a method, for example "/v1.Volume/FormatVolume", with a protobuf message, and waits
// for the answer. Generated clients call it. Errors are gRPC statuses, equal in both modes.
//
// When ctx ends, Invoke immediately returns the status of ctx, although the node may take longer to
// stop its work.
//
// Embedded mode honours the options [grpc.ForceCodec] and [grpc.OnFinish]. The other options
// concern connections, credentials and wire sizes, which embedded mode does not have, or headers,
// which are empty.
func (c *Conn) Invoke(ctx context.Context, method string, args, reply interface{}, opts ...grpc.CallOption) error {
	return c.node.Invoke(ctx, method, args, reply, opts...)
}

// NewStream returns codes.Unimplemented: the API has no streams.
func (c *Conn) NewStream(_ context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Errorf(codes.Unimplemented, "csiproxy: %s: there are no streaming methods", method)
}

// Close refuses new calls, ends calls under way and, in embedded mode, waits until they have left
// the node. Later calls fail as on a closed gRPC connection. A second Close waits too. Close always
// returns nil. The function given to [WithLog] must not call Close.
func (c *Conn) Close() error {
	c.old.Close()
	return c.node.Close()
}
