// Package suite makes every call of the table of cases, which the C++ client is tested with too, by the
// released Go client, and checks every answer.
package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"io/ioutil"
	"reflect"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/runtime/protoimpl"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Client is one version's client of the release under test.
type Client struct {
	Group, Version string
	// New is the package's NewClient, which opens its pipe, or a generated constructor such as NewVolumeClient,
	// which receives the suite's connection.
	New interface{}
}

// Suite is a node with its clients.
type Suite struct {
	Clients []Client
	// Conn reaches the simulated node's administrator, and serves clients without their own pipe.
	Conn grpc.ClientConnInterface
	// ClientConn is Conn for constructors that accept only this type.
	ClientConn *grpc.ClientConn
	// Answered, if not nil, is called with the result of every call, in the table's order.
	Answered func(c Client, method, request string, response proto.Message, err error)
}

type testCase struct {
	Method, Request, Expected, Fault string
	Code                             int
	FaultError                       uint32
}

type script struct {
	Group    string
	Versions []string
	Cases    []testCase
}

const admin = "/csi_proxy.simulated.Admin/"

// node calls the admin service of the simulated node.
type node struct{ conn grpc.ClientConnInterface }

func (n *node) call(method, fields string) error {
	_, err := Invoke(context.Background(), n.conn, admin+method, fields)
	return err
}

func (n *node) reset() error { return n.call("Reset", "") }

// fail makes the next call of this machine operation fail with a Windows error.
func (n *node) fail(operation string, windowsError uint32) error {
	// The fields of Fault and WindowsError in server/simulator/node.proto.
	fault := Text(1, operation) + number(3, 1) + Text(5, "INTERNAL") + Text(6, number(1, uint64(windowsError)))
	return n.call("InjectFault", Text(1, fault))
}

// Text encodes a field with text or a message.
func Text(field protowire.Number, value string) string {
	return string(protowire.AppendString(protowire.AppendTag(nil, field, protowire.BytesType), value))
}

func number(field protowire.Number, value uint64) string {
	return string(protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), value))
}

// Invoke calls a method whose messages no released module has. Empty carries the encoded fields as unknown fields.
func Invoke(ctx context.Context, conn grpc.ClientConnInterface, method, fields string) ([]byte, error) {
	request, response := &emptypb.Empty{}, &emptypb.Empty{}
	if err := proto.Unmarshal([]byte(fields), request); err != nil {
		return nil, err
	}
	err := conn.Invoke(ctx, method, request, response)
	return response.ProtoReflect().GetUnknown(), err
}

// messageOf returns the current interface of a message of an old release.
func messageOf(message interface{}) proto.Message { return protoimpl.X.ProtoMessageV2Of(message) }

// version is an open client.
type version struct{ client reflect.Value }

func (s *Suite) open(c Client) (*version, error) {
	constructor := reflect.ValueOf(c.New)
	if constructor.Type().NumIn() == 1 {
		conn := reflect.ValueOf(s.Conn)
		if !conn.Type().AssignableTo(constructor.Type().In(0)) {
			conn = reflect.ValueOf(s.ClientConn)
		}
		return &version{constructor.Call([]reflect.Value{conn})[0]}, nil
	}
	results := constructor.Call(nil)
	if err, failed := results[1].Interface().(error); failed {
		return nil, err
	}
	return &version{results[0]}, nil
}

func (v *version) close() {
	if function := v.client.MethodByName("Close"); function.IsValid() {
		function.Call(nil)
	}
}

