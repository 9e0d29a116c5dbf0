// Package hosttest lets a test choose the node that the host APIs of its process act on.
package hosttest

import (
	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// TB has the methods of *testing.T, and of Ginkgo's GinkgoT(), that this package calls.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...interface{})
}

// Use makes conn the connection of this process's host APIs that were made without one, until the
// test ends. It serves drivers that make their own host APIs, for example disk.New(diskapi.New()).
// Tests that call Use must not be parallel: a second test fails while the first is using it.
func Use(t TB, conn grpc.ClientConnInterface) {
	t.Helper()
	restore, ok := host.ReplaceProcess(conn)
	if !ok {
		t.Fatalf("hosttest: another test uses the node of this process; tests that call Use cannot be parallel")
		return
	}
	t.Cleanup(restore)
}
