package iscsi

// AddTargetPortalRequest asks that a portal is registered.
type AddTargetPortalRequest struct{ TargetPortal *TargetPortal }

// AddTargetPortalResponse says that it is.
type AddTargetPortalResponse struct{}

// AuthenticationType is who proves what when a target is connected.
type AuthenticationType uint32

const (
	// NONE is nobody.
	NONE = 0
	// ONE_WAY_CHAP is the initiator.
	ONE_WAY_CHAP = 1
	// MUTUAL_CHAP is the initiator, and the target by the secret of SetMutualChapSecret.
	MUTUAL_CHAP = 2
)

// ConnectTargetRequest asks for a connection to a target.
type ConnectTargetRequest struct {
	TargetPortal *TargetPortal
	IQN          string
	AuthType     AuthenticationType
	// The name under which the initiator proves itself, with one way and mutual CHAP.
	ChapUsername string
	ChapSecret   string
}

// ConnectTargetResponse says that it is connected.
type ConnectTargetResponse struct{}

// DisconnectTargetRequest asks for the end of the connection to a target.
type DisconnectTargetRequest struct {
	TargetPortal *TargetPortal
	IQN          string
}

// DisconnectTargetResponse says that there is none.
type DisconnectTargetResponse struct{}

// DiscoverTargetPortalRequest asks for a portal's targets.
type DiscoverTargetPortalRequest struct{ TargetPortal *TargetPortal }

// DiscoverTargetPortalResponse has their names.
type DiscoverTargetPortalResponse struct{ IQNs []string }

// GetTargetDisksRequest asks for the disks behind a target.
type GetTargetDisksRequest struct {
	TargetPortal *TargetPortal
	IQN          string
}

// GetTargetDisksResponse has the disks' numbers, in decimal.
type GetTargetDisksResponse struct{ DiskIDs []string }

// ListTargetPortalsRequest asks for the registered portals.
type ListTargetPortalsRequest struct{}

// ListTargetPortalsResponse has them.
type ListTargetPortalsResponse struct{ TargetPortals []*TargetPortal }

// RemoveTargetPortalRequest asks that a portal is forgotten.
type RemoveTargetPortalRequest struct{ TargetPortal *TargetPortal }

// RemoveTargetPortalResponse says that it is.
type RemoveTargetPortalResponse struct{}

// TargetPortal is where iSCSI targets are discovered.
type TargetPortal struct {
	TargetAddress string
	// 0 is iSCSI's own port, 3260.
	TargetPort uint32
}

// SetMutualChapSecretRequest sets the secret of all this node's initiators by which targets prove who
// they are: 12 to 16 bytes where IPsec is not used.
type SetMutualChapSecretRequest struct{ MutualChapSecret string }

// SetMutualChapSecretResponse says that it is set.
type SetMutualChapSecretResponse struct{}
