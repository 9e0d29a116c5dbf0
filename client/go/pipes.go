package csiproxy

import "strings"

// adminPipe is the pipe of a simulated node's administrator, who has no version.
const (
	adminPipe    = "csi-proxy-admin"
	adminService = "csi_proxy.simulated.Admin"
)

// released are the groups and the versions of their pipes. The service serves every version that it
// ever had, so this list need not grow: one of these pipes shows that the service is there.
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

// pipeOf returns the pipe that serves a method: /v1.Volume/FormatVolume is csi-proxy-volume-v1's.
// There is none for a method that is of no group.
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

// pipeName is what the pipe of a released version is called: the one place that says so.
func pipeName(group, version string) string { return "csi-proxy-" + group + "-" + version }

// isVersion keeps anything else out of a path: a version may be later than this package.
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

// firstPipe returns the path of a pipe of the service that is there, or nothing.
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
