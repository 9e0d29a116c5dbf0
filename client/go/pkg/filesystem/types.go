package filesystem

// PathExistsRequest asks whether Path exists.
type PathExistsRequest struct{ Path string }

// PathExistsResponse answers PathExistsRequest.
type PathExistsResponse struct{ Exists bool }

// PathValidRequest asks whether Path, which may be on a share, can be reached.
type PathValidRequest struct{ Path string }

// PathValidResponse answers PathValidRequest.
type PathValidResponse struct{ Valid bool }

// MkdirRequest asks for the directory Path and missing directories above. Path may exist.
type MkdirRequest struct{ Path string }

// MkdirResponse answers MkdirRequest.
type MkdirResponse struct{}

// RmdirRequest asks for the removal of Path, a directory, a mounted folder or a link.
type RmdirRequest struct {
	Path string
	// If true, the contents of the directory are removed too, and Path need not exist.
	Force bool
}

// RmdirResponse answers RmdirRequest.
type RmdirResponse struct{}

// RmdirContentsRequest asks for the removal of everything in the directory Path.
type RmdirContentsRequest struct{ Path string }

// RmdirContentsResponse answers RmdirContentsRequest.
type RmdirContentsResponse struct{}

// CreateSymlinkRequest asks for a link to a directory.
type CreateSymlinkRequest struct {
	// The target of the link.
	SourcePath string
	// The path of the new link. It must not exist, and the directory above must.
	TargetPath string
}

// CreateSymlinkResponse answers CreateSymlinkRequest.
type CreateSymlinkResponse struct{}

// IsSymlinkRequest asks whether Path is a link or a mounted folder whose target exists.
type IsSymlinkRequest struct{ Path string }

// IsSymlinkResponse answers IsSymlinkRequest.
type IsSymlinkResponse struct{ IsSymlink bool }
