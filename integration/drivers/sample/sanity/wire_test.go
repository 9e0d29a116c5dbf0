// Package sanity pins csi-sanity and the CSI release with which the sample driver is tested.
package sanity

import (
	"os"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// TestCsiProtoIsPartOfCSI checks that every part of csi.proto (CSI_DESCRIPTORS names its descriptor set) exists
// in the released one with the same name, number and type.
func TestCsiProtoIsPartOfCSI(t *testing.T) {
	bytes, err := os.ReadFile(os.Getenv("CSI_DESCRIPTORS"))
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(bytes, &set); err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := files.FindFileByPath("integration/drivers/sample/csi.proto")
	if err != nil {
		t.Fatal(err)
	}
	released := csi.File_csi_proto
	if ours.Package() != released.Package() {
		t.Errorf("package %s, not %s", ours.Package(), released.Package())
	}
	for i := range ours.Services().Len() {
		compareService(t, ours.Services().Get(i), released.Services().ByName(ours.Services().Get(i).Name()))
	}
	compareMessages(t, ours.Messages(), released.Messages())
}

func compareService(t *testing.T, ours, released protoreflect.ServiceDescriptor) {
	if released == nil {
		t.Errorf("there is no service %s", ours.FullName())
		return
	}
	for i := range ours.Methods().Len() {
		method := ours.Methods().Get(i)
		other := released.Methods().ByName(method.Name())
		if other == nil || method.Input().FullName() != other.Input().FullName() ||
			method.Output().FullName() != other.Output().FullName() ||
			method.IsStreamingClient() != other.IsStreamingClient() ||
			method.IsStreamingServer() != other.IsStreamingServer() {
			t.Errorf("%s differs", method.FullName())
		}
	}
}

func compareMessages(t *testing.T, ours, released protoreflect.MessageDescriptors) {
	for i := range ours.Len() {
		message := ours.Get(i)
		other := released.ByName(message.Name())
		if other == nil {
			t.Errorf("there is no message %s", message.FullName())
			continue
		}
		for j := range message.Fields().Len() {
			field := message.Fields().Get(j)
			if !sameField(field, other.Fields().ByName(field.Name())) {
				t.Errorf("%s differs", field.FullName())
			}
		}
		for j := range message.Enums().Len() {
			compareEnum(t, message.Enums().Get(j), other.Enums().ByName(message.Enums().Get(j).Name()))
		}
		compareMessages(t, message.Messages(), other.Messages())
	}
}

func sameField(ours, released protoreflect.FieldDescriptor) bool {
	return released != nil && ours.Number() == released.Number() && ours.Kind() == released.Kind() &&
		ours.Cardinality() == released.Cardinality() &&
		nameOf(ours.ContainingOneof()) == nameOf(released.ContainingOneof()) &&
		nameOf(ours.Message()) == nameOf(released.Message()) &&
		nameOf(ours.Enum()) == nameOf(released.Enum())
}

// nameOf returns the descriptor's name, or an empty name for nil.
func nameOf[D interface {
	comparable
	FullName() protoreflect.FullName
}](descriptor D) protoreflect.FullName {
	var none D
	if descriptor == none {
		return ""
	}
	return descriptor.FullName()
}

func compareEnum(t *testing.T, ours, released protoreflect.EnumDescriptor) {
	if released == nil {
		t.Errorf("there is no enum %s", ours.FullName())
		return
	}
	for i := range ours.Values().Len() {
		value := ours.Values().Get(i)
		if other := released.Values().ByName(value.Name()); other == nil || value.Number() != other.Number() {
			t.Errorf("%s differs", value.FullName())
		}
	}
}
