package steps

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// gib is a GiB, the unit in which clouds sell disks.
const gib = 1 << 30

// BlockVolume is a cloud's volume that is attached to the node as a disk.
type BlockVolume struct {
	// The cluster's name for the volume.
	Name string
	// The cloud's name or location of the attached volume, from Block.Identify.
	ID        string
	SizeBytes uint64
	// The number of the attached disk.
	Disk uint32
	// The paths in the form in which the kubelet passes them to a driver: without a drive.
	Stage, Target string
}

// Block is a driver's node server for volumes that are disks. Each rpc of CSI makes its calls in the driver's
// order.
type Block interface {
	// Identify returns the name or location by which the cloud's controller describes the disk to the driver.
	Identify(disk *Disk) string
	// Find finds the disk's number, which is a part of staging.
	Find(volume *BlockVolume) (uint32, error)
	NodeStage(volume *BlockVolume) error
	NodePublish(volume *BlockVolume) error
	NodeStats(volume *BlockVolume) (total, used int64, err error)
	// NodeExpand is called with the volume's publish path, as by the kubelet.
	NodeExpand(volume *BlockVolume) error
	NodeUnpublish(volume *BlockVolume) error
	NodeUnstage(volume *BlockVolume) error
}

// DiskNumber parses the number of a driver that returns it as text.
func DiskNumber(text string, err error) (uint32, error) {
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseUint(text, 10, 32)
	return uint32(number), err
}

// BlockTraits are differences between drivers apart from their calls.
type BlockTraits struct {
	// The driver takes the disk offline when it unstages.
	TakesOffline bool
	// How often the kubelet calls NodeStage for a new volume until it succeeds; 0 means 1.
	StageAttempts int
	// The driver treats a volume as unstaged once no existing volume is mounted, and leaves the directory to the
	// kubelet.
	LeavesFolder bool
	// The driver always fails to unstage a volume that is unmounted but whose directory still exists.
	FailsOnceUnmounted bool
}

// BlockLife takes a driver's volumes through all stages of their lives.
type BlockLife struct {
	*Run
	Driver Block
	Traits BlockTraits
	mutex  sync.Mutex
	// More, if set, tests what only this driver meets on its first node.
	More func()
	made uint32
}

// newVolume returns a volume with a new name.
func (l *BlockLife) newVolume() *BlockVolume {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.made++
	name := fmt.Sprintf("0a1b2c3d4e5f6%04x", l.made)
	return &BlockVolume{
		Name: name, SizeBytes: 10 * gib,
		Stage:  fmt.Sprintf(`\var\lib\kubelet\plugins\kubernetes.io\csi\%s\%s\globalmount`, l.Run.driver, name),
		Target: fmt.Sprintf(`\var\lib\kubelet\pods\%s\volumes\kubernetes.io~csi\pvc-%s\mount`, name, name),
	}
}

// order attaches a disk, as the cloud does. Windows sees the disk some time later. `as` overrides fields of the
// node's Disk.
func (l *BlockLife) order(volume *BlockVolume, as map[string]any) error {
	disk := map[string]any{"size_bytes": fmt.Sprint(volume.SizeBytes)}
	for field, value := range as {
		disk[field] = value
	}
	out, err := l.invokeJSON("AttachDisk", map[string]any{"choose_number": true, "disk": disk})
	if err != nil {
		return err
	}
	volume.Disk = uint32(out.Get(out.Descriptor().Fields().ByName("disk_number")).Uint())
	return l.Then(func(node *Node) error {
		volume.ID = l.Driver.Identify(node.FindDisk(volume.Disk))
		return nil
	})
}

// attach attaches a disk and waits until Windows sees it.
func (l *BlockLife) attach(volume *BlockVolume, as map[string]any) error {
	if err := l.order(volume, as); err != nil {
		return err
	}
	return until(func() error {
		return l.Then(func(node *Node) error {
			if node.FindDisk(volume.Disk).Arriving {
				return fmt.Errorf("disk %d is still to come", volume.Disk)
			}
			return nil
		})
	})
}

// detach detaches the disk, as the cloud does.
func (l *BlockLife) detach(volume *BlockVolume) error {
	return l.Call("DetachDisk", map[string]any{"disk_number": volume.Disk})
}

// grow grows the disk, as the cloud does; Windows has yet to notice. It does nothing on a machine, whose
// virtual disks cannot grow while attached.
func (l *BlockLife) grow(volume *BlockVolume, bytes uint64) error {
	if l.OnMachine() {
		return nil
	}
	volume.SizeBytes += bytes
	return l.Call("GrowDisk", map[string]any{"disk_number": volume.Disk, "size_bytes": fmt.Sprint(volume.SizeBytes)})
}

