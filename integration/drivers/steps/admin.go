package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Admin calls the simulated node's admin service (server/simulator/admin.proto). The service stands
// for the cloud, the file server and other programs that act on a node.
type Admin struct {
	service protoreflect.ServiceDescriptor
	conn    *grpc.ClientConn
	// The script that replaces the service on a real machine (machine.ps1); otherwise empty.
	machine string
}

// loadAdmin reads the output of `protoc --include_imports --descriptor_set_out` for admin.proto.
func loadAdmin(file string) (protoreflect.ServiceDescriptor, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(data, &set); err != nil {
		return nil, err
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, err
	}
	found, err := files.FindDescriptorByName("csi_proxy.simulated.Admin")
	if err != nil {
		return nil, err
	}
	return found.(protoreflect.ServiceDescriptor), nil
}

func (a *Admin) dial() (err error) {
	a.conn, err = grpc.Dial(PipePath("csi-proxy-admin"), grpc.WithContextDialer(DialPipe),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	return err
}

// invoke calls a method with a request in JSON.
func (a *Admin) invoke(method, request string) (*dynamicpb.Message, error) {
	descriptor := a.service.Methods().ByName(protoreflect.Name(method))
	if descriptor == nil {
		return nil, fmt.Errorf("the admin service has no method %s", method)
	}
	in, out := dynamicpb.NewMessage(descriptor.Input()), dynamicpb.NewMessage(descriptor.Output())
	if err := protojson.Unmarshal([]byte(request), in); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, request, err)
	}
	if a.machine != "" {
		return out, runMachine(a.machine, method, request, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	path := fmt.Sprintf("/%s/%s", a.service.FullName(), method)
	if err := a.conn.Invoke(ctx, path, in, out); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, request, err)
	}
	return out, nil
}

// Call calls a method; request must marshal to the request's JSON.
func (a *Admin) Call(method string, request any) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	_, err = a.invoke(method, string(text))
	return err
}

// Dump returns the whole node, as a value and as a scenario to start from.
func (a *Admin) Dump() (node *Node, scenario string, err error) {
	out, err := a.invoke("DumpState", "{}")
	if err != nil {
		return nil, "", err
	}
	message := out.Get(out.Descriptor().Fields().ByName("node")).Message().Interface()
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		return nil, "", err
	}
	node = new(Node)
	if err := errors.Join(json.Unmarshal(text, node), json.Unmarshal(text, &node.State), json.Unmarshal(text, &node.whole)); err != nil {
		return nil, "", err
	}
	textproto, err := prototext.Marshal(message)
	return node, strings.ReplaceAll(string(textproto), "<secret>", Password), err
}

// Password is the password of every user in the scenarios. A dump omits it; Dump adds it again.
var Password = "correct horse battery"
