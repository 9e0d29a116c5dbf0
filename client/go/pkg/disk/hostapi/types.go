package api

// StorageDeviceNumber is STORAGE_DEVICE_NUMBER of Windows.
type StorageDeviceNumber struct {
	DeviceType      DeviceType
	DeviceNumber    uint32
	PartitionNumber uint32
}

// DeviceType is DEVICE_TYPE of Windows.
type DeviceType uint32

// StoragePropertyID is STORAGE_PROPERTY_ID of Windows.
type StoragePropertyID uint32

const (
	StorageDeviceProperty StoragePropertyID = iota
	StorageAdapterProperty
	StorageDeviceIDProperty
	StorageDeviceUniqueIDProperty
	StorageDeviceWriteCacheProperty
	StorageMiniportProperty
	StorageAccessAlignmentProperty
	StorageDeviceSeekPenaltyProperty
	StorageDeviceTrimProperty
	StorageDeviceWriteAggregationProperty
	StorageDeviceDeviceTelemetryProperty
	StorageDeviceLBProvisioningProperty
	StorageDevicePowerProperty
	StorageDeviceCopyOffloadProperty
	StorageDeviceResiliencyProperty
	StorageDeviceMediumProductType
	StorageAdapterRpmbProperty
	StorageAdapterCryptoProperty
	StorageDeviceIoCapabilityProperty
	StorageAdapterProtocolSpecificProperty
	StorageDeviceProtocolSpecificProperty
	StorageAdapterTemperatureProperty
	StorageDeviceTemperatureProperty
	StorageAdapterPhysicalTopologyProperty
	StorageDevicePhysicalTopologyProperty
	StorageDeviceAttributesProperty
	StorageDeviceManagementStatus
	StorageAdapterSerialNumberProperty
	StorageDeviceLocationProperty
	StorageDeviceNumaProperty
	StorageDeviceZonedDeviceProperty
	StorageDeviceUnsafeShutdownCount
	StorageDeviceEnduranceProperty
)

// StorageQueryType is STORAGE_QUERY_TYPE of Windows.
type StorageQueryType uint32

const (
	PropertyStandardQuery StorageQueryType = iota
	PropertyExistsQuery
	PropertyMaskQuery
	PropertyQueryMaxDefined
)

// StoragePropertyQuery is STORAGE_PROPERTY_QUERY of Windows.
type StoragePropertyQuery struct {
	PropertyID StoragePropertyID
	QueryType  StorageQueryType
	Byte       []AdditionalParameters
}

// AdditionalParameters follow a StoragePropertyQuery.
type AdditionalParameters byte

// StorageDeviceIDDescriptor is STORAGE_DEVICE_ID_DESCRIPTOR of Windows.
type StorageDeviceIDDescriptor struct {
	Version             uint32
	Size                uint32
	NumberOfIdentifiers uint32
	Identifiers         [1]byte
}

// StorageIdentifierCodeSet is STORAGE_IDENTIFIER_CODE_SET of Windows.
type StorageIdentifierCodeSet uint32

const (
	StorageIDCodeSetReserved StorageIdentifierCodeSet = iota
	StorageIDCodeSetBinary
	StorageIDCodeSetASCII
	StorageIDCodeSetUtf8
)

// StorageIdentifierType is STORAGE_IDENTIFIER_TYPE of Windows.
type StorageIdentifierType uint32

const (
	StorageIdTypeVendorSpecific StorageIdentifierType = iota
	StorageIDTypeVendorID
	StorageIDTypeEUI64
	StorageIDTypeFCPHName
	StorageIDTypePortRelative
	StorageIDTypeTargetPortGroup
	StorageIDTypeLogicalUnitGroup
	StorageIDTypeMD5LogicalUnitIdentifier
	StorageIDTypeScsiNameString
)

// StorageAssociationType is STORAGE_ASSOCIATION_TYPE of Windows.
type StorageAssociationType uint32

const (
	StorageIDAssocDevice StorageAssociationType = iota
	StorageIDAssocPort
	StorageIDAssocTarget
)

// StorageIdentifier is STORAGE_IDENTIFIER of Windows.
type StorageIdentifier struct {
	CodeSet        StorageIdentifierCodeSet
	Type           StorageIdentifierType
	IdentifierSize uint16
	NextOffset     uint16
	Association    StorageAssociationType
	Identifier     [1]byte
}

// Disk is a disk of WMI's class MSFT_Disk.
type Disk struct {
	Path         string `json:"Path"`
	SerialNumber string `json:"SerialNumber"`
}

// DiskLocation is the location at which a disk is attached.
type DiskLocation struct {
	Adapter string
	Bus     string
	Target  string
	LUNID   string
}

// DiskIDs are the identifiers of a disk.
type DiskIDs struct {
	Page83       string
	SerialNumber string
}
