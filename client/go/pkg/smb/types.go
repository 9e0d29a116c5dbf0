package smb

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
