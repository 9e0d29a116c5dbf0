package csiproxytest

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// protoTypes maps the kinds of Go fields to proto types.
var protoTypes = map[reflect.Kind]string{
	reflect.Bool: "bool", reflect.Uint32: "uint32", reflect.Uint64: "uint64", reflect.String: "string",
}

// messages returns the type of each field by message and name, including "repeated " or "optional ".
func messages(t *testing.T) map[string]map[string]string {
	messages := map[string]map[string]string{}
	begin := regexp.MustCompile(`^message (\w+) \{`)
	field := regexp.MustCompile(`^  ((?:repeated |optional )?\w+) (\w+) = \d+;`)
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "server", "simulator", "node.proto"))
	if err != nil {
		t.Skipf("this is not a checkout: %v", err)
	}
	message := ""
	for _, line := range strings.Split(string(text), "\n") {
		if m := begin.FindStringSubmatch(line); m != nil {
			message = m[1]
			messages[message] = map[string]string{}
		} else if m := field.FindStringSubmatch(line); m != nil {
			messages[message][m[2]] = m[1]
		}
	}
	return messages
}

func TestStructsMatchTheMessages(t *testing.T) {
	messages := messages(t)
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
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			is, known := messages[message][name]
			if !known {
				t.Errorf("%s.%s: %s has no field %q", struct_.Name(), field.Name, message, name)
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
			case type_.Kind() == reflect.String && type_.Name() != "string":
				// An enum must be omitted if empty, because "" is not the name of a value.
				if is != type_.Name() || options != "omitempty" {
					t.Errorf("%s.%s is %s, %q", struct_.Name(), field.Name, is, options)
				}
			case (type_.Kind() == reflect.Uint64) != (options == "string"):
				// JSON has 64-bit integers as strings.
				t.Errorf("%s.%s is %s, %q", struct_.Name(), field.Name, is, options)
			case is != repeated+want:
				t.Errorf("%s.%s is %s, not %s", struct_.Name(), field.Name, is, want)
			}
		}
	}
	check(reflect.TypeOf(State{}), "Node")
}
