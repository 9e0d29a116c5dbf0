package iscsi

// AddTargetPortalRequest asks for the registration of a portal.
type AddTargetPortalRequest struct{ TargetPortal *TargetPortal }

// AddTargetPortalResponse answers AddTargetPortalRequest.
type AddTargetPortalResponse struct{}

// AuthenticationType says which sides authenticate themselves when a target is connected.
type AuthenticationType uint32

const (
	// NONE: neither side.
	NONE = 0
	// ONE_WAY_CHAP: the initiator.
	ONE_WAY_CHAP = 1
	// MUTUAL_CHAP: the initiator, and the target with the secret of SetMutualChapSecret.
	MUTUAL_CHAP = 2
)

// ConnectTargetRequest asks for a connection to a target.
type ConnectTargetRequest struct {
	TargetPortal *TargetPortal
	IQN          string
	AuthType     AuthenticationType
	// The initiator's name in one-way and mutual CHAP.
	ChapUsername string
	ChapSecret   string
}

// ConnectTargetResponse answers ConnectTargetRequest.
type ConnectTargetResponse struct{}

// DisconnectTargetRequest asks for the end of the connection to a target.
type DisconnectTargetRequest struct {
	TargetPortal *TargetPortal
	IQN          string
}

// DisconnectTargetResponse answers DisconnectTargetRequest.
type DisconnectTargetResponse struct{}

// DiscoverTargetPortalRequest asks for a portal's targets.
type DiscoverTargetPortalRequest struct{ TargetPortal *TargetPortal }

// DiscoverTargetPortalResponse contains the names of the targets.
type DiscoverTargetPortalResponse struct{ IQNs []string }

// GetTargetDisksRequest asks for the disks behind a target.
type GetTargetDisksRequest struct {
	TargetPortal *TargetPortal
	IQN          string
}

// GetTargetDisksResponse contains the disks' numbers, in decimal.
type GetTargetDisksResponse struct{ DiskIDs []string }

// ListTargetPortalsRequest asks for the registered portals.
type ListTargetPortalsRequest struct{}

// ListTargetPortalsResponse contains the registered portals.
type ListTargetPortalsResponse struct{ TargetPortals []*TargetPortal }

// RemoveTargetPortalRequest asks for the removal of a portal's registration.
type RemoveTargetPortalRequest struct{ TargetPortal *TargetPortal }

// RemoveTargetPortalResponse answers RemoveTargetPortalRequest.
type RemoveTargetPortalResponse struct{}

// TargetPortal is a portal through which iSCSI targets are discovered.
type TargetPortal struct {
	TargetAddress string
	// 0 is the default port of iSCSI, 3260.
	TargetPort uint32
}

// SetMutualChapSecretRequest sets the node's secret by which targets authenticate themselves: 12 to
// 16 bytes, unless IPsec is used.
type SetMutualChapSecretRequest struct{ MutualChapSecret string }

// SetMutualChapSecretResponse answers SetMutualChapSecretRequest.
type SetMutualChapSecretResponse struct{}