// stage creates the directory and calls the driver repeatedly, like the kubelet's MountDevice.
func (l *BlockLife) stage(volume *BlockVolume) error {
	if err := l.MakeDirectory(volume.Stage); err != nil {
		return err
	}
	return repeat(max(1, l.Traits.StageAttempts), func() error { return l.Driver.NodeStage(volume) })
}

// publish creates the parent directory and calls the driver, like the kubelet's SetUp.
func (l *BlockLife) publish(volume *BlockVolume) error {
	if err := l.MakeDirectory(volume.Target[:strings.LastIndex(volume.Target, `\`)]); err != nil {
		return err
	}
	return l.Driver.NodePublish(volume)
}

// unstageAgain calls NodeUnstage until it succeeds and then removes the directory, like the kubelet. If the
// driver never succeeds, it removes the directory like an administrator.
func (l *BlockLife) unstageAgain(volume *BlockVolume) error {
	unstage := func() error { return l.Driver.NodeUnstage(volume) }
	remove := func() error { return l.Call("RemoveFolder", map[string]any{"path": Normalize(volume.Stage)}) }
	left := func() bool { return l.Then(absent(volume.Stage)) != nil }
	err := repeat(3, unstage)
	switch {
	case err == nil && l.Traits.LeavesFolder && left():
		return remove()
	case err != nil && l.Traits.FailsOnceUnmounted && l.Then(unmounted(volume.Stage)) == nil:
		return inTurn(remove, unstage)
	}
	return err
}

// unmounted checks that the directory exists and nothing is mounted there.
func unmounted(stage string) func(*Node) error {
	return func(node *Node) error {
		entry := node.At(stage)
		if entry == nil || entry.Kind != "" || entry.MountedVolumeID != "" {
			return fmt.Errorf("%s is %+v, not a directory", stage, entry)
		}
		return nil
	}
}

// staged checks that the disk is usable and that its one volume is formatted and mounted at the staging path.
func staged(volume *BlockVolume) func(*Node) error {
	return func(node *Node) error {
		return mountedAt(node, node.FindDisk(volume.Disk), volume.Stage)
	}
}

func mountedAt(node *Node, disk *Disk, path string) error {
	if disk == nil || disk.Offline || disk.ReadOnly || disk.Style != "GPT" {
		return fmt.Errorf("the volume's disk is %+v", disk)
	}
	data, err := disk.Data()
	if err != nil {
		return err
	}
	if data.Volume.FileSystem != "NTFS" {
		return fmt.Errorf("the volume has the file system %q", data.Volume.FileSystem)
	}
	entry := node.At(path)
	if entry == nil || entry.Dangling || entry.MountedVolumeID != data.Volume.ID {
		return fmt.Errorf("%s is %+v, not the mounted %s", path, entry, data.Volume.ID)
	}
	return nil
}

// published checks that the pod's directory leads to the volume.
func published(volume *BlockVolume) func(*Node) error {
	return func(node *Node) error { return linkedTo(node, volume.Target, volume.Stage) }
}

func linkedTo(node *Node, link, to string) error {
	entry := node.At(link)
	if entry == nil || entry.Kind != "LINK" || !strings.EqualFold(strings.TrimSuffix(entry.Target, `\`), Normalize(to)) {
		return fmt.Errorf("%s is %+v, not a link to %s", link, entry, to)
	}
	return nil
}

// absent checks that nothing exists at the path.
func absent(path string) func(*Node) error {
	return func(node *Node) error {
		if entry := node.At(path); entry != nil {
			return fmt.Errorf("%s is still there: %+v", path, entry)
		}
		return nil
	}
}

// resting checks that the disk is as the driver leaves it, with its data.
func (l *BlockLife) resting(volume *BlockVolume) func(*Node) error {
	return func(node *Node) error {
		disk := node.FindDisk(volume.Disk)
		if disk == nil || disk.Offline != l.Traits.TakesOffline {
			return fmt.Errorf("disk %d is %+v", volume.Disk, disk)
		}
		_, err := disk.Data()
		return err
	}
}

// filled checks that the volume covers its disk, except for the space around it.
func filled(volume *BlockVolume) func(*Node) error {
	return func(node *Node) error {
		data, err := node.FindDisk(volume.Disk).Data()
		if err == nil && data.SizeBytes+32<<20 < volume.SizeBytes {
			err = fmt.Errorf("the volume has %d bytes of the disk's %d", data.SizeBytes, volume.SizeBytes)
		}
		return err
	}
}

// keeps checks that the file a pod wrote is on the volume.
func keeps(volume *BlockVolume, name string) func(*Node) error {
	return func(node *Node) error {
		return holds(node.FindDisk(volume.Disk), name)
	}
}

func holds(disk *Disk, name string) error {
	data, err := disk.Data()
	if err != nil {
		return err
	}
	if !has(data.Volume.Files, name) {
		return fmt.Errorf("%s is gone from %s", name, data.Volume.ID)
	}
	return nil
}
