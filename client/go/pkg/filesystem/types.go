package filesystem

// PathExistsRequest asks whether there is anything at Path.
type PathExistsRequest struct{ Path string }

// PathExistsResponse answers PathExistsRequest.
type PathExistsResponse struct{ Exists bool }

// PathValidRequest asks whether Path, which may be a share, can be reached.
type PathValidRequest struct{ Path string }

// PathValidResponse answers PathValidRequest.
type PathValidResponse struct{ Valid bool }

// MkdirRequest asks for the directory Path and those above it. It may be there already.
type MkdirRequest struct{ Path string }

// MkdirResponse says that it is there.
type MkdirResponse struct{}

// RmdirRequest asks that Path, a directory, a mounted folder or a link, goes.
type RmdirRequest struct {
	Path string
	// Removes the contents of the directory as well, and Path need not exist.
	Force bool
}

// RmdirResponse says that it is gone.
type RmdirResponse struct{}

// RmdirContentsRequest asks that everything in the directory Path goes.
type RmdirContentsRequest struct{ Path string }

// RmdirContentsResponse says that it is empty.
type RmdirContentsResponse struct{}

// CreateSymlinkRequest asks for a link to a directory.
type CreateSymlinkRequest struct {
	// The target of the link.
	SourcePath string
	// The path of the new link. Nothing is there yet, and the directory above it exists.
	TargetPath string
}

// CreateSymlinkResponse says that the link is there.
type CreateSymlinkResponse struct{}

// IsSymlinkRequest asks whether Path is a link or a mounted folder whose target exists.
type IsSymlinkRequest struct{ Path string }

// IsSymlinkResponse answers IsSymlinkRequest.
type IsSymlinkResponse struct{ IsSymlink bool }
