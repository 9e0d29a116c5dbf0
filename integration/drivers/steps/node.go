package steps

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/csi-proxy/csi-proxy/client/go/csiproxytest/v2"
)

// Node is a dump of the node (server/simulator/node.proto).
type Node struct {
	csiproxytest.State
	Disk  []Disk     `json:"disk"`
	Fault []struct{} `json:"fault"`

	// The disks with all their fields.
	whole struct {
		Disk []map[string]any `json:"disk"`
	}
}

// Disk has fields that csiproxytest leaves out.
type Disk struct {
	csiproxytest.Disk
	LUN      uint32 `json:"lun"`
	EUI      string `json:"eui"`
	Arriving bool   `json:"arriving"`
}

// FindDisk returns the disk with that number, or nil.
func (n *Node) FindDisk(number uint32) *Disk {
	for i := range n.Disk {
		if n.Disk[i].Number == number {
			return &n.Disk[i]
		}
	}
	return nil
}

// Data returns a disk's only data partition, which must hold a volume.
func (d *Disk) Data() (*csiproxytest.Partition, error) {
	var data *csiproxytest.Partition
	for i := range d.Partitions {
		if d.Partitions[i].Type != "" {
			continue
		}
		if data != nil {
			return nil, fmt.Errorf("disk %d has two partitions for data", d.Number)
		}
		data = &d.Partitions[i]
	}
	if data == nil || data.Volume == nil {
		return nil, fmt.Errorf("disk %d has no volume", d.Number)
	}
	return data, nil
}

// has returns true if a listing has an entry at the path or below it.
func has(files []csiproxytest.File, path string) bool {
	return slices.ContainsFunc(files, func(file csiproxytest.File) bool {
		return strings.HasPrefix(strings.ToLower(file.Path)+`\`, strings.ToLower(path)+`\`)
	})
}

// others describes each disk, by number, without the entries below the kubelet's directory.
func (n *Node) others() map[uint32]string {
	others := map[uint32]string{}
	for i, disk := range n.whole.Disk {
		partitions, _ := disk["partition"].([]any)
		for _, partition := range partitions {
			volume, _ := partition.(map[string]any)["volume"].(map[string]any)
			files, _ := volume["file"].([]any)
			files = slices.DeleteFunc(files, func(file any) bool {
				path, _ := file.(map[string]any)["path"].(string)
				return strings.HasPrefix(strings.ToLower(path), `var\lib\kubelet`)
			})
			if volume != nil {
				volume["file"] = files
			}
		}
		text, _ := json.Marshal(disk)
		others[n.Disk[i].Number] = string(text)
	}
	return others
}

// Normalize is the drivers' normalizeWindowsPath.
func Normalize(path string) string {
	path = strings.ReplaceAll(path, "/", `\`)
	if strings.HasPrefix(path, `\`) {
		path = "c:" + path
	}
	return path
}

// ReadDir does what os.ReadDir does on the node: it fails unless the path leads to a directory, through links,
// mounted folders and mappings. The drivers' own call would read Wine's drive.
func (n *Node) ReadDir(path string) error {
	for range 8 {
		entry := n.At(path)
		switch {
		case entry == nil || entry.MountedVolumeID != "" && n.Volume(entry.MountedVolumeID) == nil:
			return fmt.Errorf("%s: The system cannot find the path specified.", path)
		case entry.Kind == "":
			return nil
		case strings.HasPrefix(entry.Target, `\\`):
			return n.readShare(entry.Target)
		}
		path = entry.Target
	}
	return fmt.Errorf("%s: too many links", path)
}

// readShare looks up `\\host\share[\directory]` on its server.
func (n *Node) readShare(remote string) error {
	parts := strings.SplitN(strings.Trim(remote, `\`), `\`, 3)
	for _, server := range n.SMBServers {
		if !strings.EqualFold(server.Name, parts[0]) {
			continue
		}
		mapping := n.Mapping(`\\` + parts[0] + `\` + parts[1])
		if server.Unreachable || mapping == nil || mapping.Broken {
			break
		}
		for _, share := range server.Shares {
			if !strings.EqualFold(share.Name, parts[1]) {
				continue
			}
			if len(parts) < 3 || has(share.Files, parts[2]) {
				return nil
			}
		}
	}
	return fmt.Errorf("%s: The network path was not found.", remote)
}
