package api

// TargetPortal is where iSCSI targets are discovered. In JSON its fields have the names of
// MSFT_iSCSITargetPortal of WMI.
type TargetPortal struct {
	Address string `json:"TargetPortalAddress"`
	Port    uint32 `json:"TargetPortalPortNumber"`
}
