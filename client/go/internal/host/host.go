// Package host connects the host APIs to the node that they act on.
package host

import (
	"context"
	"os"
	"runtime"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	csiproxy "github.com/kubernetes-csi/csi-proxy/v2"
)

// Bound is the connection and the context of a host API's calls. The zero value is the node of this
// process and a context that never ends.
type Bound struct {
	conn grpc.ClientConnInterface
	ctx  context.Context
}

// To returns a Bound for conn.
func To(conn grpc.ClientConnInterface) Bound { return Bound{conn: conn} }

// With returns b with ctx as the context of its calls.
func (b Bound) With(ctx context.Context) Bound { return Bound{b.conn, ctx} }

// Conn returns the connection for generated clients.
func (b Bound) Conn() grpc.ClientConnInterface {
	if b.conn == nil {
		return process
	}
	return b.conn
}

// Local reports whether calls go to the node of this process rather than to a test's.
func (b Bound) Local() bool { return b.conn == nil && !process.replaced() }

// Context returns the context of the calls.
func (b Bound) Context() context.Context {
	if b.ctx == nil {
		return context.Background()
	}
	return b.ctx
}

// Bind returns api with ctx as the context of its calls, if api has a method WithContext. The host
// APIs of this module have one; other host APIs, for example a test's, need not have one.
func Bind[API any](ctx context.Context, api API) API {
	if bindable, ok := any(api).(interface{ WithContext(context.Context) API }); ok {
		return bindable.WithContext(ctx)
	}
	return api
}

// process is the node of this process, which all host APIs share.
var process = &lazy{open: openProcess}

// lazy opens a connection at the first call. If that fails, the next call tries again, so that a
// driver need not be restarted once the cause is gone.
type lazy struct {
	open func() (grpc.ClientConnInterface, error)

	mutex sync.Mutex
	conn  grpc.ClientConnInterface
	other grpc.ClientConnInterface
}

// ReplaceProcess makes conn the connection of all host APIs that name no connection. restore undoes
// the replacement. ok is false if the connection is already replaced.
func ReplaceProcess(conn grpc.ClientConnInterface) (restore func(), ok bool) {
	process.mutex.Lock()
	defer process.mutex.Unlock()
	if process.other != nil {
		return nil, false
	}
	process.other = conn
	return func() {
		process.mutex.Lock()
		defer process.mutex.Unlock()
		process.other = nil
	}, true
}

func (l *lazy) replaced() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.other != nil
}

func (l *lazy) opened() (grpc.ClientConnInterface, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.other != nil {
		return l.other, nil
	}
	if l.conn == nil {
		conn, err := l.open()
		if err != nil {
			return nil, status.Error(codeOf(err), err.Error())
		}
		l.conn = conn
	}
	return l.conn, nil
}

// codeOf returns the code of an error, or UNAVAILABLE if it has none.
func codeOf(err error) codes.Code {
	if code := status.Code(err); code != codes.Unknown {
		return code
	}
	return codes.Unavailable
}

func (l *lazy) Invoke(ctx context.Context, method string, args, reply interface{}, opts ...grpc.CallOption) error {
	conn, err := l.opened()
	if err != nil {
		return err
	}
	return conn.Invoke(ctx, method, args, reply, opts...)
}

func (l *lazy) NewStream(_ context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Errorf(codes.Unimplemented, "%s: there are no streaming methods", method)
}

// openProcess opens the node according to the environment.
func openProcess() (grpc.ClientConnInterface, error) {
	// Programs written for the Go library expect the work to be done in their own process.
	mode := csiproxy.Embedded
	if os.Getenv("CSI_PROXY_MODE") != "" {
		mode = csiproxy.Auto
	}
	var options []csiproxy.Option
	if dirs := os.Getenv("CSI_PROXY_WORKING_DIRS"); dirs != "" {
		options = append(options, csiproxy.WithWorkingDirs(strings.Split(dirs, ";")...))
	}
	if file := os.Getenv("CSI_PROXY_SCENARIO"); file != "" && runtime.GOOS != "windows" {
		scenario, err := os.ReadFile(file)
		if err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "CSI_PROXY_SCENARIO: %v", err)
		}
		options = append(options, csiproxy.WithSimulatedNode(string(scenario)))
	}
	conn, err := csiproxy.Connect(mode, options...)
	if err != nil {
		return nil, err
	}
	return conn, nil
}
