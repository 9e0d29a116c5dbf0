// Package hosttest lets a test choose the node that the host APIs of its process act on.
package hosttest

import (
	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// TB is what this package uses of *testing.T and Ginkgo's GinkgoT().
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...interface{})
}

// Use makes conn the connection of all host APIs of this process that name none, until the test
// ends, for a driver that makes its host APIs itself, for example by disk.New(diskapi.New()). Tests
// that call it must not be parallel: the test fails if another one is using it.
func Use(t TB, conn grpc.ClientConnInterface) {
	t.Helper()
	restore, ok := host.ReplaceProcess(conn)
	if !ok {
		t.Fatalf("hosttest: another test has the process; tests that call Use cannot be parallel")
		return
	}
	t.Cleanup(restore)
}
