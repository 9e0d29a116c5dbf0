// Command calls makes every call of the table of cases through a csiproxy.Conn, with the
// clients of release v1.3.0 unchanged: on a simulated node in this process, on the service's, or on
// both, where each answer has to be the same. On a Windows node it manages that instead.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"

	"csi-proxy.example/legacy_go/suite"
	csiproxy "github.com/kubernetes-csi/csi-proxy/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

func main() {
	mode := flag.String("mode", "embedded", "embedded, remote or both; or node: no table, but this machine")
	cases := flag.String("cases", "", "the table, as dump_cases writes it")
	rounds := flag.Int("rounds", 1, "how often")
	program := flag.String("service", "", "csi-proxy, which is started first and stopped last; one that runs when absent")
	flag.Parse()
	if *mode == "node" {
		said, err := manage()
		if err != nil {
			fmt.Fprintf(os.Stderr, "FAILED: node: %v\n", err)
			os.Exit(1)
		}
		fmt.Printf("node: %s\n", said)
		return
	}
	modes := map[string][]csiproxy.Mode{
		"embedded": {csiproxy.Embedded},
		"remote":   {csiproxy.Remote},
		"both":     {csiproxy.Embedded, csiproxy.Remote},
	}[*mode]
	if modes == nil {
		fmt.Fprintf(os.Stderr, "-mode=%s is not one of embedded, remote, both, node\n", *mode)
		os.Exit(2)
	}
	if err := all(modes, *program, *cases, *rounds); err != nil {
		fmt.Fprintf(os.Stderr, "FAILED: %s: %v\n", *mode, err)
		os.Exit(1)
	}
}

func all(modes []csiproxy.Mode, program, cases string, rounds int) error {
	if program != "" {
		stop, err := start(program)
		if err != nil {
			return fmt.Errorf("%s: %v", program, err)
		}
		defer stop()
	}
	for round := 1; round <= rounds; round++ {
		said, err := run(modes, cases)
		if err != nil {
			return fmt.Errorf("round %d: %v", round, err)
		}
		fmt.Printf("%v: round %d: %s\n", modes, round, said)
	}
	return nil
}

// run makes the calls in each mode and compares what they were answered.
func run(modes []csiproxy.Mode, cases string) (string, error) {
	var answers [2][]answer
	said := ""
	for i, mode := range modes {
		conn, err := csiproxy.Connect(mode, csiproxy.WithSimulatedNode(""), csiproxy.WithLog(func(csiproxy.Severity, string) {}))
		if err != nil {
			return "", err
		}
		defer conn.Close()
		called := make(methods)
		s := suite.Suite{Clients: clients, Conn: conn, ClientConn: conn.ClientConn()}
		s.Answered = func(c suite.Client, method, request string, response proto.Message, err error) {
			name := c.Group + "/" + c.Version + "/" + method
			called[name] = true
			answers[i] = append(answers[i], answerOf(name+"("+request+")", response, err))
		}
		calls, err := s.Run(cases)
		if err != nil {
			return "", fmt.Errorf("%v: %v", mode, err)
		}
		rpcs, missing := called.all()
		if len(missing) > 0 {
			return "", fmt.Errorf("%v: nobody has called %s", mode, strings.Join(missing, ", "))
		}
		said = fmt.Sprintf("%d rpcs of %d versions, %d calls, all as expected", rpcs, len(clients), calls)
	}
	if len(modes) == 1 {
		return said, nil
	}
	for i, embedded := range answers[0] {
		if remote := answers[1][i]; !embedded.equal(remote) {
			return "", fmt.Errorf("embedded: %v; remote: %v", embedded, remote)
		}
	}
	return said + " and equal in both modes", nil
}

// answer is what a call ended with.
type answer struct {
	call     string
	code     codes.Code
	message  string
	response []byte
}

func answerOf(call string, response proto.Message, err error) answer {
	a := answer{call: call, code: status.Code(err), message: status.Convert(err).Message()}
	if err == nil {
		// The entries of a map come in any order; this puts them into one.
		if a.response, err = (proto.MarshalOptions{Deterministic: true}).Marshal(response); err != nil {
			a.message = err.Error()
		}
	}
	return a
}

func (a answer) equal(b answer) bool {
	return a.call == b.call && a.code == b.code && a.message == b.message && bytes.Equal(a.response, b.response)
}

func (a answer) String() string {
	return fmt.Sprintf("%s: %v %q %x", a.call, a.code, a.message, a.response)
}

// methods are those that were called, each as group/version/name.
type methods map[string]bool

// all returns how many rpcs the released protos have, and those that were not called.
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
