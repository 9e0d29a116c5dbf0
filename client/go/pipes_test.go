package csiproxy

import (
	"strings"
	"testing"
)

func TestPipeOfReturnsThePipeOfAMethod(t *testing.T) {
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

func TestOnlyPipesOfSystemAndTheSameUserAreTrusted(t *testing.T) {
	const pipe, user, other = `\\.\pipe\csi-proxy-smb-v1`, "S-1-5-21-1-2-3-1001", "S-1-5-21-1-2-3-1002"
	for _, test := range []struct {
		name    string
		owner   string
		system  bool
		self    string
		trusted bool
	}{
		{"the system's", "S-1-5-18", true, user, true},
		{"the user's own", user, false, user, true},
		{"the administrators'", "S-1-5-32-544", false, user, false},
		{"another user's", other, false, user, false},
		{"a user's, for SYSTEM", user, false, "S-1-5-18", false},
		{"nobody's", "", false, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := checkOwner(pipe, test.owner, test.system, test.self)
			if (err == nil) != test.trusted {
				t.Fatalf("got %v", err)
			}
			if err != nil && (!strings.Contains(err.Error(), pipe) || !strings.Contains(err.Error(), test.owner)) {
				t.Errorf("%v does not name the pipe and its owner", err)
			}
		})
	}
}
