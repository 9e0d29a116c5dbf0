package csiproxytest

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// protoTypes are the proto types of fields by their Go kinds.
var protoTypes = map[reflect.Kind]string{
	reflect.Bool: "bool", reflect.Uint32: "uint32", reflect.Uint64: "uint64", reflect.String: "string",
}

// fields returns the type of each message's fields, keyed by "name = number", with "repeated ".
func fields(t *testing.T) map[string]map[string]string {
	messages := map[string]map[string]string{}
	begin := regexp.MustCompile(`^message (\w+) \{`)
	field := regexp.MustCompile(`^  ((?:repeated |optional )?\w+) (\w+) = (\d+);`)
	for _, name := range []string{"node.proto", "admin.proto"} {
		text, err := os.ReadFile(simulated(t, name))
		if err != nil {
			t.Fatal(err)
		}
		message := ""
		for _, line := range strings.Split(string(text), "\n") {
			if m := begin.FindStringSubmatch(line); m != nil {
				message = m[1]
				messages[message] = map[string]string{}
			} else if m := field.FindStringSubmatch(line); m != nil {
				messages[message][m[3]+","+m[2]] = m[1]
			}
		}
	}
	return messages
}

// simulated returns the path of a file of the simulated machine, in a folder above the test's.
func simulated(t *testing.T, name string) string {
	for at := "."; len(at) < 30; at = filepath.Join("..", at) {
		file := filepath.Join(at, "server", "simulator", name)
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	t.Skipf("%s is not above here: this is not a checkout", name)
	return ""
}

func TestTheStructsAreTheMessages(t *testing.T) {
	messages := fields(t)
	seen := map[reflect.Type]bool{}
	var check func(struct_ reflect.Type, message string)
	check = func(struct_ reflect.Type, message string) {
		if seen[struct_] {
			return
		}
		seen[struct_] = true
		if messages[message] == nil {
			t.Fatalf("there is no message %s", message)
		}
		for i := 0; i < struct_.NumField(); i++ {
			field := struct_.Field(i)
			is, known := messages[message][field.Tag.Get("field")]
			if !known {
				t.Errorf("%s.%s: %s has no field %s", struct_.Name(), field.Name, message, field.Tag.Get("field"))
				continue
			}
			type_, repeated := field.Type, ""
			if type_.Kind() == reflect.Slice {
				type_, repeated = type_.Elem(), "repeated "
			} else if type_.Kind() == reflect.Pointer {
				type_ = type_.Elem()
			}
			switch want := protoTypes[type_.Kind()]; {
			case type_.Kind() == reflect.Struct:
				if !strings.HasPrefix(is, repeated) || repeated == "" && strings.HasPrefix(is, "repeated ") {
					t.Errorf("%s.%s is %s", struct_.Name(), field.Name, is)
				}
				check(type_, strings.TrimPrefix(is, "repeated "))
			case type_.Kind() == reflect.Int32:
				// An enum, by its name or a similar one.
				if is != type_.Name() {
					t.Errorf("%s.%s is %s", struct_.Name(), field.Name, is)
				}
			case is != repeated+want:
				t.Errorf("%s.%s is %s, not %s", struct_.Name(), field.Name, is, want)
			}
		}
	}
	for message, request := range map[string]interface{}{
		"AttachDiskRequest":         attachDiskRequest{},
		"AttachDiskResponse":        attachDiskResponse{},
		"DetachDiskRequest":         detachDiskRequest{},
		"GrowDiskRequest":           growDiskRequest{},
		"AddShareRequest":           addShareRequest{},
		"SetSmbPasswordRequest":     setSMBPasswordRequest{},
		"SetServerReachableRequest": setServerReachableRequest{},
		"BreakMappingRequest":       breakMappingRequest{},
		"WriteFileRequest":          writeFileRequest{},
		"MakeDirectoryRequest":      pathRequest{},
		"MakeLinkRequest":           makeLinkRequest{},
		"InjectFaultRequest":        injectFaultRequest{},
		"DumpStateResponse":         dumpStateResponse{},
	} {
		check(reflect.TypeOf(request), message)
	}
	if messages["RemoveFolderRequest"]["1,path"] != "string" {
		t.Error("pathRequest is not a RemoveFolderRequest")
	}
}

func TestMessagesComeBack(t *testing.T) {
	want := attachDiskRequest{ChooseNumber: true, Disk: Disk{
		Number: 300, SizeBytes: 1 << 40, Style: GPT, Offline: true,
		Partitions: []Partition{{Number: 1}, {Volume: &Volume{ID: "v", Files: []File{{Path: "ä", Kind: Link}, {}}}}},
	}}
	data, err := wire{}.Marshal(&want)
	if err != nil {
		t.Fatal(err)
	}
	var got attachDiskRequest
	if err := (wire{}).Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := 1; n < len(data); n++ {
		// A truncated message must be refused or end between two fields.
		var part attachDiskRequest
		if err := (wire{}).Unmarshal(data[:n], &part); err == nil && reflect.DeepEqual(part, want) {
			t.Errorf("%d of %d bytes are as good as all", n, len(data))
		}
	}
	for _, bad := range []string{"\x08", "\x0a\x05a", "\x0a\x02\x08", "\x10\x01\x08\x01", "\x12\x01x"} {
		if err := (wire{}).Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%q is taken for a message", bad)
		}
	}
}
