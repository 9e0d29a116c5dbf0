// Package api is the interface between package filesystem and a node.
package api

import (
	"context"
	"strings"

	filesystemv2 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// HostAPI is the part of a node that package filesystem uses.
type HostAPI interface {
	// PathExists reports whether a path exists. A dangling link exists.
	PathExists(path string) (bool, error)
	// PathValid reports whether a path can be reached.
	PathValid(path string) (bool, error)
	// Mkdir creates a directory and missing directories above.
	Mkdir(path string) error
	// Rmdir removes a directory or a link. With force it removes the contents of the directory, too.
	Rmdir(path string, force bool) error
	// RmdirContents removes the contents of a directory.
	RmdirContents(path string) error
	// CreateSymlink makes newname a link to oldname.
	CreateSymlink(oldname string, newname string) error
	// IsSymlink reports whether a path is a link or a mounted folder whose target exists.
	IsSymlink(path string) (bool, error)
}

type filesystemAPI struct{ host host.Bound }

var _ HostAPI = &filesystemAPI{}

// New returns the host API of the node of this process.
func New() HostAPI { return filesystemAPI{} }

// NewWithConn returns the host API of the node that conn leads to.
func NewWithConn(conn grpc.ClientConnInterface) HostAPI { return filesystemAPI{host.To(conn)} }

func (imp filesystemAPI) WithContext(ctx context.Context) HostAPI {
	return filesystemAPI{imp.host.With(ctx)}
}

func (imp filesystemAPI) client() filesystemv2.FilesystemClient {
	return filesystemv2.NewFilesystemClient(imp.host.Conn())
}

func (imp filesystemAPI) PathExists(path string) (bool, error) {
	found, err := imp.client().PathExists(imp.host.Context(), &filesystemv2.PathExistsRequest{Path: path})
	return found.GetExists(), host.Error(err)
}

// PathValid asks the node about paths on drives. Paths on shares are looked up by this process,
// which must be on the node.
func (imp filesystemAPI) PathValid(path string) (bool, error) {
	if strings.HasPrefix(path, `\\`) && !strings.HasPrefix(path, `\\?\`) {
		return sharePathValid(imp.host, path)
	}
	return imp.PathExists(path)
}

func (imp filesystemAPI) Mkdir(path string) error {
	return host.ErrorOf(imp.client().Mkdir(imp.host.Context(), &filesystemv2.MkdirRequest{Path: path}))
}

func (imp filesystemAPI) Rmdir(path string, force bool) error {
	return host.ErrorOf(imp.client().Rmdir(imp.host.Context(), &filesystemv2.RmdirRequest{Path: path, Force: force}))
}

func (imp filesystemAPI) RmdirContents(path string) error {
	return host.ErrorOf(imp.client().RmdirContents(imp.host.Context(), &filesystemv2.RmdirContentsRequest{Path: path}))
}

func (imp filesystemAPI) CreateSymlink(oldname, newname string) error {
	request := &filesystemv2.CreateSymlinkRequest{SourcePath: oldname, TargetPath: newname}
	return host.ErrorOf(imp.client().CreateSymlink(imp.host.Context(), request))
}

func (imp filesystemAPI) IsSymlink(path string) (bool, error) {
	link, err := imp.client().IsSymlink(imp.host.Context(), &filesystemv2.IsSymlinkRequest{Path: path})
	return link.GetIsSymlink(), host.Error(err)
}
