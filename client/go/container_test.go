package csiproxy

import (
	"strings"
	"testing"
)

func TestContainerSigns(t *testing.T) {
	for _, test := range []struct {
		signs containerSigns
		want  bool
		why   string
	}{
		{containerSigns{known: true, user: "S-1-5-18"}, true, ""},
		{containerSigns{known: true, user: "S-1-5-930-1"}, true, ""},
		{containerSigns{known: true, containerType: true, user: "S-1-5-18"}, false, "runs in a container"},
		{containerSigns{known: true, user: "S-1-5-93-2-1"}, false, "runs in a container"},
		{containerSigns{user: "S-1-5-93-2-2"}, false, "runs in a container"},
		{containerSigns{user: "S-1-5-18"}, false, "cannot be told"},
		{containerSigns{known: true}, false, "cannot be told"},
	} {
		got, why := test.signs.outside()
		if got != test.want || !strings.Contains(why, test.why) {
			t.Errorf("%+v: got %v, %q", test.signs, got, why)
		}
		if !got && !strings.Contains(why, "CSI_PROXY_MODE=embedded") {
			t.Errorf("%+v: %q does not say how to embed", test.signs, why)
		}
	}
}
