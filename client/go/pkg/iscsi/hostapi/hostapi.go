// Package api is the interface between package iscsi and a node.
package api

import (
	"context"
	"strings"

	iscsiv1 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// HostAPI is the part of a node that package iscsi uses.
type HostAPI interface {
	// AddTargetPortal registers a portal, which may be registered already.
	AddTargetPortal(portal *TargetPortal) error
	// DiscoverTargetPortal returns the names of a portal's targets.
	DiscoverTargetPortal(portal *TargetPortal) ([]string, error)
	// ListTargetPortals returns the registered portals.
	ListTargetPortals() ([]TargetPortal, error)
	// RemoveTargetPortal removes the registration of a portal.
	RemoveTargetPortal(portal *TargetPortal) error
	// ConnectTarget connects to a target. authType is NONE, ONEWAYCHAP or MUTUALCHAP.
	ConnectTarget(portal *TargetPortal, iqn string, authType string,
		chapUser string, chapSecret string) error
	// DisconnectTarget ends the connection to a target, if there is one.
	DisconnectTarget(portal *TargetPortal, iqn string) error
	// GetTargetDisks returns the numbers of the disks behind a target.
	GetTargetDisks(portal *TargetPortal, iqn string) ([]string, error)
	// SetMutualChapSecret sets the secret by which targets authenticate themselves.
	SetMutualChapSecret(mutualChapSecret string) error
}

type iscsiAPI struct{ host host.Bound }

var _ HostAPI = &iscsiAPI{}

// New returns the host API of the node of this process.
func New() HostAPI { return iscsiAPI{} }

// NewWithConn returns the host API of the node that conn leads to.
func NewWithConn(conn grpc.ClientConnInterface) HostAPI { return iscsiAPI{host.To(conn)} }

func (imp iscsiAPI) WithContext(ctx context.Context) HostAPI { return iscsiAPI{imp.host.With(ctx)} }

func (imp iscsiAPI) client() iscsiv1.IscsiClient { return iscsiv1.NewIscsiClient(imp.host.Conn()) }

// wire converts a portal to its message. A nil portal is left for the server to reject.
func wire(portal *TargetPortal) *iscsiv1.TargetPortal {
	if portal == nil {
		return nil
	}
	return &iscsiv1.TargetPortal{TargetAddress: portal.Address, TargetPort: portal.Port}
}

func (imp iscsiAPI) AddTargetPortal(portal *TargetPortal) error {
	request := &iscsiv1.AddTargetPortalRequest{TargetPortal: wire(portal)}
	return host.ErrorOf(imp.client().AddTargetPortal(imp.host.Context(), request))
}

func (imp iscsiAPI) DiscoverTargetPortal(portal *TargetPortal) ([]string, error) {
	request := &iscsiv1.DiscoverTargetPortalRequest{TargetPortal: wire(portal)}
	found, err := imp.client().DiscoverTargetPortal(imp.host.Context(), request)
	return found.GetIqns(), host.Error(err)
}

func (imp iscsiAPI) ListTargetPortals() ([]TargetPortal, error) {
	listed, err := imp.client().ListTargetPortals(imp.host.Context(), &iscsiv1.ListTargetPortalsRequest{})
	if err != nil {
		return nil, host.Error(err)
	}
	var portals []TargetPortal
	for _, portal := range listed.TargetPortals {
		portals = append(portals, TargetPortal{Address: portal.TargetAddress, Port: portal.TargetPort})
	}
	return portals, nil
}

func (imp iscsiAPI) RemoveTargetPortal(portal *TargetPortal) error {
	request := &iscsiv1.RemoveTargetPortalRequest{TargetPortal: wire(portal)}
	return host.ErrorOf(imp.client().RemoveTargetPortal(imp.host.Context(), request))
}

var authTypes = map[string]iscsiv1.AuthenticationType{
	"NONE":       iscsiv1.AuthenticationType_NONE,
	"ONEWAYCHAP": iscsiv1.AuthenticationType_ONE_WAY_CHAP,
	"MUTUALCHAP": iscsiv1.AuthenticationType_MUTUAL_CHAP,
}

// ConnectTarget connects to a target. authType may be in lower case and contain underscores.
func (imp iscsiAPI) ConnectTarget(portal *TargetPortal, iqn string, authType string, chapUser string, chapSecret string) error {
	auth, known := authTypes[strings.ToUpper(strings.ReplaceAll(authType, "_", ""))]
	if !known {
		return host.Invalid("%q is not one of NONE, ONEWAYCHAP, MUTUALCHAP", authType)
	}
	_, err := imp.client().ConnectTarget(imp.host.Context(), &iscsiv1.ConnectTargetRequest{
		TargetPortal: wire(portal), Iqn: iqn, AuthType: auth, ChapUsername: chapUser, ChapSecret: chapSecret,
	})
	return host.Error(err)
}

func (imp iscsiAPI) DisconnectTarget(portal *TargetPortal, iqn string) error {
	request := &iscsiv1.DisconnectTargetRequest{TargetPortal: wire(portal), Iqn: iqn}
	return host.ErrorOf(imp.client().DisconnectTarget(imp.host.Context(), request))
}

func (imp iscsiAPI) GetTargetDisks(portal *TargetPortal, iqn string) ([]string, error) {
	request := &iscsiv1.GetTargetDisksRequest{TargetPortal: wire(portal), Iqn: iqn}
	disks, err := imp.client().GetTargetDisks(imp.host.Context(), request)
	return disks.GetDiskIDs(), host.Error(err)
}

func (imp iscsiAPI) SetMutualChapSecret(mutualChapSecret string) error {
	request := &iscsiv1.SetMutualChapSecretRequest{MutualChapSecret: mutualChapSecret}
	return host.ErrorOf(imp.client().SetMutualChapSecret(imp.host.Context(), request))
}

// TargetPortal is a portal through which iSCSI targets are discovered. Its JSON has the field names
// of WMI's class MSFT_iSCSITargetPortal.
type TargetPortal struct {
	Address string `json:"TargetPortalAddress"`
	Port    uint32 `json:"TargetPortalPortNumber"`
}
