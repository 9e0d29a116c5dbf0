package smb

// NewSMBGlobalMappingRequest asks for a mapping of a share.
type NewSMBGlobalMappingRequest struct {
	// The share, \\server\share, or a directory on it.
	RemotePath string
	// The path of a link to RemotePath. Empty makes none.
	LocalPath string
	// The user that maps it. A mapping that works already is left as it is.
	Username string
	Password string
}

// NewSMBGlobalMappingResponse says that the share is mapped.
type NewSMBGlobalMappingResponse struct{}

// RemoveSMBGlobalMappingRequest asks for the end of a mapping.
type RemoveSMBGlobalMappingRequest struct {
	// The share, or a directory on it.
	RemotePath string
}

// RemoveSMBGlobalMappingResponse says that the share is not mapped any more.
type RemoveSMBGlobalMappingResponse struct{}
