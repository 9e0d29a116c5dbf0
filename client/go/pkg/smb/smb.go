// Package smb maps SMB shares for every user of a Windows node.
package smb

import (
	"context"
	"strings"

	fs "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	smbapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// SMB manages the SMB mappings of a node.
type SMB struct {
	hostAPI smbapi.HostAPI
	fs      fs.Interface
}

// Interface is implemented by SMB.
type Interface interface {
	// NewSMBGlobalMapping maps a share, and makes a link to it if the request has a LocalPath.
	NewSMBGlobalMapping(context.Context, *NewSMBGlobalMappingRequest) (*NewSMBGlobalMappingResponse, error)
	// RemoveSMBGlobalMapping removes the mapping of a share.
	RemoveSMBGlobalMapping(context.Context, *RemoveSMBGlobalMappingRequest) (*RemoveSMBGlobalMappingResponse, error)
}

var _ Interface = &SMB{}

// New returns an SMB on a host API. fsClient checks whether a share can be reached if the host API
// does not do so itself. The error is always nil.
func New(hostAPI smbapi.HostAPI, fsClient fs.Interface) (*SMB, error) {
	return &SMB{hostAPI: hostAPI, fs: fsClient}, nil
}

func (s *SMB) api(ctx context.Context) smbapi.HostAPI { return host.Bind(ctx, s.hostAPI) }

// share returns a remote path with backslashes, and its share in lower case: \\server\share.
func share(path string) (remote, root string, err error) {
	remote = strings.ReplaceAll(path, "/", `\`)
	if remote == "" {
		return "", "", host.Invalid("the remote path is empty")
	}
	var parts []string
	for _, part := range strings.Split(remote, `\`) {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) < 2 {
		return "", "", host.Invalid(`the remote path %q is not of the form \\server\share`, path)
	}
	return remote, strings.ToLower(`\\` + parts[0] + `\` + parts[1]), nil
}

func (s *SMB) NewSMBGlobalMapping(ctx context.Context, request *NewSMBGlobalMappingRequest) (*NewSMBGlobalMappingResponse, error) {
	response := &NewSMBGlobalMappingResponse{}
	if request == nil {
		return response, host.NoRequest("NewSMBGlobalMapping")
	}
	remote, root, err := share(request.RemotePath)
	if err != nil {
		return response, err
	}
	if request.LocalPath != "" {
		if err := fs.ValidatePathWindows(request.LocalPath); err != nil {
			return response, err
		}
	}
	api := s.api(ctx)
	if whole, ok := api.(interface {
		MapShare(remotePath, localPath, username, password string) error
	}); ok {
		return response, whole.MapShare(remote, request.LocalPath, request.Username, request.Password)
	}
	if err := s.mapRoot(ctx, api, root, request); err != nil {
		return response, err
	}
	if request.LocalPath != "" {
		return response, api.NewSMBLink(remote, request.LocalPath)
	}
	return response, nil
}

// mapRoot maps a share in single steps, unless a working mapping exists.
func (s *SMB) mapRoot(ctx context.Context, api smbapi.HostAPI, root string, request *NewSMBGlobalMappingRequest) error {
	if mapped, err := api.IsSMBMapped(root); err == nil && mapped {
		reached, err := s.fs.PathValid(ctx, &fs.PathValidRequest{Path: root})
		if err == nil && reached.Valid {
			return nil
		}
		if err := api.RemoveSMBGlobalMapping(root); err != nil {
			return err
		}
	}
	return api.NewSMBGlobalMapping(root, request.Username, request.Password)
}

func (s *SMB) RemoveSMBGlobalMapping(ctx context.Context, request *RemoveSMBGlobalMappingRequest) (*RemoveSMBGlobalMappingResponse, error) {
	response := &RemoveSMBGlobalMappingResponse{}
	if request == nil {
		return response, host.NoRequest("RemoveSMBGlobalMapping")
	}
	_, root, err := share(request.RemotePath)
	if err != nil {
		return response, err
	}
	return response, s.api(ctx).RemoveSMBGlobalMapping(root)
}

// NewSMBGlobalMappingRequest asks for a mapping of a share.
type NewSMBGlobalMappingRequest struct {
	// The share, \\server\share, or a directory on it.
	RemotePath string
	// The path of a link to RemotePath; "" for no link.
	LocalPath string
	// The user and password for a new mapping. A mapping that works is not changed.
	Username string
	Password string
}

// NewSMBGlobalMappingResponse answers NewSMBGlobalMappingRequest.
type NewSMBGlobalMappingResponse struct{}

// RemoveSMBGlobalMappingRequest asks for the removal of a mapping.
type RemoveSMBGlobalMappingRequest struct {
	// The share, or a directory on it.
	RemotePath string
}

// RemoveSMBGlobalMappingResponse answers RemoveSMBGlobalMappingRequest.
type RemoveSMBGlobalMappingResponse struct{}
