package csiproxy

import "testing"

func TestPipeOf(t *testing.T) {
	for method, want := range map[string]string{
		"/v1.Volume/FormatVolume":                  "csi-proxy-volume-v1",
		"/v1beta3.Disk/ListDiskIDs":                "csi-proxy-disk-v1beta3",
		"/v2alpha1.Filesystem/CreateSymlink":       "csi-proxy-filesystem-v2alpha1",
		"/v1alpha2.Iscsi/SetMutualChapSecret":      "csi-proxy-iscsi-v1alpha2",
		"/v1.Smb/NewSmbGlobalMapping":              "csi-proxy-smb-v1",
		"/v1alpha1.System/GetService":              "csi-proxy-system-v1alpha1",
		"/v1alpha1.Storage/StageVolume":            "csi-proxy-storage-v1alpha1",
		"/v3.Volume/Later":                         "csi-proxy-volume-v3",
		"/csi_proxy.simulated.Admin/Reset":         "csi-proxy-admin",
		"/v1.Tape/Rewind":                          "",
		"/grpc.health.v1.Health/Check":             "",
		"/v1/../../tmp/x.Volume/FormatVolume":      "",
		"/..%2F.Volume/FormatVolume":               "",
		"/V1.Volume/FormatVolume":                  "",
		"/Volume/FormatVolume":                     "",
		"v1.Volume/FormatVolume":                   "",
		"/v1.Volume":                               "",
		"/v1.Volume/":                              "",
		"/v1.Volume/FormatVolume/FormatVolume":     "",
		"":                                         "",
		`/v1\..\..\x.Volume/FormatVolume`:          "",
		"/v1.Volume.Volume/FormatVolume":           "",
		"/csi_proxy.simulated.Administrator/Reset": "",
	} {
		if got, ok := pipeOf(method); got != want || ok != (want != "") {
			t.Errorf("pipeOf(%q) = %q, %v, want %q", method, got, ok, want)
		}
	}
}
