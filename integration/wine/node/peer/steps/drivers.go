package steps

import (
	"fmt"
	"log"
	"os"
	"strings"
)

// Files are the calls of filesystem v1. A driver goes on whatever the answer of the first two is.
type Files interface {
	PathExists(path string) error
	IsSymlink(path string)
	Mkdir(path string) error
	Rmdir(path string) error
	CreateSymlink(source, target string) error
}

// NoFiles is for the Go release and its library: none of these calls of theirs asks WMI anything, and the
// node's double does not have all of them, as the removal of a mounted folder.
type NoFiles struct{}

func (NoFiles) PathExists(string) error            { return nil }
func (NoFiles) IsSymlink(string)                   {}
func (NoFiles) Mkdir(string) error                 { return nil }
func (NoFiles) Rmdir(string) error                 { return nil }
func (NoFiles) CreateSymlink(string, string) error { return nil }

// volume is a claim on its way through a driver: a disk or a share.
type volume struct {
	*run
	files Files
	disk  uint32
	// `\\host\share`; empty for a disk.
	share string
	// Without Files there are no links: then target is the same as stage.
	stage, target string
	// The volume's id on the disk, once it is known.
	id string
}

// operation is one of CSI's: what a driver calls for it.
type operation struct {
	name  string
	calls func(v *volume)
}

// driver has its operations in the order of a volume's life. Work that it does by itself, as to
// make directories, is not here.
type driver struct {
	name       string
	share      string
	operations []operation
}

var drivers = []driver{
	{name: "aws-ebs", operations: []operation{
		{"stage", func(v *volume) {
			v.listDisks()
			v.pathExists(v.stage)
			_, _ = v.node.GetVolumeIDFromTargetPath(v.stage)
			v.bringOnlineAndMount()
			v.rescan()
			v.diskSize()
			v.volumeAt(v.stage)
			v.measure()
		}},
		{"publish", (*volume).link},
		{"stats", func(v *volume) { v.pathExists(v.target) }},
		{"expand", func(v *volume) {
			v.volumeAt(v.target)
			v.diskOf()
			v.listDisks()
			v.rescan()
			v.volumeAt(v.target)
			v.resize()
			v.diskSize()
		}},
		{"unpublish", (*volume).unlink},
		{"unstage", func(v *volume) {
			v.volumeAt(v.stage)
			v.diskOf()
			v.unmountAndTakeOffline()
		}},
	}},
	{name: "gcp-pd", operations: []operation{
		{"stage", func(v *volume) {
			v.listDisks()
			v.files.IsSymlink(v.stage)
			v.diskSize()
			v.bringOnlineAndMount()
			v.volumeAt(v.stage)
			v.resize()
		}},
		{"publish", func(v *volume) {
			v.files.IsSymlink(v.target)
			v.link()
		}},
		{"stats", (*volume).stats},
		{"expand", func(v *volume) {
			v.listDisks()
			v.volumeAt(v.target)
			v.resize()
			v.diskSize()
		}},
		{"unpublish", (*volume).unlink},
		{"unstage", func(v *volume) {
			v.pathExists(v.stage)
			v.unmountAndTakeOffline()
			v.listDisks()
		}},
	}},
	{name: "azuredisk", operations: []operation{
		{"stage", func(v *volume) {
			v.rescan()
			_, err := v.node.ListDiskLocations()
			v.check("ListDiskLocations", err)
			v.pathExists(v.stage)
			v.files.IsSymlink(v.stage)
			v.partition()
			v.mountFirst()
			// The disk's number, where a volume's id is wanted: every release refuses it.
			v.check("ResizeVolume of a disk", refused(v.node.ResizeVolume(fmt.Sprint(v.disk), 0)))
		}},
		{"publish", (*volume).link},
		{"stats", (*volume).stats},
		{"expand", func(v *volume) {
			v.volumeAt(v.target)
			v.resize()
			v.measure()
		}},
		{"unpublish", (*volume).unlink},
		{"unstage", func(v *volume) {
			v.volumeAt(v.stage)
			v.check("WriteVolumeCache", v.node.WriteVolumeCache(v.id))
			v.rmdir(v.stage)
		}},
	}},
	{name: "vsphere", operations: []operation{
		{"stage", func(v *volume) {
			v.pathExists(v.stage)
			v.listDisks()
			v.bringOnlineAndMount()
		}},
		{"publish", func(v *volume) {
			v.pathExists(v.target)
			v.check("Mkdir", v.files.Mkdir(parent(v.target)))
			v.symlink()
		}},
		{"stats", (*volume).stats},
		{"expand", func(v *volume) {
			v.volumeAt(v.target)
			v.measure()
			v.rescan()
			v.diskOf()
			v.diskSize()
			v.diskOf()
			v.check("SetDiskState", v.node.SetDiskState(v.disk, true))
			v.resize()
		}},
		{"unpublish", (*volume).unlink},
		{"unstage", func(v *volume) {
			v.pathExists(v.stage)
			v.pathExists(v.stage)
			v.unmountAndTakeOffline()
		}},
	}},
	{name: "csi-driver-smb", share: `\\fileserver.example\smb`, operations: []operation{
		{"stage", (*volume).mapShare},
		{"publish", (*volume).linkShare},
		{"unpublish", (*volume).unlink},
		{"unstage", func(v *volume) {
			v.check("RemoveSmbGlobalMapping", v.node.RemoveSmbGlobalMapping(v.share))
			v.rmdir(v.stage)
		}},
	}},
	{name: "azurefile", share: `\\fileserver.example\azurefile`, operations: []operation{
		{"stage", (*volume).mapShare},
		{"publish", (*volume).linkShare},
		{"unpublish", (*volume).unlink},
		// The mapping stays.
		{"unstage", func(v *volume) { v.rmdir(v.stage) }},
	}},
}

