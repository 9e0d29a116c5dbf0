// Serves filesystem v1 on a Unix socket with a current grpc-go.
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

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: grpc_go SOCKET")
	}
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	v1.RegisterFilesystemServer(server, newFilesystem())
	log.Fatal(server.Serve(listener))
}

const allowed = `c:\var\lib\kubelet`

// filesystem implements filesystem v1 as a Go programmer would: without log, metrics or limits. PathExists
// checks the path as the Go csi-proxy does and looks it up in a map that other calls could change.
type filesystem struct {
	v1.UnimplementedFilesystemServer
	mutex sync.RWMutex
	paths map[string]bool
}

func newFilesystem() *filesystem {
	return &filesystem{paths: map[string]bool{`c:\`: true, `c:\var`: true, `c:\var\lib`: true, allowed: true}}
}

func (s *filesystem) PathExists(_ context.Context, request *v1.PathExistsRequest) (*v1.PathExistsResponse, error) {
	path := strings.ToLower(strings.ReplaceAll(request.Path, "/", `\`))
	if strings.Contains(path, "..") || (path != allowed && !strings.HasPrefix(path, allowed+`\`)) {
		return nil, status.Errorf(codes.InvalidArgument, "path %q is not below %s", request.Path, allowed)
	}
	s.mutex.RLock()
	exists := s.paths[path]
	s.mutex.RUnlock()
	return &v1.PathExistsResponse{Exists: exists}, nil
}
