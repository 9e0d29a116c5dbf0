//go:build !windows

package api

import "github.com/kubernetes-csi/csi-proxy/v2/internal/host"

func sharePathValid(host.Bound, string) (bool, error) {
	return false, host.Unsupported("PathValid of a share of a simulated node", "map the share, which looks it up")
}
