package csiproxy

import (
	"strings"
	"testing"
)

func TestCheckOwner(t *testing.T) {
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
