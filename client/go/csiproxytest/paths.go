package csiproxytest

import "strings"

// maxLinks is through how many links a path leads on Windows.
const maxLinks = 63

// fullPath spells a path of a drive as the node does: drivers are given `\var\lib\kubelet` and
// `/var/lib/kubelet` by the kubelet.
func fullPath(path string) string {
	path = strings.ReplaceAll(path, "/", `\`)
	if strings.HasPrefix(path, `\`) && !strings.HasPrefix(path, `\\`) {
		path = "C:" + path
	}
	if trimmed := strings.TrimRight(path, `\`); !strings.HasSuffix(trimmed, ":") {
		return trimmed
	}
	return path
}

// Disk returns the disk of that number, nil if there is none. Those of an iSCSI target that is not
// connected are not the node's.
func (s *State) Disk(number uint32) *Disk {
	for i := range s.Disks {
		if s.Disks[i].Number == number {
			return &s.Disks[i]
		}
	}
	for p := range s.ISCSIPortals {
		for t := range s.ISCSIPortals[p].Targets {
			target := &s.ISCSIPortals[p].Targets[t]
			for i := range target.Disks {
				if target.Connected && target.Disks[i].Number == number {
					return &target.Disks[i]
				}
			}
		}
	}
	return nil
}

// volumes returns the volumes of disks that are online.
func (s *State) volumes() []*Volume {
	var found []*Volume
	add := func(disks []Disk) {
		for d := range disks {
			for p := range disks[d].Partitions {
				if volume := disks[d].Partitions[p].Volume; volume != nil && !disks[d].Offline {
					found = append(found, volume)
				}
			}
		}
	}
	add(s.Disks)
	for p := range s.ISCSIPortals {
		for _, target := range s.ISCSIPortals[p].Targets {
			if target.Connected {
				add(target.Disks)
			}
		}
	}
	return found
}

// Volume returns the volume of that id, nil if there is none or its disk is offline.
func (s *State) Volume(id string) *Volume {
	for _, volume := range s.volumes() {
		if strings.EqualFold(volume.ID, id) {
			return volume
		}
	}
	return nil
}

// Mapping returns the mapping of `\\host\share`, nil if there is none.
func (s *State) Mapping(share string) *SMBMapping {
	for i := range s.SMBMappings {
		if strings.EqualFold(s.SMBMappings[i].RemotePath, share) {
			return &s.SMBMappings[i]
		}
	}
	return nil
}

// file returns what a volume has at a path from its root, and whether anything is there: a directory
// need not be listed.
func (v *Volume) file(path string) (found *File, exists bool) {
	below := strings.ToLower(path) + `\`
	for i := range v.Files {
		file := &v.Files[i]
		if strings.EqualFold(file.Path, path) {
			return file, true
		}
		exists = exists || strings.HasPrefix(strings.ToLower(file.Path), below)
	}
	return &File{Path: path}, exists || path == ""
}

// At returns what stands at a path of a drive, as `C:\var\lib\kubelet\pods`, nil for nothing. Links
// and mounts on the way are followed, but not the last component.
func (s *State) At(path string) *File {
	_, file := s.walk(fullPath(path), false, 0)
	return file
}

// MountedAt returns the id of the volume that is mounted at a path, or at the end of the links there,
// as a driver's target is one; "" if there is none, or its disk is gone or offline.
func (s *State) MountedAt(path string) string {
	volume, file := s.walk(fullPath(path), true, 0)
	if volume == nil || file == nil || file.Path != "" || volume.DriveLetter != "" {
		return ""
	}
	return volume.ID
}

// walk returns what stands at a path and in which volume, the last component followed or not. The
// root of a volume is a file without a path.
func (s *State) walk(path string, follow bool, links int) (*Volume, *File) {
	drive, rest, _ := strings.Cut(path, ":")
	var volume *Volume
	for _, candidate := range s.volumes() {
		if candidate.DriveLetter != "" && strings.EqualFold(candidate.DriveLetter, drive) {
			volume = candidate
		}
	}
	if volume == nil || links > maxLinks {
		return nil, nil
	}
	at, file := "", &File{}
	components := strings.FieldsFunc(rest, func(r rune) bool { return r == '\\' })
	for i, component := range components {
		if at != "" {
			at += `\`
		}
		at += component
		var exists bool
		if file, exists = volume.file(at); !exists {
			return volume, nil
		}
		last := i == len(components)-1
		if last && !follow {
			return volume, file
		}
		switch {
		case file.Target != "":
			onward := strings.Join(append([]string{strings.TrimRight(file.Target, `\`)}, components[i+1:]...), `\`)
			return s.walk(onward, follow, links+1)
		case file.MountedVolumeID != "":
			if volume = s.Volume(file.MountedVolumeID); volume == nil {
				return nil, nil
			}
			at, file = "", &File{}
		}
	}
	return volume, file
}
