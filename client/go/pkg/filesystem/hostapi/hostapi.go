// Package api is the node's files and directories, as package filesystem asks for them.
package api

import (
	"context"
	"strings"

	filesystemv2 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// HostAPI is what package filesystem needs of a node.
type HostAPI interface {
	// PathExists tells whether there is anything at a path, a link that leads nowhere included.
	PathExists(path string) (bool, error)
	// PathValid tells whether a path can be reached.
	PathValid(path string) (bool, error)
	// Mkdir makes a directory and those above it.
	Mkdir(path string) error
	// Rmdir removes a directory or a link, and with force what is in the directory.
	Rmdir(path string, force bool) error
	// RmdirContents removes what is in a directory.
	RmdirContents(path string) error
	// CreateSymlink makes newname a link to oldname.
	CreateSymlink(oldname string, newname string) error
	// IsSymlink tells whether a path is a link or a mounted folder whose target exists.
	IsSymlink(path string) (bool, error)
}

type filesystemAPI struct{ host host.Bound }

var _ HostAPI = &filesystemAPI{}

// New returns the files of the node of this process.
func New() HostAPI { return filesystemAPI{} }

// NewWithConn returns the files of the node at the other end of a connection.
func NewWithConn(conn grpc.ClientConnInterface) HostAPI { return filesystemAPI{host.To(conn)} }

func (imp filesystemAPI) WithContext(ctx context.Context) HostAPI {
	return filesystemAPI{imp.host.With(ctx)}
}

func (imp filesystemAPI) client() filesystemv2.FilesystemClient {
	return filesystemv2.NewFilesystemClient(imp.host.Conn())
}

func (imp filesystemAPI) PathExists(path string) (bool, error) {
	found, err := imp.client().PathExists(imp.host.Context(), &filesystemv2.PathExistsRequest{Path: path})
	if err != nil {
		return false, host.Error(err)
	}
	return found.Exists, nil
}

// PathValid asks the node about paths on drives. This process, which is on the node, looks up paths
// on shares itself.
func (imp filesystemAPI) PathValid(path string) (bool, error) {
	if strings.HasPrefix(path, `\\`) && !strings.HasPrefix(path, `\\?\`) {
		return sharePathValid(imp.host, path)
	}
	return imp.PathExists(path)
}

func (imp filesystemAPI) Mkdir(path string) error {
	_, err := imp.client().Mkdir(imp.host.Context(), &filesystemv2.MkdirRequest{Path: path})
	return host.Error(err)
}

func (imp filesystemAPI) Rmdir(path string, force bool) error {
	_, err := imp.client().Rmdir(imp.host.Context(), &filesystemv2.RmdirRequest{Path: path, Force: force})
	return host.Error(err)
}

func (imp filesystemAPI) RmdirContents(path string) error {
	_, err := imp.client().RmdirContents(imp.host.Context(), &filesystemv2.RmdirContentsRequest{Path: path})
	return host.Error(err)
}

func (imp filesystemAPI) CreateSymlink(oldname, newname string) error {
	request := &filesystemv2.CreateSymlinkRequest{SourcePath: oldname, TargetPath: newname}
	_, err := imp.client().CreateSymlink(imp.host.Context(), request)
	return host.Error(err)
}

func (imp filesystemAPI) IsSymlink(path string) (bool, error) {
	link, err := imp.client().IsSymlink(imp.host.Context(), &filesystemv2.IsSymlinkRequest{Path: path})
	if err != nil {
		return false, host.Error(err)
	}
	return link.IsSymlink, nil
}
