package utils

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows"
)

// IsPathValid reports whether a path, which may be on a share, can be reached. It returns an error
// if the share no longer accepts the password of its mapping.
func IsPathValid(path string) (bool, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return false, fmt.Errorf("invalid path: %w", err)
	}
	_, err = windows.GetFileAttributes(name)
	for _, absent := range []error{windows.ERROR_PATH_NOT_FOUND, windows.ERROR_FILE_NOT_FOUND, windows.ERROR_INVALID_NAME} {
		if errors.Is(err, absent) {
			return false, nil
		}
	}
	if err != nil {
		return false, fmt.Errorf("the attributes of %q cannot be read: %w", path, err)
	}
	return true, nil
}

// IsMountedFolder reports whether a path is a mounted folder, a junction or a symbolic link.
func IsMountedFolder(path string) (bool, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return false, err
	}
	attributes, err := windows.GetFileAttributes(name)
	if err != nil || attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT == 0 {
		return false, err
	}
	// https://learn.microsoft.com/en-us/windows/win32/fileio/determining-whether-a-directory-is-a-volume-mount-point
	var found windows.Win32finddata
	search, err := windows.FindFirstFile(name, &found)
	if err != nil {
		return false, err
	}
	defer windows.FindClose(search)
	return found.Reserved0 == windows.IO_REPARSE_TAG_MOUNT_POINT || found.Reserved0 == windows.IO_REPARSE_TAG_SYMLINK, nil
}

// CreateSymlink makes link a symbolic link to target. isDir says whether target is a directory.
func CreateSymlink(link, target string, isDir bool) error {
	at, err := windows.UTF16PtrFromString(link)
	if err != nil {
		return err
	}
	to, err := windows.UTF16PtrFromString(target)
	if err != nil {
		return err
	}
	var flags uint32
	if isDir {
		flags = windows.SYMBOLIC_LINK_FLAG_DIRECTORY
	}
	return windows.CreateSymbolicLink(at, to, flags)
}
