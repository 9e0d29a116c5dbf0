package filesystem

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/utils"
)

// ValidatePathWindows returns an error unless path is one that calls accept: absolute, on a drive,
// with backslashes, at most 260 bytes long, and without ".." and any of " / : ? * |.
func ValidatePathWindows(path string) error {
	if len(path) > utils.MaxPathLengthWindows {
		return host.Invalid("the path is %d bytes long, more than %d", len(path), utils.MaxPathLengthWindows)
	}
	if len(path) < 3 || !isLetter(path[0]) || path[1:3] != `:\` {
		return host.Invalid("the path %q is not absolute, as C:\\... is", path)
	}
	if rest := path[3:]; strings.ContainsAny(rest, `"/:?*|`) || strings.Contains(rest, "..") {
		return host.Invalid("the path %q has invalid characters", path)
	}
	return nil
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
