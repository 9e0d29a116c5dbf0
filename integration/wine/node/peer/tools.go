//go:build tools

package peer

// The Go release of the service, built to run on the double.
import _ "github.com/kubernetes-csi/csi-proxy/cmd/csi-proxy"
