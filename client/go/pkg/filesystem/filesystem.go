// Package filesystem creates and removes directories and links on a Windows node.
package filesystem

import (
	"context"
	"strings"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/utils"
)

// Filesystem manages the files of a node.
type Filesystem struct {
	hostAPI filesystemapi.HostAPI
}

// Interface is implemented by Filesystem.
type Interface interface {
	// CreateSymlink makes TargetPath a link to SourcePath.
	CreateSymlink(context.Context, *CreateSymlinkRequest) (*CreateSymlinkResponse, error)
	// IsSymlink reports whether a path is a link or a mounted folder whose target exists.
	IsSymlink(context.Context, *IsSymlinkRequest) (*IsSymlinkResponse, error)
	// Mkdir creates a directory and missing directories above.
	Mkdir(context.Context, *MkdirRequest) (*MkdirResponse, error)
	// PathExists reports whether a path exists. A dangling link exists.
	PathExists(context.Context, *PathExistsRequest) (*PathExistsResponse, error)
	// PathValid reports whether a path can be reached.
	PathValid(context.Context, *PathValidRequest) (*PathValidResponse, error)
	// Rmdir removes a directory or a link, but never the target of a link.
	Rmdir(context.Context, *RmdirRequest) (*RmdirResponse, error)
	// RmdirContents removes the contents of a directory.
	RmdirContents(context.Context, *RmdirContentsRequest) (*RmdirContentsResponse, error)
}

var _ Interface = &Filesystem{}

// New returns a Filesystem on a host API. The error is always nil.
func New(hostAPI filesystemapi.HostAPI) (*Filesystem, error) {
	return &Filesystem{hostAPI: hostAPI}, nil
}

func (f *Filesystem) api(ctx context.Context) filesystemapi.HostAPI { return host.Bind(ctx, f.hostAPI) }

func (f *Filesystem) PathExists(ctx context.Context, request *PathExistsRequest) (*PathExistsResponse, error) {
	if request == nil {
		return nil, host.NoRequest("PathExists")
	}
	if err := ValidatePathWindows(request.Path); err != nil {
		return nil, err
	}
	exists, err := f.api(ctx).PathExists(request.Path)
	return host.OrNil(&PathExistsResponse{Exists: exists}, err)
}

func (f *Filesystem) PathValid(ctx context.Context, request *PathValidRequest) (*PathValidResponse, error) {
	if request == nil {
		return &PathValidResponse{}, host.NoRequest("PathValid")
	}
	valid, err := f.api(ctx).PathValid(request.Path)
	return &PathValidResponse{Valid: valid}, err
}

func (f *Filesystem) Mkdir(ctx context.Context, request *MkdirRequest) (*MkdirResponse, error) {
	if request == nil {
		return nil, host.NoRequest("Mkdir")
	}
	if err := ValidatePathWindows(request.Path); err != nil {
		return nil, err
	}
	return host.OrNil(&MkdirResponse{}, f.api(ctx).Mkdir(request.Path))
}

func (f *Filesystem) Rmdir(ctx context.Context, request *RmdirRequest) (*RmdirResponse, error) {
	if request == nil {
		return nil, host.NoRequest("Rmdir")
	}
	if err := ValidatePathWindows(request.Path); err != nil {
		return nil, err
	}
	return host.OrNil(&RmdirResponse{}, f.api(ctx).Rmdir(request.Path, request.Force))
}

func (f *Filesystem) RmdirContents(ctx context.Context, request *RmdirContentsRequest) (*RmdirContentsResponse, error) {
	if request == nil {
		return nil, host.NoRequest("RmdirContents")
	}
	if err := ValidatePathWindows(request.Path); err != nil {
		return nil, err
	}
	return host.OrNil(&RmdirContentsResponse{}, f.api(ctx).RmdirContents(request.Path))
}

func (f *Filesystem) CreateSymlink(ctx context.Context, request *CreateSymlinkRequest) (*CreateSymlinkResponse, error) {
	if request == nil {
		return nil, host.NoRequest("CreateSymlink")
	}
	for _, path := range []string{request.TargetPath, request.SourcePath} {
		if err := ValidatePathWindows(path); err != nil {
			return nil, err
		}
	}
	return host.OrNil(&CreateSymlinkResponse{}, f.api(ctx).CreateSymlink(request.SourcePath, request.TargetPath))
}

func (f *Filesystem) IsSymlink(ctx context.Context, request *IsSymlinkRequest) (*IsSymlinkResponse, error) {
	if request == nil {
		return nil, host.NoRequest("IsSymlink")
	}
	link, err := f.api(ctx).IsSymlink(request.Path)
	return host.OrNil(&IsSymlinkResponse{IsSymlink: link}, err)
}

// ValidatePathWindows returns an error unless calls accept path. They accept an absolute path on a
// drive, with backslashes, of at most 260 bytes, that contains neither ".." nor, after the drive, any
// of " / : ? * |.
func ValidatePathWindows(path string) error {
	if len(path) > utils.MaxPathLengthWindows {
		return host.Invalid("the path is %d bytes long, more than %d", len(path), utils.MaxPathLengthWindows)
	}
	if len(path) < 3 || !isLetter(path[0]) || path[1:3] != `:\` {
		return host.Invalid("the path %q is not absolute, as C:\\... is", path)
	}
	if rest := path[3:]; strings.ContainsAny(rest, `"/:?*|`) || strings.Contains(rest, "..") {
		return host.Invalid("the path %q has invalid characters", path)
	}
	return nil
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
