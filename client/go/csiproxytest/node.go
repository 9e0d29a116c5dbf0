package csiproxytest

import (
	"context"
	"os"

	csiproxy "github.com/kubernetes-csi/csi-proxy/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TB is what this package uses of *testing.T, *testing.B, *testing.F and Ginkgo's GinkgoT().
type TB interface {
	Helper()
	Cleanup(func())
	Logf(format string, args ...interface{})
	Errorf(format string, args ...interface{})
	Fatalf(format string, args ...interface{})
}

// Node is a simulated Windows node that belongs to one test. It is a [grpc.ClientConnInterface], so
// generated clients of every group and version work with it. It is safe for concurrent use.
//
// Methods end the test if they fail. Assertions fail the test and let it continue.
type Node struct {
	t    TB
	conn *csiproxy.Conn
}

var _ grpc.ClientConnInterface = (*Node)(nil)

// Option configures a Node.
type Option func(*config)

type config struct {
	options []csiproxy.Option
}

func with(option csiproxy.Option) Option {
	return func(c *config) { c.options = append(c.options, option) }
}

// WithWorkingDirs sets the directories that paths in calls must lead into, by default
// C:\var\lib\kubelet.
func WithWorkingDirs(dirs ...string) Option { return with(csiproxy.WithWorkingDirs(dirs...)) }

// WithAllowedServices sets the Windows services that calls may start and stop. The default is all.
func WithAllowedServices(names ...string) Option {
	return with(csiproxy.WithAllowedServices(names...))
}

// WithPlainSMB permits SMB mappings without encryption.
func WithPlainSMB() Option { return with(csiproxy.WithPlainSMB()) }

// WithBoundSMBCredentials refuses calls for a mapped share without the credentials of the mapping.
func WithBoundSMBCredentials() Option { return with(csiproxy.WithBoundSMBCredentials()) }

// NewNode returns a node that ends with the test. The test's log gets a line for each call that
// changes the node.
//
// scenario describes the node: a textproto of csi_proxy.simulated.Node, or the name of a built-in
// one, for example "azure-scsi" or "ec2-nitro-2022" (csi-proxy --list-scenarios prints them). In a
// cloud's scenario AttachDisk gives disks the locations and names of that cloud. With "" the node
// has a system disk C:, raw disks 1 (Azure's kind), 2 (AWS), 3 (Google, offline) and 4, a file
// server, an iSCSI portal and a few services.
//
// The test fails if the library is not found; the message names the command that installs it.
func NewNode(t TB, scenario string, opts ...Option) *Node {
	t.Helper()
	config := config{options: []csiproxy.Option{
		csiproxy.WithSimulatedNode(scenario),
		csiproxy.WithLog(func(_ csiproxy.Severity, line string) { t.Logf("%s", line) }),
	}}
	if os.Getenv("CSI_PROXY_LIBRARY") == "" {
		if path, err := LibraryPath(); err == nil && isFile(path) {
			config.options = append(config.options, csiproxy.WithLibrary(path))
		}
	}
	for _, option := range opts {
		option(&config)
	}
	conn, err := csiproxy.Connect(csiproxy.Embedded, config.options...)
	if err != nil {
		t.Fatalf("csiproxytest: %v%s", err, advice(err))
		return nil
	}
	t.Cleanup(func() { conn.Close() })
	return &Node{t: t, conn: conn}
}

// advice returns help for a user whose library is missing or does not fit this package.
func advice(err error) string {
	switch status.Code(err) {
	case codes.Unknown, codes.FailedPrecondition:
		return "\nThis builds the library and places it for tests:\n\n\t" + InstallCommand + "\n\n" +
			"CSI_PROXY_LIBRARY may be the full path of another one."
	}
	return ""
}

// Invoke makes a call. Generated clients call it.
func (n *Node) Invoke(ctx context.Context, method string, args, reply interface{}, opts ...grpc.CallOption) error {
	return n.conn.Invoke(ctx, method, args, reply, opts...)
}

// NewStream always fails, because the API has no streams.
func (n *Node) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return n.conn.NewStream(ctx, desc, method, opts...)
}

// ClientConn returns the node for generated code that predates [grpc.ClientConnInterface]: disk,
// filesystem, smb and volume v1beta1, and volume v1beta2.
func (n *Node) ClientConn() *grpc.ClientConn { return n.conn.ClientConn() }
