package steps

import (
	"fmt"
	"strings"
)

// ShareVolume is a share, or a directory of one, with the kubelet's paths for it.
type ShareVolume struct {
	// `\\host\share[\directory]`
	Remote         string
	User, Password string
	Stage, Target  string
}

// Share is a driver's node server for volumes that are SMB shares.
type Share interface {
	NodeStage(volume *ShareVolume) error
	NodePublish(volume *ShareVolume) error
	NodeUnpublish(volume *ShareVolume) error
	NodeUnstage(volume *ShareVolume) error
}

// ShareLife takes a driver's shares through all stages of their lives.
type ShareLife struct {
	*Run
	Driver Share
	// True if unstaging the last volume of a share removes the mapping.
	RemovesMapping bool
	// Recover, if set, repairs the driver's record of a volume whose unstaging failed, like an administrator.
	Recover func(volume *ShareVolume)
	made    int
}

// The file server and its user.
var (
	shareHost = "account.file.core.windows.net"
	shareUser = `AZURE\account`
)

// fresh resets the node and creates a server with two shares.
func (l *ShareLife) fresh() {
	l.Scenario(l.node, func() error {
		for _, made := range []struct {
			method  string
			request map[string]any
		}{
			{"AddShare", map[string]any{"server": shareHost, "share": "one"}},
			{"AddShare", map[string]any{"server": shareHost, "share": "two"}},
			{"SetSmbPassword", map[string]any{"server": shareHost, "user": shareUser, "password": Password}},
			{"MakeDirectory", map[string]any{"path": `\\` + shareHost + `\one\directory`}},
			{"WriteFile", map[string]any{"path": `\\` + shareHost + `\one\read.me`, "size_bytes": "10"}},
		} {
			if err := l.Call(made.method, made.request); err != nil {
				return err
			}
		}
		return nil
	})
}

func (l *ShareLife) newVolume(path string) *ShareVolume {
	l.made++
	return &ShareVolume{
		Remote: `\\` + shareHost + `\` + path, User: shareUser, Password: Password,
		Stage:  fmt.Sprintf(`\var\lib\kubelet\plugins\kubernetes.io\csi\%s\%04x\globalmount`, l.Run.driver, l.made),
		Target: fmt.Sprintf(`\var\lib\kubelet\pods\%04x\volumes\kubernetes.io~csi\pvc-%[1]d\mount`, l.made),
	}
}

// share returns the volume's share without the directory.
func (v *ShareVolume) share() string {
	parts := strings.SplitN(v.Remote[2:], `\`, 3)
	return `\\` + parts[0] + `\` + parts[1]
}

func (l *ShareLife) stage(volume *ShareVolume) error {
	if err := l.MakeDirectory(volume.Stage); err != nil {
		return err
	}
	return l.Driver.NodeStage(volume)
}

func (l *ShareLife) publish(volume *ShareVolume) error {
	if err := l.MakeDirectory(volume.Target[:strings.LastIndex(volume.Target, `\`)]); err != nil {
		return err
	}
	return l.Driver.NodePublish(volume)
}

// unpublish is the kubelet's TearDown.
func (l *ShareLife) unpublish(volume *ShareVolume) error {
	return l.Driver.NodeUnpublish(volume)
}

// unstage is the kubelet's UnmountDevice.
func (l *ShareLife) unstage(volume *ShareVolume) error {
	return l.Driver.NodeUnstage(volume)
}

// mapped checks that the share is mapped and that the link to it ends in a backslash, which Go, and so
// containerd, needs to follow it (https://github.com/kubernetes-csi/csi-proxy/pull/98).
func mapped(volume *ShareVolume) func(*Node) error {
	return func(node *Node) error {
		mapping := node.Mapping(volume.share())
		if mapping == nil || mapping.Broken {
			return fmt.Errorf("the mapping of %s is %+v", volume.share(), mapping)
		}
		entry := node.At(volume.Stage)
		target := volume.Remote + `\`
		if entry == nil || entry.Kind != "LINK" || !strings.EqualFold(entry.Target, target) {
			return fmt.Errorf("%s is %+v, not a link to %s", volume.Stage, entry, target)
		}
		return node.ReadDir(volume.Stage)
	}
}

// linked checks that the pod's directory leads to the share.
func linked(volume *ShareVolume) func(*Node) error {
	return func(node *Node) error {
		if err := linkedTo(node, volume.Target, volume.Stage); err != nil {
			return err
		}
		return node.ReadDir(volume.Target)
	}
}

// released checks that the mapping is gone, unless the driver keeps it.
func (l *ShareLife) released(volume *ShareVolume) func(*Node) error {
	return func(node *Node) error {
		if mapping := node.Mapping(volume.share()); (mapping == nil) != l.RemovesMapping {
			return fmt.Errorf("the mapping of %s is %+v", volume.share(), mapping)
		}
		return absent(volume.Stage)(node)
	}
}
