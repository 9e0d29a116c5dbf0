package api

import (
	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/utils"
)

func sharePathValid(node host.Bound, path string) (bool, error) {
	if !node.Local() {
		return false, host.Unsupported("PathValid of a share of another node", "map the share, which looks it up")
	}
	return utils.IsPathValid(path)
}