func parent(path string) string { return path[:strings.LastIndex(path, `\`)] }

func (v *volume) listDisks() {
	_, err := v.node.ListDiskIDs()
	v.check("ListDiskIDs", err)
}

func (v *volume) rescan() { v.check("Rescan", v.node.Rescan()) }

func (v *volume) diskSize() {
	_, err := v.node.GetDiskStats(v.disk)
	v.check("GetDiskStats", err)
}

func (v *volume) partition() { v.check("PartitionDisk", v.node.PartitionDisk(v.disk)) }

func (v *volume) bringOnlineAndMount() {
	v.partition()
	v.check("SetDiskState", v.node.SetDiskState(v.disk, true))
	v.mountFirst()
}

func (v *volume) mountFirst() {
	volumes, err := v.node.ListVolumesOnDisk(v.disk, 0)
	v.check("ListVolumesOnDisk", equal(len(volumes), err, 1))
	if len(volumes) == 0 {
		return
	}
	v.id = volumes[0]
	formatted, err := v.node.IsVolumeFormatted(v.id)
	v.check("IsVolumeFormatted", equal(formatted, err, false))
	v.check("FormatVolume", v.node.FormatVolume(v.id))
	v.check("MountVolume", v.node.MountVolume(v.id, v.stage))
}

func (v *volume) volumeAt(path string) {
	id, err := v.node.GetVolumeIDFromTargetPath(path)
	v.check("GetVolumeIDFromTargetPath", equal(id, err, v.id))
}

func (v *volume) measure() {
	_, _, err := v.node.GetVolumeStats(v.id)
	v.check("GetVolumeStats", err)
}

func (v *volume) stats() {
	v.volumeAt(v.target)
	v.measure()
}

func (v *volume) diskOf() {
	disk, err := v.node.GetDiskNumberFromVolumeID(v.id)
	v.check("GetDiskNumberFromVolumeID", equal(disk, err, v.disk))
}

func (v *volume) resize() { v.check("ResizeVolume", v.node.ResizeVolume(v.id, 0)) }

func (v *volume) pathExists(path string) { v.check("PathExists", v.files.PathExists(path)) }

func (v *volume) rmdir(path string) { v.check("Rmdir", v.files.Rmdir(path)) }

func (v *volume) symlink() { v.check("CreateSymlink", v.files.CreateSymlink(v.stage, v.target)) }

// link is how most publish a disk: nothing is there yet.
func (v *volume) link() {
	v.pathExists(v.target)
	v.pathExists(v.target)
	v.symlink()
}

func (v *volume) unlink() { v.rmdir(v.target) }

func (v *volume) unmountAndTakeOffline() {
	v.volumeAt(v.stage)
	v.check("UnmountVolume", v.node.UnmountVolume(v.id, v.stage))
	v.rmdir(v.stage)
	v.diskOf()
	v.check("SetDiskState", v.node.SetDiskState(v.disk, false))
}

func (v *volume) mapShare() {
	v.pathExists(v.stage)
	v.files.IsSymlink(v.stage)
	v.pathExists(v.stage)
	v.rmdir(v.stage)
	v.pathExists(parent(v.stage))
	v.check("NewSmbGlobalMapping", v.node.NewSmbGlobalMapping(v.share, v.stage, `EXAMPLE\storage`, "correct horse"))
}

func (v *volume) linkShare() {
	v.pathExists(v.target)
	v.makeDirectory(v.target)
	v.pathExists(v.target)
	v.rmdir(v.target)
	v.symlink()
}

// makeDirectory is the kubelet's, or the driver's own.
func (v *volume) makeDirectory(path string) { v.check("MakeDirectory", makeDirectory(path)) }

// newVolume is attached to the node, and the kubelet has made what it makes.
func (r *run) newVolume(d driver, files Files, round int) *volume {
	v := &volume{run: r, files: files, share: d.share}
	name := fmt.Sprintf("%s-%d", d.name, round)
	v.stage = `c:\var\lib\kubelet\plugins\kubernetes.io\csi\` + name + `\globalmount`
	v.target = `c:\var\lib\kubelet\pods\` + name + `\volumes\kubernetes.io~csi\pvc\mount`
	if files == (NoFiles{}) {
		v.target = v.stage
	}
	v.makeDirectory(parent(v.stage))
	v.makeDirectory(parent(v.target))
	switch {
	case v.share != "":
		v.share += fmt.Sprint(round)
		v.check("AddShare", addShare(v.share))
	default:
		v.disk = 1
		v.makeDirectory(v.stage)
		v.check("AttachDisk", attachDisk(v.disk, diskSize, name))
	}
	if v.share != "" && files != (NoFiles{}) {
		v.makeDirectory(v.stage)
	}
	return v
}

// Drivers leads the node through the life of a volume of each driver, twice: when the second comes, whoever
// serves the node has made all the connections that it keeps. The record of the second round is
// marked with the driver and the operation. Prints how many calls there were, and exits.
func Drivers(name string, node Node, files Files) {
	record, err := os.OpenFile(os.Getenv("CSI_PROXY_DOUBLE_RECORD"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	r := &run{node: node}
	// The first question to WMI makes the node.
	r.check("Rescan", node.Rescan())
	for round := range 2 {
		for _, d := range drivers {
			v := r.newVolume(d, files, round)
			for _, operation := range d.operations {
				if operation.name == "expand" {
					r.check("GrowDisk", growDisk(v.disk, 2*diskSize))
				}
				if round == 1 {
					fmt.Fprintf(record, "operation\t%s\t%s\t\t\n", d.name, operation.name)
				}
				operation.calls(v)
				fmt.Fprint(record, "operation\t\t\t\t\n")
			}
			if v.share == "" {
				r.check("DetachDisk", detachDisk(v.disk))
			}
		}
	}
	r.exit(name)
}
