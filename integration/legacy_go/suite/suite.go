// Package suite drives the released Go client through every call of a table of cases, the same
// table the C++ client is tested with, and checks every answer.
package suite

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/ioutil"
	"net"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/Microsoft/go-winio"
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
	// New is the package's NewClient.
	New interface{}
}

type testCase struct {
	Method, Request, Expected, Fault string
	Code                             int
}

type script struct {
	Group    string
	Versions []string
	Cases    []testCase
}

const admin = "/csi_proxy.simulated.Admin/"

// Field numbers of Fault and WindowsError in server/host/simulated/node.proto.
const (
	fieldOperation = 1
	fieldTimes     = 3
	fieldCode      = 5
	fieldError     = 6
	fieldErrorCode = 1
)

// node plays the administrator of the simulated node.
type node struct{ conn *grpc.ClientConn }

func openNode() (*node, error) {
	conn, err := grpc.Dial("admin", grpc.WithInsecure(), grpc.WithBlock(), grpc.WithTimeout(30*time.Second),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return winio.DialPipeContext(ctx, `\\.\pipe\csi-proxy-admin`)
		}))
	if err != nil {
		return nil, fmt.Errorf("admin pipe: %v", err)
	}
	return &node{conn}, nil
}

// call sends a request that consists of fields unknown to Empty, which it carries all the same.
func (n *node) call(method string, fields []byte) error {
	request := &emptypb.Empty{}
	if err := proto.Unmarshal(fields, request); err != nil {
		return err
	}
	return n.conn.Invoke(context.Background(), admin+method, request, &emptypb.Empty{})
}

func (n *node) reset() error { return n.call("Reset", nil) }

// fail makes the next run of a host operation fail with Windows' error 5.
func (n *node) fail(operation string) error {
	fault := appendText(nil, fieldOperation, operation)
	fault = protowire.AppendTag(fault, fieldTimes, protowire.VarintType)
	fault = protowire.AppendVarint(fault, 1)
	fault = appendText(fault, fieldCode, "INTERNAL")
	code := protowire.AppendVarint(protowire.AppendTag(nil, fieldErrorCode, protowire.VarintType), 5)
	fault = protowire.AppendBytes(protowire.AppendTag(fault, fieldError, protowire.BytesType), code)
	return n.call("InjectFault", protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), fault))
}

func appendText(b []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), text)
}

// messageOf gives messages of old releases, which know no reflection, the present interface.
func messageOf(message interface{}) proto.Message { return protoimpl.X.ProtoMessageV2Of(message) }

// version is an open client.
type version struct{ client reflect.Value }

func open(c Client) (*version, error) {
	results := reflect.ValueOf(c.New).Call(nil)
	if err, failed := results[1].Interface().(error); failed {
		return nil, err
	}
	return &version{results[0]}, nil
}

func (v *version) close() { v.client.MethodByName("Close").Call(nil) }

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

// firstVolumeID finds the first volume id in a response, ready for textproto.
func firstVolumeID(response proto.Message) string {
	message := response.ProtoReflect()
	field := message.Descriptor().Fields().ByName("volume_ids")
	if field == nil || message.Get(field).List().Len() == 0 {
		return ""
	}
	return strings.ReplaceAll(message.Get(field).List().Get(0).String(), `\`, `\\`)
}

func prepare(clients []Client, n *node) error {
	for _, step := range []struct{ group, method, request string }{
		{"disk", "PartitionDisk", "disk_number: 1"},
		{"filesystem", "Mkdir", `path: "C:\\var\\lib\\kubelet\\plugins\\mnt"`},
	} {
		for _, c := range clients {
			if c.Group != step.group || c.Version != "v1" {
				continue
			}
			v, err := open(c)
			if err != nil {
				return err
			}
			_, err = v.call(step.method, step.request)
			v.close()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// run makes all calls of one version and returns how many.
func run(c Client, clients []Client, scripts []script, n *node) (int, error) {
	v, err := open(c)
	if err != nil {
		return 0, err
	}
	defer v.close()
	calls := 0
	for _, s := range scripts {
		if s.Group != c.Group || !contains(s.Versions, c.Version) {
			continue
		}
		if err := n.reset(); err != nil {
			return calls, err
		}
		if s.Group == "volume" {
			if err := prepare(clients, n); err != nil {
				return calls, err
			}
		}
		volume := ""
		for _, tc := range s.Cases {
			where := fmt.Sprintf("%s(%s)", tc.Method, tc.Request)
			if tc.Fault != "" {
				if err := n.fail(tc.Fault); err != nil {
					return calls, fmt.Errorf("%s: fault: %v", where, err)
				}
			}
			fill := func(text string) string {
				text = strings.ReplaceAll(text, "$V", volume)
				return strings.ReplaceAll(text, "$W", strings.TrimSuffix(volume, `\\`))
			}
			response, err := v.call(tc.Method, fill(tc.Request))
			calls++
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

func contains(list []string, text string) bool {
	for _, item := range list {
		if item == text {
			return true
		}
	}
	return false
}

// Main runs the whole table with all clients, as often as -rounds says, and exits.
func Main(clients []Client) {
	cases := flag.String("cases", "", "the table, as dump_cases writes it")
	rounds := flag.Int("rounds", 1, "how often")
	flag.Parse()
	if err := all(clients, *cases, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

func all(clients []Client, path string, rounds int) error {
	text, err := ioutil.ReadFile(path)
	if err != nil {
		return err
	}
	var scripts []script
	if err := json.Unmarshal(text, &scripts); err != nil {
		return err
	}
	// The first call of all is the release's own: nothing has warmed the service up.
	v, err := open(clients[0])
	if err != nil {
		return err
	}
	v.close()
	n, err := openNode()
	if err != nil {
		return err
	}
	for round := 1; round <= rounds; round++ {
		calls := 0
		for _, c := range clients {
			made, err := run(c, clients, scripts, n)
			if err != nil {
				return fmt.Errorf("round %d: %s %s: %v", round, c.Group, c.Version, err)
			}
			calls += made
		}
		fmt.Printf("round %d: %d versions, %d calls, all as expected\n", round, len(clients), calls)
	}
	return nil
}
