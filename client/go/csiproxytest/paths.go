package csiproxytest

import "strings"

// maxLinks is how many links Windows follows in one path.
const maxLinks = 63

// fullPath returns a path in the form of the node, on a drive. It accepts the kubelet's spellings
// `\var\lib\kubelet` and `/var/lib/kubelet`.
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

// Disk returns the disk with that number, or nil. The disks of an iSCSI target exist while the
// target is connected.
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

// volumes returns the volumes of online disks.
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

// Volume returns the volume with that id, or nil if it does not exist or its disk is offline.
func (s *State) Volume(id string) *Volume {
	for _, volume := range s.volumes() {
		if strings.EqualFold(volume.ID, id) {
			return volume
		}
	}
	return nil
}

// Mapping returns the mapping of `\\host\share`, or nil.
func (s *State) Mapping(share string) *SMBMapping {
	for i := range s.SMBMappings {
		if strings.EqualFold(s.SMBMappings[i].RemotePath, share) {
			return &s.SMBMappings[i]
		}
	}
	return nil
}

// file returns the entry at a path relative to the volume's root, and whether the path exists. A
// directory that only contains listed entries exists without an entry.
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

// At returns the entry at a path of a drive, for example `C:\var\lib\kubelet\pods`, or nil. It
// follows links and mounts, except in the last component.
func (s *State) At(path string) *File {
	_, file := s.walk(fullPath(path), false, 0)
	return file
}

// MountedAt returns the id of the volume that is mounted at a path, after following all links. It
// returns "" for a drive's root, or if no volume is mounted there or its disk is gone or offline.
func (s *State) MountedAt(path string) string {
	full := fullPath(path)
	volume, file := s.walk(full, true, 0)
	if len(full) <= len(`C:\`) || volume == nil || file == nil || file.Path != "" {
		return ""
	}
	return volume.ID
}

// walk returns the entry at a path and its volume. follow says whether links and mounts are
// followed in the last component, too. The root of a volume is a File with an empty path.
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
