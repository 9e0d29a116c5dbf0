package sidecars

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Bytes that protoc --encode makes of the released files.
func TestMessagesAreThoseOfTheReleasedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		message message
		bytes   string
	}{
		"PluginInfo":            {&pluginInfo{"CSIPlugin", "a.b", "/c", []string{"1.0.0", "2"}}, "\n\tCSIPlugin\x12\x03a.b\x1a\x02/c\"\x051.0.0\"\x012"},
		"RegistrationStatus":    {&registrationStatus{true, ""}, "\x08\x01"},
		"refused":               {&registrationStatus{false, "no"}, "\x12\x02no"},
		"GetPluginInfoResponse": {&driverInfo{"a.b"}, "\n\x03a.b"},
		"ready":                 {&probeResponse{}, "\n\x02\x08\x01"},
		"not ready":             {&probeResponse{notReady: true}, "\n\x00"},
		"empty":                 {&empty{}, ""},
	} {
		if data, err := (codec{}).Marshal(c.message); err != nil || string(data) != c.bytes {
			t.Errorf("%s: %q, %v; want %q", name, data, err, c.bytes)
		}
	}
}

func TestWhatIsReadIsWhatWasWritten(t *testing.T) {
	written := pluginInfo{"CSIPlugin", "a.b", "/c", []string{"1.0.0", ""}}
	data, _ := written.marshal()
	// A field of a later release.
	data = protowire.AppendFixed64(protowire.AppendTag(data, 9, protowire.Fixed64Type), 1)
	data = protowire.AppendTag(data, 10, protowire.StartGroupType)
	data = protowire.AppendTag(data, 10, protowire.EndGroupType)
	var read pluginInfo
	if err := (codec{}).Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	if read.kind != written.kind || read.name != written.name || read.endpoint != written.endpoint || len(read.versions) != 2 || read.versions[0] != "1.0.0" {
		t.Errorf("%+v, want %+v", read, written)
	}
	for bytes, want := range map[string]registrationStatus{
		"":                               {},
		"\x08\x01":                       {registered: true},
		"\x08\x00\x12\x02no":             {reason: "no"},
		"\x12\x01a\x12\x01b\x08\x80\x01": {registered: true, reason: "b"},
	} {
		var read registrationStatus
		if err := read.unmarshal([]byte(bytes)); err != nil || read != want {
			t.Errorf("%q: %+v, %v; want %+v", bytes, read, err, want)
		}
	}
	for bytes, notReady := range map[string]bool{
		"":                   false,
		"\n\x02\x08\x01":     false,
		"\n\x00":             true,
		"\n\x02\x08\x00":     true,
		"\n\x00\n\x02\b\x01": false,
	} {
		var read probeResponse
		if err := read.unmarshal([]byte(bytes)); err != nil || read.notReady != notReady {
			t.Errorf("%q: %v, %v; want %v", bytes, read.notReady, err, notReady)
		}
	}
}

func TestGarbageIsRefused(t *testing.T) {
	for _, bytes := range []string{
		"\x0a", "\x0a\x05a", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x08", "\x00\x00", "\x0b", "\x0c", "\x0f\x00",
	} {
		for _, m := range []message{&empty{}, &pluginInfo{}, &registrationStatus{}, &driverInfo{}, &probeResponse{}} {
			if (codec{}).Unmarshal([]byte(bytes), m) == nil {
				t.Errorf("%q is a %T", bytes, m)
			}
		}
	}
	for bytes, m := range map[string]message{
		"\x08\x01":     &driverInfo{},
		"\x0a\x01\xff": &driverInfo{},
		"\x0a\x00":     &registrationStatus{},
		"\x08\x02":     &probeResponse{},
		"\x0a\x01\x0a": &probeResponse{},
		"\x1a\x01\xff": &pluginInfo{},
	} {
		if (codec{}).Unmarshal([]byte(bytes), m) == nil {
			t.Errorf("%q is a %T", bytes, m)
		}
	}
	if (codec{}).Unmarshal(nil, "") == nil {
		t.Error("a string is a message")
	}
	if _, err := (codec{}).Marshal(1); err == nil {
		t.Error("a number is a message")
	}
}
