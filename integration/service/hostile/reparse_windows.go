package main

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// raceOnNode races with the service that runs on this node. The directory is empty whenever it changes, and a
// handle keeps it open: it is the same object throughout
// (https://learn.microsoft.com/windows-hardware/drivers/ifs/fsctl-set-reparse-point).
func raceOnNode(o options) (bool, error) {
	for _, directory := range []string{o.raced, filepath.Join(o.outside, "key", "kept")} {
		if err := os.MkdirAll(directory, 0o700); err != nil {
			return false, err
		}
	}
	name, err := windows.UTF16PtrFromString(o.raced)
	if err != nil {
		return false, err
	}
	share := uint32(windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE)
	handle, err := windows.CreateFile(name, windows.GENERIC_WRITE, share, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return false, fmt.Errorf("%s: %w", o.raced, err)
	}
	defer windows.CloseHandle(handle)
	control := func(code uint32, in []byte) error {
		var out uint32
		return windows.DeviceIoControl(handle, code, &in[0], uint32(len(in)), nil, 0, &out, nil)
	}
	set := junction(o.outside)
	// A tag without data (https://learn.microsoft.com/windows-hardware/drivers/ifs/fsctl-delete-reparse-point).
	remove := append(set[:4:4], 0, 0, 0, 0)
	if err := control(windows.FSCTL_SET_REPARSE_POINT, set); err != nil {
		return false, fmt.Errorf("%s does not become a junction: %w", o.raced, err)
	}
	link := true
	r := race{directory: o.raced, volume: o.volume}
	r.toggle = func() bool {
		code, data := uint32(windows.FSCTL_SET_REPARSE_POINT), set
		if link {
			code, data = windows.FSCTL_DELETE_REPARSE_POINT, remove
		}
		if control(code, data) != nil {
			return false
		}
		link = !link
		return true
	}
	r.outside = func() (string, error) {
		var all []string
		err := filepath.WalkDir(o.outside, func(path string, _ fs.DirEntry, err error) error {
			all = append(all, path)
			return err
		})
		return strings.Join(all, "\n"), err
	}
	defer func() {
		if link {
			control(windows.FSCTL_DELETE_REPARSE_POINT, remove)
		}
	}()
	return r.run(o.reparse)
}

// junction returns a REPARSE_DATA_BUFFER for a junction to target
// (https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_reparse_data_buffer).
func junction(target string) []byte {
	name := windows.StringToUTF16(`\??\` + target)
	substitute := uint16(len(name)-1) * 2
	data := binary.LittleEndian.AppendUint32(nil, windows.IO_REPARSE_TAG_MOUNT_POINT)
	// Lengths and offsets, the name with its terminator, and the terminator of an empty print name.
	for _, number := range append([]uint16{8 + substitute + 4, 0, 0, substitute, substitute + 2, 0}, append(name, 0)...) {
		data = binary.LittleEndian.AppendUint16(data, number)
	}
	return data
}
