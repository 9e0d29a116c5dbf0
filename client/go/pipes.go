package csiproxy

import "strings"

// adminPipe is the pipe of the simulated node's admin service, which has no versions.
const (
	adminPipe    = "csi-proxy-admin"
	adminService = "csi_proxy.simulated.Admin"
)

// released are groups and versions whose pipes show that the service is running. New versions need
// not be added, because the service keeps serving the old ones.
var released = []struct {
	group    string
	versions []string
}{
	{"disk", []string{"v1", "v1beta3", "v1beta2", "v1beta1", "v1alpha1"}},
	{"filesystem", []string{"v1", "v1beta2", "v1beta1", "v1alpha1", "v2alpha1"}},
	{"iscsi", []string{"v1alpha2", "v1alpha1"}},
	{"smb", []string{"v1", "v1beta2", "v1beta1", "v1alpha1"}},
	{"storage", []string{"v1alpha1"}},
	{"system", []string{"v1alpha1"}},
	{"volume", []string{"v1", "v1beta3", "v1beta2", "v1beta1", "v1alpha1", "v2alpha1"}},
}

// pipeOf returns the pipe that serves a method: csi-proxy-volume-v1 for /v1.Volume/FormatVolume. ok
// is false if the method belongs to no group.
func pipeOf(method string) (pipe string, ok bool) {
	parts := strings.Split(method, "/")
	if len(parts) != 3 || parts[0] != "" || parts[2] == "" {
		return "", false
	}
	if parts[1] == adminService {
		return adminPipe, true
	}
	version, service, dotted := strings.Cut(parts[1], ".")
	if !dotted || !isVersion(version) {
		return "", false
	}
	for _, api := range released {
		if group := strings.ToLower(service); group == api.group {
			return pipeName(group, version), true
		}
	}
	return "", false
}

// pipeName returns the name of the pipe of a released version.
func pipeName(group, version string) string { return "csi-proxy-" + group + "-" + version }

// isVersion reports whether text looks like a version, so that nothing else gets into a path. The
// version may be later than this package.
func isVersion(text string) bool {
	if !strings.HasPrefix(text, "v") {
		return false
	}
	for _, c := range text {
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}

// firstPipe returns the path of the first pipe of the service that exists, or "".
func firstPipe(directory string) string {
	for _, api := range released {
		for _, version := range api.versions {
			path := pipePath(directory, pipeName(api.group, version))
			if pipeIsThere(path) {
				return path
			}
		}
	}
	return ""
}
