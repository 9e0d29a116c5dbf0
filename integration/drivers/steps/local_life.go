package steps

import (
	"errors"
	"fmt"
	"strings"
)

// Local is a provisioner of volumes that a node has anyway: an administrator mounts them, and links to them
// from a directory where the provisioner looks.
type Local interface {
	// Discover is the size of the volume behind an entry of the directory.
	Discover(path string) (int64, error)
	DeleteContents(path string) error
}

// LocalLife takes a provisioner through all that happens to an entry.
type LocalLife struct {
	*Run
	Driver Local
}

// Both are outside of the kubelet's directory, below the service's second working directory.
const (
	LocalRoot      = `C:\local`
	localVolume    = `C:\local\volumes\one`
	localDirectory = `C:\local\discovery`
	localEntry     = localDirectory + `\one`
)

// All takes all steps on each of the driver's nodes.
func (l *LocalLife) All(driver, version string) {
	flags := ServiceFlags
	defer func() { ServiceFlags = flags }()
	l.onNodes(driver, version, func(bool) {
		ServiceFlags = append(flags[:len(flags):len(flags)], "--working-dir="+LocalRoot)
		l.life()
		l.notVolumes()
		ServiceFlags = flags
		l.unknownDirectory()
	})
}

// fresh begins anew with the cloud's node, an administrator's disk with data, mounted, and the link to it.
func (l *LocalLife) fresh() {
	l.Scenario(l.node, func() error {
		err := l.Call("AttachDisk", map[string]any{"choose_number": true, "disk": map[string]any{
			"size_bytes": "10737418240", "style": "GPT",
			"partition": []map[string]any{{"type": "MICROSOFT_RESERVED", "size_bytes": "16777216"}, {
				"size_bytes": "10000000000", "volume": map[string]any{
					"id": `\\?\Volume{11111111-2222-4333-8444-555555555555}\`, "file_system": "NTFS",
					"file": []map[string]any{{"path": "old.txt", "kind": "FILE", "size_bytes": "4096"}}}}}}})
		if err != nil {
			return err
		}
		// As mountvol leaves it.
		return inTurn(
			func() error { return until(func() error { return l.Then(arrived) }) },
			func() error {
				_, scenario, err := l.Dump()
				if err != nil {
					return err
				}
				mounted := `drive_letter:"C" file { path: "local\\volumes\\one" mounted_volume_id: ` +
					`"\\\\?\\Volume{11111111-2222-4333-8444-555555555555}\\" } `
				changed := strings.Replace(scenario, `drive_letter:"C"`, mounted, 1)
				if changed == scenario {
					return errors.New("the node has no drive C")
				}
				return l.Start(changed)
			},
			l.reachable,
			func() error { return l.Call("MakeDirectory", map[string]any{"path": localDirectory + `\plain`}) },
			func() error { return l.link(localEntry, localVolume) },
			// An administrator's mistakes.
			func() error { return l.link(localDirectory+`\to_directory`, localDirectory+`\plain`) },
			func() error { return l.link(localDirectory+`\to_drive`, `C:\`) },
			func() error { return l.link(localDirectory+`\to_nothing`, `C:\local\volumes\none`) },
		)
	})
}

func (l *LocalLife) link(path, to string) error {
	return l.Call("MakeLink", map[string]any{"path": path, "target": to})
}

// localDisk is the administrator's.
func localDisk(node *Node) (*Disk, error) {
	for i := range node.Disk {
		if data, err := node.Disk[i].Data(); err == nil && strings.Contains(data.Volume.ID, "11111111-2222") {
			return &node.Disk[i], nil
		}
	}
	return nil, errors.New("the administrator's disk is not there")
}

func arrived(node *Node) error {
	disk, err := localDisk(node)
	if err == nil && disk.Arriving {
		err = errors.New("the administrator's disk is still to come")
	}
	return err
}

// ready: the volume is mounted and linked; `files` tells how many it has.
func ready(files int) func(*Node) error {
	return func(node *Node) error {
		disk, err := localDisk(node)
		if err != nil {
			return err
		}
		if err := inTurn(func() error { return mountedAt(node, disk, localVolume) },
			func() error { return linkedTo(node, localEntry, localVolume) }); err != nil {
			return err
		}
		data, err := disk.Data()
		if err == nil && len(data.Volume.File) != files {
			err = fmt.Errorf("the volume has %+v", data.Volume.File)
		}
		return err
	}
}

func (l *LocalLife) discovered() error {
	total, err := l.Driver.Discover(localEntry)
	if err != nil {
		return err
	}
	return l.Then(func(node *Node) error {
		disk, err := localDisk(node)
		if err != nil {
			return err
		}
		if data, err := disk.Data(); err != nil || total != int64(data.SizeBytes) {
			return fmt.Errorf("%d bytes of a volume of %+v: %w", total, data, err)
		}
		return nil
	})
}

func (l *LocalLife) life() {
	l.fresh()
	l.Step("the administrator's disk is the one that may change", func() error {
		return l.Then(func(node *Node) error {
			disk, err := localDisk(node)
			if err == nil {
				delete(l.before, disk.Number)
			}
			return err
		})
	})
	l.Step("discover", func() error { return l.verified(l.discovered(), ready(1)) })
	l.Step("discover again", func() error { return l.verified(l.discovered(), ready(1)) })
	l.Step("the pod writes", func() error {
		return l.verified(l.write(localEntry, "pod.txt"), ready(2))
	})
	l.Step("delete: the volume is formatted, and stays mounted and linked", func() error {
		return l.verified(l.Driver.DeleteContents(localEntry), ready(0))
	})
	l.Step("delete what is empty", func() error { return l.verified(l.Driver.DeleteContents(localEntry), ready(0)) })
	l.Step("discover what was deleted", func() error { return l.verified(l.discovered(), ready(0)) })
	l.Step("discover after a reboot", func() error {
		return inTurn(l.Reboot, l.reachable, func() error { return l.verified(l.discovered(), ready(0)) })
	})
}

// notVolumes are entries of the directory that an administrator made by mistake; none of them may be formatted.
func (l *LocalLife) notVolumes() {
	l.fresh()
	refused := func(name, path string) {
		l.Step("neither discover nor delete "+name, func() error {
			if _, err := l.Driver.Discover(path); err == nil {
				return errors.New("it was discovered")
			}
			if err := l.Driver.DeleteContents(path); err == nil {
				return errors.New("it was deleted")
			}
			return l.Then(ready(1))
		})
	}
	refused("a directory", localDirectory+`\plain`)
	refused("nothing", localDirectory+`\none`)
	refused("a link to a directory of drive C", localDirectory+`\to_directory`)
	refused("a link to drive C", localDirectory+`\to_drive`)
	refused("a link to nothing", localDirectory+`\to_nothing`)
}

// unknownDirectory is a service that was not told of the directory.
func (l *LocalLife) unknownDirectory() {
	l.fresh()
	l.Step("neither discover nor delete without -working-dir", func() error {
		if _, err := l.Driver.Discover(localEntry); err == nil {
			return errors.New("it was discovered")
		}
		if err := l.Driver.DeleteContents(localEntry); err == nil {
			return errors.New("it was deleted")
		}
		return l.Then(ready(1))
	})
}
