//go:build ignore

// Calls csi-proxy, and a server with the metrics of the Go release, and fails if the release serves a series that
// csi-proxy does not.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/pkg/server/metrics"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// The metrics that are not compared: those of any Go program, and those that client_golang reports
// only on Linux, because the release is for Windows.
var others = regexp.MustCompile(`^(go_|(registered|hidden|disabled)_metrics_total|process_network_|process_virtual_memory_max_bytes)`)

var (
	series = regexp.MustCompile(`(?m)^(\w+)(?:\{(.*)\})? \S+$`)
	label  = regexp.MustCompile(`\w+="(?:[^"\\]|\\.)*"`)
)

type release struct {
	filesystem.UnimplementedFilesystemServer
}

func (*release) PathExists(_ context.Context, request *filesystem.PathExistsRequest) (*filesystem.PathExistsResponse, error) {
	if !strings.HasPrefix(request.Path, `C:\`) {
		return nil, status.Error(codes.InvalidArgument, "relative")
	}
	return &filesystem.PathExistsResponse{}, nil
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// call makes calls that succeed and fail, and returns the server's series: names with sorted labels.
func call(pipe, address string) map[string]bool {
	conn := must(grpc.NewClient("unix://"+pipe, grpc.WithTransportCredentials(insecure.NewCredentials())))
	defer conn.Close()
	for _, path := range []string{`C:\var\lib\kubelet`, "relative"} {
		_, err := filesystem.NewFilesystemClient(conn).PathExists(context.Background(), &filesystem.PathExistsRequest{Path: path})
		if code := status.Code(err); code != codes.OK && code != codes.InvalidArgument {
			log.Fatal(err)
		}
	}
	answer := must(http.Get("http://" + address + "/metrics"))
	defer answer.Body.Close()
	all := map[string]bool{}
	for _, found := range series.FindAllStringSubmatch(string(must(io.ReadAll(answer.Body))), -1) {
		labels := label.FindAllString(found[2], -1)
		slices.Sort(labels)
		all[found[1]+"{"+strings.Join(labels, ",")+"}"] = true
	}
	return all
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: metrics PIPE ADDRESS: the filesystem v1 pipe and the metrics' address of csi-proxy")
	}
	pipe := filepath.Join(must(os.MkdirTemp("", "release")), "pipe")
	defer os.RemoveAll(filepath.Dir(pipe))
	free := must(net.Listen("tcp", "127.0.0.1:0"))
	address := free.Addr().String()
	free.Close()
	metrics.Register()
	must(0, metrics.SetupMetricsServer(address))
	server := grpc.NewServer(metrics.GRPCServerMetricsOptions()...)
	filesystem.RegisterFilesystemServer(server, &release{})
	go server.Serve(must(net.Listen("unix", pipe)))

	ours, missing, compared := call(os.Args[1], os.Args[2]), 0, 0
	for name := range call(pipe, address) {
		if others.MatchString(name) {
			continue
		}
		compared++
		if !ours[name] {
			missing++
			fmt.Println("missing:", name)
		}
	}
	fmt.Printf("%d series of the release, %d missing\n", compared, missing)
	if missing > 0 || compared == 0 {
		os.Exit(1)
	}
}
