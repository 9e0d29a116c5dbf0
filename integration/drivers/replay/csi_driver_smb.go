package main

import (
	"errors"
	"strings"
	"sync"

	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"

	"csi-proxy.example/drivers/steps"
)

// smbDriver is csi-driver-smb's pkg/smb/nodeserver.go with pkg/mounter/safe_mounter_windows.go.
type smbDriver struct {
	*clients
	run   *steps.Run
	mutex sync.Mutex
	// The users of each share; the driver keeps a file for each user.
	users map[string]map[string]bool
}

// errNotLink is a Readlink that fails.
var errNotLink = errors.New("not a link")

// readDir is the driver's own os.ReadDir, on the node instead of Wine's drive.
func (d *smbDriver) readDir(path string) error {
	return d.run.Then(func(node *steps.Node) error { return node.ReadDir(path) })
}

// ensureMountPoint tells whether something is mounted there, and makes the directory when not.
func (d *smbDriver) ensureMountPoint(path string) (bool, error) {
	normalized := steps.Normalize(path)
	exists, err := d.PathExists(normalized)
	if err != nil {
		return false, err
	}
	mounted := false
	if exists {
		mounted, err = d.IsSymlink(normalized)
		if err != nil {
			// The driver's own stat tells a link whose server is lost from other failures.
			if d.readDir(path) == nil {
				return false, err
			}
			mounted = true
		}
	}
	if mounted {
		if d.readDir(path) == nil {
			return true, nil
		}
		if err := d.Rmdir(normalized); err != nil {
			return false, err
		}
		return false, nil
	}
	return false, d.run.MakeDirectory(path)
}

// removeIfThere is prepareStagePath and preparePublishPath.
func (d *smbDriver) removeIfThere(path string) error {
	exists, err := d.PathExists(steps.Normalize(path))
	if err != nil || !exists {
		return err
	}
	return d.Rmdir(steps.Normalize(path))
}

func (d *smbDriver) NodeStage(volume *steps.ShareVolume) error {
	if mounted, err := d.ensureMountPoint(volume.Stage); err != nil || mounted {
		return err
	}
	if err := d.removeIfThere(volume.Stage); err != nil {
		return err
	}
	path := steps.Normalize(volume.Stage)
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
	_, err = d.shares.NewSmbGlobalMapping(background, &smb.NewSmbGlobalMappingRequest{
		RemotePath: strings.TrimRight(volume.Remote, `\`), LocalPath: path, Username: volume.User, Password: volume.Password})
	if err != nil {
		return err
	}
	d.count(volume)
	return nil
}

// count makes the file that counts a volume.
func (d *smbDriver) count(volume *steps.ShareVolume) {
	share := rootOf(volume.Remote)
	if d.users[share] == nil {
		d.users[share] = map[string]bool{}
	}
	d.users[share][volume.Stage] = true
}

func (d *smbDriver) NodePublish(volume *steps.ShareVolume) error {
	if mounted, err := d.ensureMountPoint(volume.Target); err != nil || mounted {
		return err
	}
	if err := d.removeIfThere(volume.Target); err != nil {
		return err
	}
	return d.CreateSymlink(steps.Normalize(volume.Stage), steps.Normalize(volume.Target))
}

func (d *smbDriver) NodeUnpublish(volume *steps.ShareVolume) error {
	return d.Rmdir(steps.Normalize(volume.Target))
}

func (d *smbDriver) NodeUnstage(volume *steps.ShareVolume) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	var remote string
	err := d.run.Then(func(node *steps.Node) error {
		entry, _ := node.At(volume.Stage)
		if entry == nil || entry.Kind != "LINK" {
			return errNotLink
		}
		remote = strings.TrimSuffix(entry.Target, `\`)
		return nil
	})
	if err != nil && !errors.Is(err, errNotLink) {
		return err
	}
	if err == nil {
		share := rootOf(remote)
		if !d.users[share][volume.Stage] {
			return errors.New("the file that counts this volume cannot be removed: it is not there")
		}
		delete(d.users[share], volume.Stage)
		if len(d.users[share]) == 0 {
			_, err := d.shares.RemoveSmbGlobalMapping(background, &smb.RemoveSmbGlobalMappingRequest{RemotePath: remote})
			if err != nil {
				return err
			}
		}
	}
	return d.Rmdir(steps.Normalize(volume.Stage))
}

// rootOf is the share itself.
func rootOf(remote string) string {
	parts := strings.Split(strings.TrimLeft(remote, `\`), `\`)
	return strings.ToLower(`\\` + strings.Join(parts[:2], `\`))
}
