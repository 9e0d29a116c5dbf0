package csiproxy

import (
	"strings"
	"testing"
)

func TestCheckOwner(t *testing.T) {
	const pipe, user, other = `\\.\pipe\csi-proxy-smb-v1`, "S-1-5-21-1-2-3-1001", "S-1-5-21-1-2-3-1002"
	for _, test := range []struct {
		name          string
		owner         string
		administrator bool
		own           []string
		trusted       bool
	}{
		{"an administrator's", "S-1-5-18", true, []string{user}, true},
		{"the user's own", user, false, []string{user}, true},
		{"what the user creates", "S-1-5-32-545", false, []string{user, "S-1-5-32-545"}, true},
		{"another user's", other, false, []string{user, user}, false},
		{"a user's, for SYSTEM", user, false, []string{"S-1-5-18", "S-1-5-32-544"}, false},
		{"nobody's", "", false, []string{"", user}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := checkOwner(pipe, test.owner, test.administrator, test.own...)
			if (err == nil) != test.trusted {
				t.Fatalf("got %v", err)
			}
			if err != nil && (!strings.Contains(err.Error(), pipe) || !strings.Contains(err.Error(), test.owner)) {
				t.Errorf("%v does not name the pipe and its owner", err)
			}
		})
	}
}
