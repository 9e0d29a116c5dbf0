package api

// TargetPortal is a portal through which iSCSI targets are discovered. Its JSON has the field names
// of WMI's class MSFT_iSCSITargetPortal.
type TargetPortal struct {
	Address string `json:"TargetPortalAddress"`
	Port    uint32 `json:"TargetPortalPortNumber"`
}
