// Package iscsi connects a Windows node to iSCSI targets.
package iscsi

import (
	"context"

	iscsiapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

const defaultPort = 3260

// ISCSI manages the iSCSI initiator of a node.
type ISCSI struct {
	hostAPI iscsiapi.HostAPI
}

// Interface is implemented by ISCSI.
type Interface interface {
	// AddTargetPortal registers a portal, which may be registered already.
	AddTargetPortal(context.Context, *AddTargetPortalRequest) (*AddTargetPortalResponse, error)
	// ConnectTarget connects to a target.
	ConnectTarget(context.Context, *ConnectTargetRequest) (*ConnectTargetResponse, error)
	// DisconnectTarget ends the connection to a target, if there is one.
	DisconnectTarget(context.Context, *DisconnectTargetRequest) (*DisconnectTargetResponse, error)
	// DiscoverTargetPortal returns the names of a portal's targets.
	DiscoverTargetPortal(context.Context, *DiscoverTargetPortalRequest) (*DiscoverTargetPortalResponse, error)
	// GetTargetDisks returns the numbers of the disks behind a target.
	GetTargetDisks(context.Context, *GetTargetDisksRequest) (*GetTargetDisksResponse, error)
	// ListTargetPortals returns the registered portals.
	ListTargetPortals(context.Context, *ListTargetPortalsRequest) (*ListTargetPortalsResponse, error)
	// RemoveTargetPortal removes the registration of a portal.
	RemoveTargetPortal(context.Context, *RemoveTargetPortalRequest) (*RemoveTargetPortalResponse, error)
	// SetMutualChapSecret sets the secret by which targets authenticate themselves. A node has one
	// such secret, so the call affects other drivers.
	SetMutualChapSecret(context.Context, *SetMutualChapSecretRequest) (*SetMutualChapSecretResponse, error)
}

var _ Interface = &ISCSI{}

// New returns an ISCSI on a host API. The error is always nil.
func New(hostAPI iscsiapi.HostAPI) (*ISCSI, error) { return &ISCSI{hostAPI: hostAPI}, nil }

func (ic *ISCSI) api(ctx context.Context) iscsiapi.HostAPI { return host.Bind(ctx, ic.hostAPI) }

// portalOf returns the portal of a method's request, or an error if the portal is nil.
func portalOf(method string, portal *TargetPortal) (*iscsiapi.TargetPortal, error) {
	if portal == nil {
		return nil, host.Invalid("%s: the target portal is nil", method)
	}
	port := portal.TargetPort
	if port == 0 {
		port = defaultPort
	}
	return &iscsiapi.TargetPortal{Address: portal.TargetAddress, Port: port}, nil
}

func (ic *ISCSI) AddTargetPortal(ctx context.Context, request *AddTargetPortalRequest) (*AddTargetPortalResponse, error) {
	response := &AddTargetPortalResponse{}
	if request == nil {
		return response, host.NoRequest("AddTargetPortal")
	}
	portal, err := portalOf("AddTargetPortal", request.TargetPortal)
	if err != nil {
		return response, err
	}
	return response, ic.api(ctx).AddTargetPortal(portal)
}

// AuthTypeToString returns the name of an authentication type in the form of host APIs.
func AuthTypeToString(authType AuthenticationType) (string, error) {
	switch authType {
	case NONE:
		return "NONE", nil
	case ONE_WAY_CHAP:
		return "ONEWAYCHAP", nil
	case MUTUAL_CHAP:
		return "MUTUALCHAP", nil
	}
	return "", host.Invalid("there is no authentication type %d", authType)
}

func (ic *ISCSI) ConnectTarget(ctx context.Context, req *ConnectTargetRequest) (*ConnectTargetResponse, error) {
	response := &ConnectTargetResponse{}
	if req == nil {
		return response, host.NoRequest("ConnectTarget")
	}
	portal, err := portalOf("ConnectTarget", req.TargetPortal)
	if err != nil {
		return response, err
	}
	auth, err := AuthTypeToString(req.AuthType)
	if err != nil {
		return response, err
	}
	return response, ic.api(ctx).ConnectTarget(portal, req.IQN, auth, req.ChapUsername, req.ChapSecret)
}

func (ic *ISCSI) DisconnectTarget(ctx context.Context, request *DisconnectTargetRequest) (*DisconnectTargetResponse, error) {
	response := &DisconnectTargetResponse{}
	if request == nil {
		return response, host.NoRequest("DisconnectTarget")
	}
	portal, err := portalOf("DisconnectTarget", request.TargetPortal)
	if err != nil {
		return response, err
	}
	return response, ic.api(ctx).DisconnectTarget(portal, request.IQN)
}

func (ic *ISCSI) DiscoverTargetPortal(ctx context.Context, request *DiscoverTargetPortalRequest) (*DiscoverTargetPortalResponse, error) {
	response := &DiscoverTargetPortalResponse{}
	if request == nil {
		return response, host.NoRequest("DiscoverTargetPortal")
	}
	portal, err := portalOf("DiscoverTargetPortal", request.TargetPortal)
	if err != nil {
		return response, err
	}
	response.IQNs, err = ic.api(ctx).DiscoverTargetPortal(portal)
	return response, err
}

func (ic *ISCSI) GetTargetDisks(ctx context.Context, request *GetTargetDisksRequest) (*GetTargetDisksResponse, error) {
	response := &GetTargetDisksResponse{}
	if request == nil {
		return response, host.NoRequest("GetTargetDisks")
	}
	portal, err := portalOf("GetTargetDisks", request.TargetPortal)
	if err != nil {
		return response, err
	}
	disks, err := ic.api(ctx).GetTargetDisks(portal, request.IQN)
	if err != nil {
		return response, err
	}
	// Never nil, even if the host API returns nil.
	response.DiskIDs = append(make([]string, 0, len(disks)), disks...)
	return response, nil
}

func (ic *ISCSI) ListTargetPortals(ctx context.Context, _ *ListTargetPortalsRequest) (*ListTargetPortalsResponse, error) {
	response := &ListTargetPortalsResponse{}
	portals, err := ic.api(ctx).ListTargetPortals()
	if err != nil {
		return response, err
	}
	response.TargetPortals = make([]*TargetPortal, 0, len(portals))
	for _, portal := range portals {
		response.TargetPortals = append(response.TargetPortals, &TargetPortal{TargetAddress: portal.Address, TargetPort: portal.Port})
	}
	return response, nil
}

func (ic *ISCSI) RemoveTargetPortal(ctx context.Context, request *RemoveTargetPortalRequest) (*RemoveTargetPortalResponse, error) {
	response := &RemoveTargetPortalResponse{}
	if request == nil {
		return response, host.NoRequest("RemoveTargetPortal")
	}
	portal, err := portalOf("RemoveTargetPortal", request.TargetPortal)
	if err != nil {
		return response, err
	}
	return response, ic.api(ctx).RemoveTargetPortal(portal)
}

func (ic *ISCSI) SetMutualChapSecret(ctx context.Context, request *SetMutualChapSecretRequest) (*SetMutualChapSecretResponse, error) {
	response := &SetMutualChapSecretResponse{}
	if request == nil {
		return response, host.NoRequest("SetMutualChapSecret")
	}
	return response, ic.api(ctx).SetMutualChapSecret(request.MutualChapSecret)
}
