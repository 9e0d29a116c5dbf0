// Command calls makes every call of the table of cases through a csiproxy.Conn, with the unchanged clients of
// release v1.3.0, on a simulated node in this process.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"csi-proxy.example/legacy_go/suite"
	csiproxy "github.com/kubernetes-csi/csi-proxy/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

func main() {
	cases := flag.String("cases", "", "the table, as dump_cases writes it")
	flag.Parse()
	said, err := run(*cases)
	if err != nil {
		fmt.Fprintf(os.Stderr, "FAILED: %v\n", err)
		os.Exit(1)
	}
	fmt.Println(said)
}

func run(cases string) (string, error) {
	conn, err := csiproxy.Connect(csiproxy.Embedded, csiproxy.WithSimulatedNode(""), csiproxy.WithLog(func(csiproxy.Severity, string) {}))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	called := make(methods)
	s := suite.Suite{Clients: clients, Conn: conn, ClientConn: conn.ClientConn()}
	s.Answered = func(c suite.Client, method, _ string, _ proto.Message, _ error) {
		called[c.Group+"/"+c.Version+"/"+method] = true
	}
	calls, err := s.Run(cases)
	if err != nil {
		return "", err
	}
	rpcs, missing := called.all()
	if len(missing) > 0 {
		return "", fmt.Errorf("nobody has called %s", strings.Join(missing, ", "))
	}
	return fmt.Sprintf("%d rpcs of %d versions, %d calls, all as expected", rpcs, len(clients), calls), nil
}

// methods are the methods that were called, as group/version/name.
type methods map[string]bool

// all returns the number of rpcs in the released protos, and those that were not called.
func (m methods) all() (rpcs int, missing []string) {
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := 0; i < file.Services().Len(); i++ {
			service := file.Services().Get(i)
			for j := 0; j < service.Methods().Len(); j++ {
				method := fmt.Sprintf("%s/%s/%s", strings.ToLower(string(service.Name())), file.Package(), service.Methods().Get(j).Name())
				rpcs++
				if !m[method] {
					missing = append(missing, method)
				}
			}
		}
		return true
	})
	return rpcs, missing
}
