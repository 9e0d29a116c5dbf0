package orders

import (
	"errors"
	"strings"
	"sync"
)

// Trident is NetApp Trident's frontend/csi/node_server.go with utils/mount/mount_windows.go, for SMB volumes.
type Trident struct {
	ShareNode
	// The driver's own os.MkdirAll, and its os.Stat, which follows links.
	MkdirAll, Stat func(path string) error

	// The shares of staged volumes, by their staging paths: the driver's tracking files.
	tracked sync.Map
}

// Forget is for a new node.
func (d *Trident) Forget() { d.tracked.Clear() }

func (d *Trident) Stage(remote, path, user, password string) error {
	d.tracked.Store(path, remote)
	if err := removeIfThere(d, path); err != nil {
		return err
	}
	if user == "" || password == "" {
		return errors.New("empty username or password is not allowed")
	}
	if err := mkdirIfMissing(d, parent(path)); err != nil {
		return err
	}
	return d.NewSmbGlobalMapping(remote, path, user, password)
}

func (d *Trident) Publish(stage, target string) error {
	exists, err := d.PathExists(target)
	if err != nil {
		return err
	}
	if exists {
		link, err := d.IsSymlink(target)
		if err != nil || link {
			return err
		}
	} else if err := d.MkdirAll(target); err != nil {
		return err
	}
	if err := d.Rmdir(target); err != nil {
		return err
	}
	return d.CreateSymlink(stage, target)
}

// Unpublish takes a link that leads nowhere for none, and leaves it to the kubelet.
func (d *Trident) Unpublish(target string) error {
	exists, err := d.PathExists(target)
	if err != nil || !exists || d.Stat(target) != nil {
		return err
	}
	link, err := d.IsSymlink(target)
	if err != nil || !link {
		return err
	}
	return d.Rmdir(target)
}

// Unstage forgets the volume even if its mapping cannot be removed, so that the kubelet's next call succeeds.
func (d *Trident) Unstage(path string) error {
	remote, staged := d.tracked.Load(path)
	if !staged {
		return nil
	}
	err := d.Rmdir(path)
	if err == nil {
		// The driver puts one backslash before the server's name.
		err = d.RemoveSmbGlobalMapping(`\` + strings.TrimLeft(remote.(string), `\`))
	}
	d.tracked.Delete(path)
	return err
}
