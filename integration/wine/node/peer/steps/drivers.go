package steps

import (
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"csi-proxy.example/drivers/orders"
)

// NoFiles is for the Go release and its library: none of these calls of theirs asks WMI anything, and the
// node's double does not have all of them, as the removal of a mounted folder.
type NoFiles struct{}

func (NoFiles) PathExists(string) (bool, error)    { return true, nil }
func (NoFiles) IsSymlink(string) (bool, error)     { return false, nil }
func (NoFiles) Mkdir(string) error                 { return nil }
func (NoFiles) Rmdir(string) error                 { return nil }
func (NoFiles) CreateSymlink(string, string) error { return nil }

// volume is a claim on its way through a driver: a disk or a share.
type volume struct {
	Node
	orders.Files
	// The cloud's, or `\\host\share`.
	id string
	// Without Files there are no links, and target is the same as stage.
	stage, target string
	// The operation that the driver is in.
	operation string
}

// operation is one of CSI's: what a driver calls for it.
type operation struct {
	name string
	call func() error
}

// disks are the drivers of disks. The staging of azuredisk ends with a call that every release refuses, when the
// disk is mounted already.
var disks = []struct {
	name         string
	made         func(v *volume) orders.Driver
	stageRefused bool
}{
	{name: "aws-ebs", made: func(v *volume) orders.Driver {
		return orders.AWSEBS{
			Node:       v,
			NotMounted: func(error) bool { return v.operation == "stage" },
			Measure:    func(string) (total, used int64, err error) { return 0, 0, nil },
		}
	}},
	{name: "gcp-pd", made: func(v *volume) orders.Driver { return orders.GCPPD{Node: v} }},
	{name: "azuredisk", made: func(v *volume) orders.Driver {
		v.id = fmt.Sprint(disk)
		return orders.AzureDisk{AzureNode: v}
	}, stageRefused: true},
	{name: "vsphere", made: func(v *volume) orders.Driver {
		nothing := func(string) (mounted, readable bool, err error) { return false, false, nil }
		return orders.VSphere{Node: v, Look: nothing, Always: true}
	}},
}

func parent(path string) string { return path[:strings.LastIndex(path, `\`)] }

// newVolume is for a driver; the kubelet has made what it makes of either kind.
func (l *lead) newVolume(name string) *volume {
	name = fmt.Sprintf("%s-%d", name, l.round)
	v := &volume{Node: l.node, Files: l.files, id: strings.ReplaceAll(name, "-", "")}
	v.stage = `c:\var\lib\kubelet\plugins\kubernetes.io\csi\` + name + `\globalmount`
	v.target = `c:\var\lib\kubelet\pods\` + name + `\volumes\kubernetes.io~csi\pvc\mount`
	if l.files == (NoFiles{}) {
		v.target = v.stage
	}
	l.check("MakeDirectory", makeDirectory(parent(v.stage)))
	l.check("MakeDirectory", makeDirectory(parent(v.target)))
	return v
}

// lead is a round.
type lead struct {
	*run
	files orders.Files
	round int
	// marks gets a line at the begin of each operation, for the record.
	marks io.Writer
}

func (l *lead) operations(driver string, v *volume, operations ...operation) {
	for _, o := range operations {
		v.operation = o.name
		fmt.Fprintf(l.marks, "operation\t%s\t%s\t\t\n", driver, o.name)
		err := o.call()
		fmt.Fprint(l.marks, "operation\t\t\t\t\n")
		l.check(driver+", "+o.name, err)
	}
}

// gone: nothing is left where a volume was staged.
func (l *lead) gone(v *volume) {
	exists, err := v.PathExists(v.stage)
	l.check("PathExists", equal(exists, err, l.files == NoFiles{}))
}

func (l *lead) disks() {
	for _, d := range disks {
		v := l.newVolume(d.name)
		l.check("MakeDirectory", makeDirectory(v.stage))
		l.check("AttachDisk", attachDisk(disk, diskSize, v.id))
		driver := d.made(v)
		l.operations(d.name, v, operation{"stage", func() error {
			err := driver.Stage(v.id, v.stage)
			if d.stageRefused {
				err = refused(err)
			}
			return err
		}})
		id, err := v.GetVolumeIDFromTargetPath(v.stage)
		l.check("GetVolumeIDFromTargetPath", err)
		number, err := v.GetDiskNumberFromVolumeID(id)
		l.check("GetDiskNumberFromVolumeID", equal(number, err, disk))
		l.operations(d.name, v,
			operation{"publish", func() error { return driver.Publish(v.stage, v.target) }},
			operation{"stats", func() error {
				_, _, err := driver.Stats(v.target)
				return err
			}})
		l.check("GrowDisk", growDisk(disk, 2*diskSize))
		// azuredisk, which asks for no rescan, is content with what the Go release sees without one: the old size.
		l.operations(d.name, v,
			operation{"expand", func() error { return driver.Expand(v.id, v.target, diskSize) }},
			operation{"unpublish", func() error { return driver.Unpublish(v.target) }},
			operation{"unstage", func() error { return driver.Unstage(v.stage) }})
		l.gone(v)
		l.check("DetachDisk", detachDisk(disk))
	}
}

func (l *lead) shares() {
	for _, name := range []string{"csi-driver-smb", "azurefile"} {
		v := l.newVolume(name)
		v.id = `\\fileserver.example\` + v.id
		l.check("AddShare", addShare(v.id))
		mkdir := makeDirectory
		if l.files == (NoFiles{}) {
			mkdir = func(string) error { return nil }
		}
		l.check("MakeDirectory", mkdir(v.stage))
		driver := &orders.SMB{
			ShareNode:    v,
			KeepsMapping: name == "azurefile",
			ReadDir:      func(string) error { return nil },
			MkdirAll:     mkdir,
			Readlink:     func(string) (string, error) { return v.id, nil },
		}
		l.operations(name, v,
			operation{"stage", func() error { return driver.Stage(v.id, v.stage, `EXAMPLE\storage`, "correct horse") }},
			operation{"publish", func() error { return driver.Publish(v.stage, v.target) }},
			operation{"unpublish", func() error { return driver.Unpublish(v.target) }},
			operation{"unstage", func() error { return driver.Unstage(v.stage) }})
		l.gone(v)
	}
}

// Drivers leads the node through the life of a volume of each driver, in the order of drivers/orders, twice: when the
// second comes, whoever serves the node has made all the connections that it keeps. What is recorded of that is
// marked with the driver and the operation. Prints how many steps there were, and exits.
func Drivers(name string, node Node, files orders.Files) {
	record, err := os.OpenFile(os.Getenv("CSI_PROXY_DOUBLE_RECORD"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	r := &run{node: node}
	// The first question to WMI makes the node.
	r.check("Rescan", node.Rescan())
	for round, marks := range []io.Writer{io.Discard, record} {
		l := &lead{r, files, round, marks}
		l.disks()
		l.shares()
	}
	r.exit(name)
}