func (v *version) call(method, request string) (proto.Message, error) {
	function := v.client.MethodByName(method)
	if !function.IsValid() {
		return nil, fmt.Errorf("the client has no method %s", method)
	}
	message := reflect.New(function.Type().In(1).Elem())
	if err := prototext.Unmarshal([]byte(request), messageOf(message.Interface())); err != nil {
		return nil, fmt.Errorf("request of the case: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	results := function.Call([]reflect.Value{reflect.ValueOf(ctx), message})
	if err, failed := results[1].Interface().(error); failed {
		return nil, err
	}
	return messageOf(results[0].Interface()), nil
}

func (v *version) responseOf(method string) proto.Message {
	return messageOf(reflect.New(v.client.MethodByName(method).Type().Out(0).Elem()).Interface())
}

// firstVolumeID returns the first volume id in a response, escaped for textproto.
func firstVolumeID(response proto.Message) string {
	message := response.ProtoReflect()
	fields := message.Descriptor().Fields()
	id := ""
	if one := fields.ByName("volume_id"); one != nil {
		id = message.Get(one).String()
	} else if all := fields.ByName("volume_ids"); all != nil && message.Get(all).List().Len() > 0 {
		id = message.Get(all).List().Get(0).String()
	}
	return strings.ReplaceAll(id, `\`, `\\`)
}

// prepare makes the volume and the directory that the volume group's cases work on, by the newest version that the
// release has.
func (s *Suite) prepare() error {
	for _, steps := range [][]struct{ group, version, method, request string }{
		{{"disk", "v1", "PartitionDisk", "disk_number: 1"}, {"disk", "v1beta2", "PartitionDisk", `diskID: "1"`}},
		{{"filesystem", "v1", "Mkdir", `path: "C:\\var\\lib\\kubelet\\plugins\\mnt"`},
			{"filesystem", "v1beta1", "Mkdir", `path: "C:\\var\\lib\\kubelet\\plugins\\mnt"`}},
	} {
		for _, step := range steps {
			c := s.find(step.group, step.version)
			if c == nil {
				continue
			}
			v, err := s.open(*c)
			if err != nil {
				return err
			}
			_, err = v.call(step.method, step.request)
			v.close()
			if err != nil {
				return err
			}
			break
		}
	}
	return nil
}

func (s *Suite) find(group, version string) *Client {
	for i, c := range s.Clients {
		if c.Group == group && c.Version == version {
			return &s.Clients[i]
		}
	}
	return nil
}

// run makes all calls of one version and returns their number.
func (s *Suite) run(c Client, scripts []script) (int, error) {
	n := &node{s.Conn}
	v, err := s.open(c)
	if err != nil {
		return 0, err
	}
	defer v.close()
	calls := 0
	for _, script := range scripts {
		if script.Group != c.Group || !contains(script.Versions, c.Version) {
			continue
		}
		if err := n.reset(); err != nil {
			return calls, err
		}
		if script.Group == "volume" {
			if err := s.prepare(); err != nil {
				return calls, err
			}
		}
		volume := ""
		for _, tc := range script.Cases {
			where := fmt.Sprintf("%s(%s)", tc.Method, tc.Request)
			if tc.Fault != "" {
				if err := n.fail(tc.Fault, tc.FaultError); err != nil {
					return calls, fmt.Errorf("%s: fault: %v", where, err)
				}
			}
			fill := func(text string) string {
				text = strings.ReplaceAll(text, "$V", volume)
				return strings.ReplaceAll(text, "$W", strings.TrimSuffix(volume, `\\`))
			}
			response, err := v.call(tc.Method, fill(tc.Request))
			calls++
			if err == nil {
				removeTimes(response)
			}
			if s.Answered != nil {
				s.Answered(c, tc.Method, tc.Request, response, err)
			}
			got := status.Convert(err)
			if int(got.Code()) != tc.Code {
				return calls, fmt.Errorf("%s: got %v %q, want code %d", where, got.Code(), got.Message(), tc.Code)
			}
			if err != nil {
				if !strings.Contains(got.Message(), tc.Expected) {
					return calls, fmt.Errorf("%s: got %q, want %q in it", where, got.Message(), tc.Expected)
				}
				continue
			}
			if volume == "" {
				volume = firstVolumeID(response)
			}
			want := v.responseOf(tc.Method)
			if err := prototext.Unmarshal([]byte(fill(tc.Expected)), want); err != nil {
				return calls, fmt.Errorf("%s: expectation: %v", where, err)
			}
			if !proto.Equal(want, response) {
				return calls, fmt.Errorf("%s: got %v, want %v", where, response, want)
			}
		}
	}
	if calls == 0 {
		return 0, fmt.Errorf("there is no case")
	}
	return calls, nil
}

// removeTimes removes the times of the steps, which differ between two calls, and the failures that the service
// remembers from earlier scripts.
func removeTimes(response proto.Message) {
	message := response.ProtoReflect()
	if times := message.Descriptor().Fields().ByName("step_milliseconds"); times != nil {
		message.Clear(times)
	}
	if failures := message.Descriptor().Fields().ByName("failures"); failures != nil {
		message.Clear(failures)
	}
}

func contains(list []string, text string) bool {
	for _, item := range list {
		if item == text {
			return true
		}
	}
	return false
}

// Run makes every call of the table (a file from dump_cases) with all clients. Returns the number of calls.
func (s *Suite) Run(path string) (int, error) {
	text, err := ioutil.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var scripts []script
	if err := json.Unmarshal(text, &scripts); err != nil {
		return 0, err
	}
	calls := 0
	for _, c := range s.Clients {
		made, err := s.run(c, scripts)
		if err != nil {
			return calls, fmt.Errorf("%s %s: %v", c.Group, c.Version, err)
		}
		calls += made
	}
	return calls, nil
}
