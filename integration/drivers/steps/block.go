package steps

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// gib is a GiB, in which the clouds sell disks.
const gib = 1 << 30

// BlockVolume is a cloud's volume, attached to the node as a disk, and where the kubelet wants it.
type BlockVolume struct {
	// The cluster's name for it.
	Name string
	// The cloud's own name or place of the attached volume, from Block.Identify.
	ID        string
	SizeBytes uint64
	// The number of the disk that is attached.
	Disk uint32
	// As the kubelet passes them to a driver: without a drive.
	Stage, Target string
}

// Block is a driver's node server for volumes that are disks: what is behind each rpc of CSI, in the
// driver's own order of calls.
type Block interface {
	// Identify is the name or the place by which the cloud's controller tells the driver of this disk.
	Identify(disk *Disk) string
	// Find is the part of staging that finds the disk's number.
	Find(volume *BlockVolume) (uint32, error)
	NodeStage(volume *BlockVolume) error
	NodePublish(volume *BlockVolume) error
	NodeStats(volume *BlockVolume) (total, used int64, err error)
	// NodeExpand is called with the volume's path of publishing, as the kubelet does.
	NodeExpand(volume *BlockVolume) error
	NodeUnpublish(volume *BlockVolume) error
	NodeUnstage(volume *BlockVolume) error
}

// DiskNumber is of a driver that has the number as text.
func DiskNumber(text string, err error) (uint32, error) {
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseUint(text, 10, 32)
	return uint32(number), err
}

// BlockTraits is how drivers differ beyond what they call.
type BlockTraits struct {
	// It takes the disk offline when it unstages.
	TakesOffline bool
	// The number of NodeStage calls that the kubelet makes for a new volume until one succeeds; 0 is
	// 1.
	StageAttempts int
	// It takes a volume for unstaged once nothing, or nothing that there is, is mounted, and leaves the
	// directory to the kubelet.
	LeavesFolder bool
	// It fails to unstage once the volume is unmounted and its directory is still there, however often it is
	// called.
	FailsOnceUnmounted bool
}

// BlockLife takes a driver's volumes through all that happens to one.
type BlockLife struct {
	*Run
	Driver Block
	Traits BlockTraits
	mutex  sync.Mutex
	// More, if set, is what else the driver meets on its first node.
	More func()
	made uint32
}

// newVolume names one more volume.
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

// order is the cloud's part: it attaches a disk as it does on this node, and Windows sees the disk some time
// later; `as` are fields of the node's Disk that are otherwise.
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

// attach waits until Windows sees the disk.
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

// detach is the cloud's part as well.
func (l *BlockLife) detach(volume *BlockVolume) error {
	return l.Call("DetachDisk", map[string]any{"disk_number": volume.Disk})
}

// grow is the cloud's: Windows has yet to notice. A virtual disk of a machine does not grow while it is attached.
func (l *BlockLife) grow(volume *BlockVolume, bytes uint64) error {
	if l.OnMachine() {
		return nil
	}
	volume.SizeBytes += bytes
	return l.Call("GrowDisk", map[string]any{"disk_number": volume.Disk, "size_bytes": fmt.Sprint(volume.SizeBytes)})
}

// stage is the kubelet's MountDevice: it makes the directory, then calls the driver, again and again.
func (l *BlockLife) stage(volume *BlockVolume) error {
	if err := l.MakeDirectory(volume.Stage); err != nil {
		return err
	}
	return repeat(max(1, l.Traits.StageAttempts), func() error { return l.Driver.NodeStage(volume) })
}

// publish is the kubelet's SetUp.
func (l *BlockLife) publish(volume *BlockVolume) error {
	if err := l.MakeDirectory(volume.Target[:strings.LastIndex(volume.Target, `\`)]); err != nil {
		return err
	}
	return l.Driver.NodePublish(volume)
}

// unstageAgain is a kubelet that calls NodeUnstage until it succeeds and then removes the directory, and an
// administrator who removes it when it never does.
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

// unmounted: the directory is there, and nothing is mounted.
func unmounted(stage string) func(*Node) error {
	return func(node *Node) error {
		entry, exists := node.At(stage)
		if !exists || entry == nil || entry.Kind != "" || entry.MountedVolumeID != "" {
			return fmt.Errorf("%s is %+v, not a directory", stage, entry)
		}
		return nil
	}
}

// staged: the disk is usable, its one volume is formatted and mounted where it should be.
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
	entry, _ := node.At(path)
	if entry == nil || entry.Dangling || entry.MountedVolumeID != data.Volume.ID {
		return fmt.Errorf("%s is %+v, not the mounted %s", path, entry, data.Volume.ID)
	}
	return nil
}

// published: the pod's directory leads to the volume.
func published(volume *BlockVolume) func(*Node) error {
	return func(node *Node) error { return linkedTo(node, volume.Target, volume.Stage) }
}

func linkedTo(node *Node, link, to string) error {
	entry, _ := node.At(link)
	if entry == nil || entry.Kind != "LINK" || !strings.EqualFold(strings.TrimSuffix(entry.Target, `\`), Normalize(to)) {
		return fmt.Errorf("%s is %+v, not a link to %s", link, entry, to)
	}
	return nil
}

// absent: nothing is at the path, and whatever was mounted there is not.
func absent(path string) func(*Node) error {
	return func(node *Node) error {
		if entry, exists := node.At(path); exists {
			return fmt.Errorf("%s is still there: %+v", path, entry)
		}
		return nil
	}
}

// resting: the disk is as the driver leaves it, with its data.
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

// filled: the volume covers its disk, but for what lies around it.
func filled(volume *BlockVolume) func(*Node) error {
	return func(node *Node) error {
		data, err := node.FindDisk(volume.Disk).Data()
		if err == nil && data.SizeBytes+32<<20 < volume.SizeBytes {
			err = fmt.Errorf("the volume has %d bytes of the disk's %d", data.SizeBytes, volume.SizeBytes)
		}
		return err
	}
}

// keeps: what a pod wrote is on the volume.
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
	if entry, _ := has(data.Volume.File, name); entry == nil {
		return fmt.Errorf("%s is gone from %s", name, data.Volume.ID)
	}
	return nil
}
