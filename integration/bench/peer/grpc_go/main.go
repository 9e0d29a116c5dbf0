// Filesystem v1 on a Unix socket as a Go programmer would write it with today's grpc-go: no log, no
// metrics, no limits, and for PathExists the least such a service must do. The path is checked as
// the Go csi-proxy checks it (absolute, no "..", below an allowed directory) and looked up, whatever
// its case, in a map that other calls could change.
//
//	grpc_go SOCKET
package main

import (
	"context"
	"log"
	"net"
	"os"
	"strings"
	"sync"

	v1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const allowed = `c:\var\lib\kubelet`

type filesystem struct {
	v1.UnimplementedFilesystemServer
	mutex sync.RWMutex
	paths map[string]bool
}

func (f *filesystem) PathExists(_ context.Context, request *v1.PathExistsRequest) (*v1.PathExistsResponse, error) {
	path := strings.ToLower(strings.ReplaceAll(request.Path, "/", `\`))
	if strings.Contains(path, "..") || (path != allowed && !strings.HasPrefix(path, allowed+`\`)) {
		return nil, status.Errorf(codes.InvalidArgument, "path %q is not below %s", request.Path, allowed)
	}
	f.mutex.RLock()
	exists := f.paths[path]
	f.mutex.RUnlock()
	return &v1.PathExistsResponse{Exists: exists}, nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: grpc_go SOCKET")
	}
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	paths := map[string]bool{`c:\`: true, `c:\var`: true, `c:\var\lib`: true, allowed: true}
	server := grpc.NewServer()
	v1.RegisterFilesystemServer(server, &filesystem{paths: paths})
	log.Fatal(server.Serve(listener))
}
