// Package api is the node's mappings of SMB shares, as package smb asks for them.
package api

import (
	"context"

	smbv1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// HostAPI is what package smb needs of a node.
type HostAPI interface {
	// IsSMBMapped tells whether a share is mapped.
	IsSMBMapped(remotePath string) (bool, error)
	// NewSMBLink makes localPath a link to a share.
	NewSMBLink(remotePath, localPath string) error
	// NewSMBGlobalMapping maps a share for every user of the node.
	NewSMBGlobalMapping(remotePath, username, password string) error
	// RemoveSMBGlobalMapping ends a mapping.
	RemoveSMBGlobalMapping(remotePath string) error
}

type smbAPI struct{ host host.Bound }

var _ HostAPI = &smbAPI{}

// New returns the mappings of the node of this process.
func New() HostAPI { return smbAPI{} }

// NewWithConn returns the mappings of the node at the other end of a connection.
func NewWithConn(conn grpc.ClientConnInterface) HostAPI { return smbAPI{host.To(conn)} }

func (imp smbAPI) WithContext(ctx context.Context) HostAPI { return smbAPI{imp.host.With(ctx)} }

func (imp smbAPI) client() smbv1.SmbClient { return smbv1.NewSmbClient(imp.host.Conn()) }

const mapInstead = "NewSMBGlobalMapping looks at the mapping, renews it and links to it at once"

// IsSMBMapped is not supported: the node decides and acts in one step.
func (imp smbAPI) IsSMBMapped(remotePath string) (bool, error) {
	return false, host.Unsupported("IsSMBMapped by itself", mapInstead)
}

// NewSMBLink is not supported: the node links to a share in the step that maps it.
func (imp smbAPI) NewSMBLink(remotePath, localPath string) error {
	return host.Unsupported("NewSMBLink by itself", mapInstead)
}

func (imp smbAPI) NewSMBGlobalMapping(remotePath, username, password string) error {
	return imp.MapShare(remotePath, "", username, password)
}

// MapShare maps a share unless its mapping works already, and makes localPath, unless that is empty,
// a link to it.
func (imp smbAPI) MapShare(remotePath, localPath, username, password string) error {
	_, err := imp.client().NewSmbGlobalMapping(imp.host.Context(), &smbv1.NewSmbGlobalMappingRequest{
		RemotePath: remotePath, LocalPath: localPath, Username: username, Password: password,
	})
	return host.Error(err)
}

func (imp smbAPI) RemoveSMBGlobalMapping(remotePath string) error {
	request := &smbv1.RemoveSmbGlobalMappingRequest{RemotePath: remotePath}
	_, err := imp.client().RemoveSmbGlobalMapping(imp.host.Context(), request)
	return host.Error(err)
}
