package api

import (
	"errors"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/cim"
)

func TestWaitUntilServiceStateRequestsTheChangeOnceAndPolls(t *testing.T) {
	failure := errors.New("it fails")
	for _, c := range []struct {
		name        string
		doneAfter   int // checks
		checkFails  bool
		changeFails bool
		wantChanges int
		wantErr     error
		wantAtLeast int // checks
	}{
		{name: "already there", doneAfter: 1, wantAtLeast: 1},
		{name: "soon there", doneAfter: 3, wantChanges: 1, wantAtLeast: 3},
		{name: "never there", doneAfter: 1 << 30, wantChanges: 1, wantErr: errTimedOut, wantAtLeast: 2},
		{name: "cannot be told", checkFails: true, wantErr: failure, wantAtLeast: 1},
		{name: "does not change", doneAfter: 1 << 30, changeFails: true, wantChanges: 1, wantErr: failure, wantAtLeast: 1},
	} {
		checks, changes, before := 0, 0, ""
		state, err := ServiceManagerImpl{}.WaitUntilServiceState(nil,
			func(cim.ServiceInterface) error {
				changes++
				if c.changeFails {
					return failure
				}
				return nil
			},
			func(_ cim.ServiceInterface, last string) (bool, string, error) {
				if last != before {
					t.Errorf("%s: check is told %q, not %q", c.name, last, before)
				}
				checks++
				if c.checkFails {
					return false, "", failure
				}
				before = "Stop Pending"
				return checks >= c.doneAfter, before, nil
			}, time.Millisecond, 20*time.Millisecond)
		if !errors.Is(err, c.wantErr) || (err == nil) != (c.wantErr == nil) || state != before {
			t.Errorf("%s: %q, %v", c.name, state, err)
		}
		if changes != c.wantChanges || checks < c.wantAtLeast {
			t.Errorf("%s: %d changes, %d checks", c.name, changes, checks)
		}
	}
}
