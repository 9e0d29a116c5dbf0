package steps

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Node is the part of server/simulator/node.proto that the steps examine.
type Node struct {
	Disk       []Disk       `json:"disk"`
	SmbServer  []SmbServer  `json:"smb_server"`
	SmbMapping []SmbMapping `json:"smb_mapping"`
	Fault      []struct{}   `json:"fault"`

	// The disks with all their fields.
	whole struct {
		Disk []map[string]any `json:"disk"`
	}
}

type Disk struct {
	Number       uint32      `json:"number"`
	SizeBytes    uint64      `json:"size_bytes,string"`
	Location     string      `json:"location"`
	LUN          uint32      `json:"lun"`
	Page83       string      `json:"page83"`
	SerialNumber string      `json:"serial_number"`
	EUI          string      `json:"eui"`
	Style        string      `json:"style"`
	Offline      bool        `json:"offline"`
	ReadOnly     bool        `json:"read_only"`
	Arriving     bool        `json:"arriving"`
	Partition    []Partition `json:"partition"`
}

type Partition struct {
	Type      string  `json:"type"`
	SizeBytes uint64  `json:"size_bytes,string"`
	Volume    *Volume `json:"volume"`
}

type Volume struct {
	ID          string `json:"id"`
	FileSystem  string `json:"file_system"`
	DriveLetter string `json:"drive_letter"`
	File        []File `json:"file"`
}

// File is an entry of a volume or share. Kind is empty for a directory.
type File struct {
	Path            string `json:"path"`
	Kind            string `json:"kind"`
	Target          string `json:"target"`
	MountedVolumeID string `json:"mounted_volume_id"`
	Dangling        bool   `json:"dangling"`
}

type SmbServer struct {
	Name        string `json:"name"`
	Unreachable bool   `json:"unreachable"`
	Share       []struct {
		Name string `json:"name"`
		File []File `json:"file"`
	} `json:"share"`
}

// SmbMapping is a global mapping of the node.
type SmbMapping struct {
	RemotePath string `json:"remote_path"`
	Broken     bool   `json:"broken"`
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
func (d *Disk) Data() (*Partition, error) {
	var data *Partition
	for i := range d.Partition {
		if d.Partition[i].Type != "" {
			continue
		}
		if data != nil {
			return nil, fmt.Errorf("disk %d has two partitions for data", d.Number)
		}
		data = &d.Partition[i]
	}
	if data == nil || data.Volume == nil {
		return nil, fmt.Errorf("disk %d has no volume", d.Number)
	}
	return data, nil
}

// has looks up a path in a listing. exists is true, too, if only entries below the path are listed.
func has(files []File, path string) (entry *File, exists bool) {
	for i := range files {
		if strings.EqualFold(files[i].Path, path) {
			return &files[i], true
		}
		if len(files[i].Path) > len(path) && files[i].Path[len(path)] == '\\' &&
			strings.EqualFold(files[i].Path[:len(path)], path) {
			exists = true
		}
	}
	return nil, exists
}

// At returns the entry at a path of drive C. It follows no link or mount.
func (n *Node) At(path string) (entry *File, exists bool) {
	for _, disk := range n.Disk {
		for _, partition := range disk.Partition {
			if partition.Volume != nil && partition.Volume.DriveLetter == "C" {
				return has(partition.Volume.File, Normalize(path)[len(`c:\`):])
			}
		}
	}
	return nil, false
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

// volume returns the volume with the id if its disk is online, otherwise nil.
func (n *Node) volume(id string) *Volume {
	for _, disk := range n.Disk {
		for _, partition := range disk.Partition {
			if !disk.Offline && partition.Volume != nil && strings.EqualFold(partition.Volume.ID, id) {
				return partition.Volume
			}
		}
	}
	return nil
}

// Mapping returns the global mapping of a share, or nil.
func (n *Node) Mapping(share string) *SmbMapping {
	for i := range n.SmbMapping {
		if strings.EqualFold(n.SmbMapping[i].RemotePath, share) {
			return &n.SmbMapping[i]
		}
	}
	return nil
}

// ReadDir does what os.ReadDir does on the node: it fails unless the path leads to a directory, through links,
// mounted folders and mappings. The drivers' own call would read Wine's drive.
func (n *Node) ReadDir(path string) error {
	for range 8 {
		entry, exists := n.At(path)
		switch {
		case !exists:
			return fmt.Errorf("%s: The system cannot find the path specified.", path)
		case entry == nil || entry.Kind == "" && entry.MountedVolumeID == "":
			return nil
		case entry.Kind == "" && n.volume(entry.MountedVolumeID) != nil:
			return nil
		case entry.Kind == "":
			return fmt.Errorf("%s: The system cannot find the path specified.", path)
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
	for _, server := range n.SmbServer {
		if !strings.EqualFold(server.Name, parts[0]) {
			continue
		}
		mapping := n.Mapping(`\\` + parts[0] + `\` + parts[1])
		if server.Unreachable || mapping == nil || mapping.Broken {
			break
		}
		for _, share := range server.Share {
			if !strings.EqualFold(share.Name, parts[1]) {
				continue
			}
			if len(parts) < 3 {
				return nil
			}
			if _, exists := has(share.File, parts[2]); exists {
				return nil
			}
		}
	}
	return fmt.Errorf("%s: The network path was not found.", remote)
}
