package csiproxy

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// remote calls the service, with one gRPC connection per pipe.
type remote struct {
	socketDir string

	mutex  sync.Mutex
	closed bool
	pipes  map[string]*grpc.ClientConn
}

func newRemote(o *options) *remote {
	return &remote{
		socketDir: o.socketDirectory(),
		pipes:     make(map[string]*grpc.ClientConn),
	}
}

func (r *remote) Invoke(ctx context.Context, method string, args, reply interface{}, opts ...grpc.CallOption) error {
	name, ok := pipeOf(method)
	if !ok {
		return status.Errorf(codes.Unimplemented, "csiproxy: no pipe serves the method %s", method)
	}
	pipe, err := r.pipe(name)
	if err != nil {
		return err
	}
	return pipe.Invoke(ctx, method, args, reply, opts...)
}

// pipe returns the connection to a pipe without connecting. The first call connects, and so does
// the first call after the service was away.
func (r *remote) pipe(name string) (*grpc.ClientConn, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.closed {
		return nil, grpc.ErrClientConnClosing
	}
	if pipe := r.pipes[name]; pipe != nil {
		return pipe, nil
	}
	path := pipePath(r.socketDir, name)
	pipe, err := grpc.NewClient("passthrough:///"+name,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dialPipe(ctx, path) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"),
		grpc.WithNoProxy(),
		// Short pauses, because the service is on this node; gRPC's defaults, up to two minutes, suit networks.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 5 * time.Second,
		}))
	if err != nil {
		return nil, status.Errorf(codes.Internal, "csiproxy: pipe %s: %v", name, err)
	}
	r.pipes[name] = pipe
	return pipe, nil
}

func (r *remote) Close() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.closed = true
	for name, pipe := range r.pipes {
		pipe.Close()
		delete(r.pipes, name)
	}
	return nil
}

// pipeIsThere reports whether the pipe exists, by connecting to it. A pipe that this process may
// not open counts as existing; its calls return the reason.
func pipeIsThere(path string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	pipe, err := dialPipe(ctx, path)
	if err != nil {
		return !isAbsent(err)
	}
	pipe.Close()
	return true
}

// checkOwner returns an error unless the pipe belongs to the system or to self, the user of this
// process. Nothing may be sent to another owner, who has taken the pipe's name. The Administrators
// group is refused too, because the pipes of a container's administrator belong to that group.
func checkOwner(path, owner string, system bool, self string) error {
	if system || owner != "" && owner == self {
		return nil
	}
	if owner == "" {
		owner = "an unknown account"
	}
	return fmt.Errorf("the pipe %s belongs to %s, neither to the system nor to %s: another program, or another release of the service, has taken its name", path, owner, self)
}
