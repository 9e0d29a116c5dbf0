// Package api is the interface between package smb and a node.
package api

import (
	"context"

	smbv1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// HostAPI is the part of a node that package smb uses.
type HostAPI interface {
	// IsSMBMapped reports whether a share is mapped.
	IsSMBMapped(remotePath string) (bool, error)
	// NewSMBLink makes localPath a link to a share.
	NewSMBLink(remotePath, localPath string) error
	// NewSMBGlobalMapping maps a share for every user of the node.
	NewSMBGlobalMapping(remotePath, username, password string) error
	// RemoveSMBGlobalMapping removes the mapping of a share.
	RemoveSMBGlobalMapping(remotePath string) error
}

type smbAPI struct{ host host.Bound }

var _ HostAPI = &smbAPI{}

// New returns the host API of the node of this process.
func New() HostAPI { return smbAPI{} }

// NewWithConn returns the host API of the node that conn leads to.
func NewWithConn(conn grpc.ClientConnInterface) HostAPI { return smbAPI{host.To(conn)} }

func (imp smbAPI) WithContext(ctx context.Context) HostAPI { return smbAPI{imp.host.With(ctx)} }

func (imp smbAPI) client() smbv1.SmbClient { return smbv1.NewSmbClient(imp.host.Conn()) }

const mapInstead = "NewSMBGlobalMapping looks at the mapping, renews it and links to it at once"

// IsSMBMapped is not supported, because the node checks and maps in one step.
func (imp smbAPI) IsSMBMapped(remotePath string) (bool, error) {
	return false, host.Unsupported("IsSMBMapped by itself", mapInstead)
}

// NewSMBLink is not supported, because the node maps and links in one step.
func (imp smbAPI) NewSMBLink(remotePath, localPath string) error {
	return host.Unsupported("NewSMBLink by itself", mapInstead)
}

func (imp smbAPI) NewSMBGlobalMapping(remotePath, username, password string) error {
	return imp.MapShare(remotePath, "", username, password)
}

// MapShare maps a share unless a working mapping exists. If localPath is not "", it then becomes a
// link to the share.
func (imp smbAPI) MapShare(remotePath, localPath, username, password string) error {
	_, err := imp.client().NewSmbGlobalMapping(imp.host.Context(), &smbv1.NewSmbGlobalMappingRequest{
		RemotePath: remotePath, LocalPath: localPath, Username: username, Password: password,
	})
	return host.Error(err)
}

func (imp smbAPI) RemoveSMBGlobalMapping(remotePath string) error {
	request := &smbv1.RemoveSmbGlobalMappingRequest{RemotePath: remotePath}
	return host.ErrorOf(imp.client().RemoveSmbGlobalMapping(imp.host.Context(), request))
}
