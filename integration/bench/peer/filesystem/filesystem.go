// Package filesystem is filesystem v1 as a Go programmer would write it: no log, no metrics, no limits,
// and for PathExists the least such a service must do. The path is checked as the Go csi-proxy checks
// it (absolute, no "..", below an allowed directory) and looked up, whatever its case, in a map that
// other calls could change.
package filesystem

import (
	"context"
	"strings"
	"sync"

	v1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const allowed = `c:\var\lib\kubelet`

type Server struct {
	v1.UnimplementedFilesystemServer
	mutex sync.RWMutex
	paths map[string]bool
}

func New() *Server {
	return &Server{paths: map[string]bool{`c:\`: true, `c:\var`: true, `c:\var\lib`: true, allowed: true}}
}

func (s *Server) PathExists(_ context.Context, request *v1.PathExistsRequest) (*v1.PathExistsResponse, error) {
	path := strings.ToLower(strings.ReplaceAll(request.Path, "/", `\`))
	if strings.Contains(path, "..") || (path != allowed && !strings.HasPrefix(path, allowed+`\`)) {
		return nil, status.Errorf(codes.InvalidArgument, "path %q is not below %s", request.Path, allowed)
	}
	s.mutex.RLock()
	exists := s.paths[path]
	s.mutex.RUnlock()
	return &v1.PathExistsResponse{Exists: exists}, nil
}
