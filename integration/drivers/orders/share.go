package orders

import (
	"errors"
	"strings"
	"sync"
)

// ShareNode has the calls of a driver of shares.
type ShareNode interface {
	Files
	NewSmbGlobalMapping(remote, local, user, password string) error
	RemoveSmbGlobalMapping(remote string) error
}

// SMB makes the calls of csi-driver-smb's pkg/smb/nodeserver.go with pkg/mounter/safe_mounter_windows.go.
type SMB struct {
	ShareNode
	// Stand-ins for the driver's own os.ReadDir, os.MkdirAll and os.Readlink. Readlink returns ErrNotLink if there
	// is no link.
	ReadDir, MkdirAll func(path string) error
	Readlink          func(path string) (string, error)

	mutex sync.Mutex
	// The users of each share. The driver keeps a file for each user instead.
	users map[string]map[string]bool
}

// ErrNotLink means that the path is not a link.
var ErrNotLink = errors.New("not a link")

// ensureMountPoint returns true if something is mounted at path; otherwise it creates the directory.
func (d *SMB) ensureMountPoint(path string) (bool, error) {
	mounted, err := mounted(d, path)
	if err != nil {
		// The driver distinguishes a link whose server is lost from other failures by a stat.
		if d.ReadDir(path) == nil {
			return false, err
		}
		mounted = true
	}
	if mounted {
		if d.ReadDir(path) == nil {
			return true, nil
		}
		return false, d.Rmdir(path)
	}
	return false, d.MkdirAll(path)
}

func (d *SMB) Stage(remote, path, user, password string) error {
	if mounted, err := d.ensureMountPoint(path); err != nil || mounted {
		return err
	}
	if err := removeIfThere(d, path); err != nil {
		return err
	}
	exists, err := d.PathExists(parent(path))
	if err != nil {
		return err
	}
	if !exists {
		if err := d.Mkdir(parent(path)); err != nil {
			return err
		}
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if err := d.NewSmbGlobalMapping(strings.TrimRight(remote, `\`), path, user, password); err != nil {
		return err
	}
	d.Count(remote, path)
	return nil
}

// Count records a volume as a user of its share, for which the driver creates a file.
func (d *SMB) Count(remote, path string) {
	share := rootOf(remote)
	if d.users == nil {
		d.users = map[string]map[string]bool{}
	}
	if d.users[share] == nil {
		d.users[share] = map[string]bool{}
	}
	d.users[share][path] = true
}

// Forget clears the record for a new node.
func (d *SMB) Forget() { d.users = nil }

func (d *SMB) Publish(stage, target string) error {
	if mounted, err := d.ensureMountPoint(target); err != nil || mounted {
		return err
	}
	if err := removeIfThere(d, target); err != nil {
		return err
	}
	return d.CreateSymlink(stage, target)
}

func (d *SMB) Unpublish(target string) error { return d.Rmdir(target) }

func (d *SMB) Unstage(path string) error {
	if err := d.release(path); err != nil {
		return err
	}
	return d.Rmdir(path)
}

// release removes the mapping of a share that no other volume uses.
func (d *SMB) release(path string) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	remote, err := d.Readlink(path)
	if errors.Is(err, ErrNotLink) {
		return nil
	}
	if err != nil {
		return err
	}
	share := rootOf(remote)
	if !d.users[share][path] {
		return errors.New("the file that counts this volume cannot be removed: it is not there")
	}
	delete(d.users[share], path)
	if len(d.users[share]) > 0 {
		return nil
	}
	return d.RemoveSmbGlobalMapping(remote)
}

// rootOf returns the share of a path.
func rootOf(remote string) string {
	parts := strings.Split(strings.TrimLeft(remote, `\`), `\`)
	return strings.ToLower(`\\` + strings.Join(parts[:2], `\`))
}

// parent is filepath.Dir for Windows paths, on Linux too.
func parent(path string) string { return path[:strings.LastIndexByte(path, '\\')] }
