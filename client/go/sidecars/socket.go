package sidecars

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
)

// socketExists tells whether there is a socket. Anything else at the path is an error.
func socketExists(path string) (bool, error) {
	_, isSocket, err := identify(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !isSocket {
		return false, fmt.Errorf("%s exists, and is not a socket", path)
	}
	return true, nil
}

// socket is a Unix socket that this process listens on.
type socket struct {
	net.Listener
	path string
	id   fileID
}

// listen makes a socket for the process's user alone. One that an earlier process has left is
// replaced; a file of another kind stays, and is an error.
func listen(path string) (*socket, error) {
	exists, err := socketExists(path)
	if err != nil {
		return nil, err
	}
	if exists {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	config := net.ListenConfig{Control: restrictSocket}
	listener, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	// Go would remove whatever is there when the listener is closed.
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	id, _, err := identify(path)
	if err == nil {
		err = restrictFile(path)
	}
	if err != nil {
		listener.Close()
		return nil, err
	}
	return &socket{listener, path, id}, nil
}

// inPlace tells whether the file at the path is still this socket's own, and not gone or another's.
// No file made since can have its identity: that is not used again while somebody listens.
func (s *socket) inPlace() bool {
	id, isSocket, err := identify(s.path)
	return err == nil && isSocket && id == s.id
}

// remove removes the file if it is still this socket's own.
func (s *socket) remove() error {
	if !s.inPlace() {
		return nil
	}
	return os.Remove(s.path)
}
